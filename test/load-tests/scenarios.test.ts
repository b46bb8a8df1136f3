/**
 * Goal: the scenario files agree with the table that the runner, the help and the bodies go by,
 * and every answer of a service is counted as what it is.
 * Method: the files are loaded in Node, with a stand-in for k6 that answers and books.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import { otlpMessages } from '../decode/otlp/otlp-oracle.ts'
import {
  type FakeK6,
  type K6Answer,
  k6Globals,
  LOAD_TESTS,
  load,
  loadBodies,
  loadMakeBodies,
  loadMetrics,
  loadOptions,
  loadScenarios,
  loadSend,
  loadSummary,
  loadSurfaces,
  standInForK6,
} from './modules.ts'

interface ScenarioFile {
  readonly options: {
    readonly scenarios: Readonly<Record<string, { readonly exec: string; readonly vus?: number }>>
    readonly thresholds: Readonly<Record<string, readonly string[]>>
  }
  readonly [exec: string]: unknown
}

standInForK6()
const { OPTIONS, defaultOf, readOptions, bodiesOf } = await loadOptions()
const { SCENARIOS } = await loadScenarios()
const { fileOf } = await loadBodies()
const { encodeBodies } = await loadMakeBodies()
const { SURFACES } = await loadSurfaces()
const { metrics } = await loadMetrics()

const BASE_URL = 'http://load.test:1234'
const LINES = ['{"timestamp":"2026-01-02T03:04:05Z","message":"a"}', '{"message":"b"}']
const ok: K6Answer = { status: 200, body: '{"accepted":1,"errors":false,"code":0}' }

/** What was counted since, by name; and by name and status where there is one. */
function standIn(answer: (path: string) => K6Answer) {
  const booked = new Map<string, number>()
  const paths: string[] = []
  const reply = (url: string) => {
    assert.ok(url.startsWith(`${BASE_URL}/`), url)
    paths.push(url.slice(BASE_URL.length))
    return answer(url.slice(BASE_URL.length))
  }
  const fake: FakeK6 = {
    post: (url) => reply(url),
    get: (url) => reply(url),
    request: (_, url) => reply(url),
    sleep: () => {},
    add: (metric, value, tags) => {
      const name = tags?.status === undefined ? metric : `${metric} ${tags.status}`
      booked.set(name, (booked.get(name) ?? 0) + Number(value))
    },
  }
  k6Globals.fakeK6 = fake
  return { booked, paths }
}

/** A scenario's file as one virtual user has it. */
async function loadScenario(name: string, environment: Readonly<Record<string, string>> = {}) {
  k6Globals.__ENV = { BASE_URL, API_KEY: 'key', BODIES: '/bodies', ...environment }
  k6Globals.__VU = 1
  k6Globals.__ITER = 0
  const options = readOptions(environment, name)
  const files = new Map(
    bodiesOf(options).map(({ surface, eventCount }) => [
      `/bodies/${fileOf(surface, eventCount)}`,
      encodeBodies(LINES, surface, eventCount),
    ]),
  )
  k6Globals.open = (path) => {
    const bytes = files.get(path)
    assert.ok(bytes, `${path} is not among the bodies of ${name}`)
    return Uint8Array.from(bytes).buffer
  }
  return await load<ScenarioFile>(`${name}.mjs`)
}

/** Not of k6: it speaks no syslog. */
const OTHERS = ['options.mjs', 'scenarios.mjs', 'syslog.mjs']

test('the table has exactly the scenarios that there are files for', () => {
  const files = readdirSync(LOAD_TESTS)
    .filter((name) => name.endsWith('.mjs') && !OTHERS.includes(name))
    .map((name) => basename(name, '.mjs'))
  assert.deepEqual(files.sort(), Object.keys(SCENARIOS).sort())
})

test('every option has a default that it takes itself, in every scenario', () => {
  const names = OPTIONS.map(({ env }) => env)
  assert.equal(new Set(names).size, names.length)
  for (const [scenario, { defaults }] of Object.entries(SCENARIOS)) {
    for (const env of Object.keys(defaults)) assert.ok(names.includes(env), env)
    for (const env of names) assert.equal(typeof defaultOf(scenario, env), 'string', env)
    assert.deepEqual(Object.keys(readOptions({}, scenario)), names)
  }
})

test('secrets are no flags', () => {
  const secret = OPTIONS.filter(({ flag }) => flag === undefined)
  assert.deepEqual(
    secret.map(({ env }) => env),
    ['TOKEN', 'API_KEY'],
  )
})

for (const [env, good, bad] of [
  ['VUS', { 1: 1, 100000: 100_000 }, ['0', '-1', '1.5', '100001', 'x']],
  ['RATE', { 0: 0, 5000: 5_000 }, ['-1', '1e3', '0x10']],
  ['DURATION', { '90s': 90, '10m': 600, '2h': 7_200 }, ['5', '0s', '1d', 's']],
  ['REFUSED_SHARE_MAX', { 0: 0, 1: 1, '.5': 0.5, 0.25: 0.25 }, ['2', '-0.1', '1.1']],
  ['BASE_URL', { 'https://a.test/x/': 'https://a.test/x' }, ['a.test', 'ftp://a.test', 'http://']],
  ['SURFACES', {}, ['native,native', 'gopher', 'native,']],
  ['COMPRESSION', { gzip: 'gzip' }, ['zstd']],
  ['KEEP_STREAMS', { 1: true, no: false }, []],
] as const) {
  test(`${env} takes what it says, and nothing else`, () => {
    for (const [text, value] of Object.entries(good)) {
      assert.equal(readOptions({ [env]: text }, 'mixed')[env], value)
    }
    // The same of each: no value is in it, which may be a secret.
    const messages = new Set<string>()
    for (const text of bad) {
      const note = ({ message }: Error) => messages.add(message).size === 1
      assert.throws(() => readOptions({ [env]: text }, 'mixed'), note, text)
    }
    for (const message of messages) assert.ok(message.startsWith(`${env} takes `), message)
  })
}

for (const name of Object.keys(SCENARIOS)) {
  test(`${name}: sends what the table says, judges what is counted`, async () => {
    const file = await loadScenario(name)
    const { booked, paths } = standIn((path) => {
      if (path === '/metrics') return { status: 200, body: 'process_resident_memory_bytes 1e6\n' }
      return path === SURFACES.loki!.path ? { status: 204, body: '' } : ok
    })
    const data = { streams: [{ id: '', key: 'key' }], startedAtMs: Date.now(), isCounted: false }
    for (const [part, { exec }] of Object.entries(file.options.scenarios)) {
      k6Globals.__SCENARIO = part
      for (k6Globals.__ITER = 0; k6Globals.__ITER < 4; k6Globals.__ITER++) {
        const send = file[exec]
        assert.ok(typeof send === 'function', `${exec} is exported`)
        send(data)
      }
    }
    const wanted = new Set(
      bodiesOf(readOptions({}, name)).map(({ surface }) => SURFACES[surface]!.path),
    )
    assert.deepEqual(new Set(paths.filter((path) => path !== '/metrics')), wanted)
    // Thresholds of metrics that nobody adds to would hold for ever.
    const known = new Set(Object.values(metrics).map((metric) => metric.name))
    const parts = Object.keys(file.options.scenarios)
    for (const threshold of Object.keys(file.options.thresholds)) {
      const [, metric = '', tag, value = ''] =
        /^(\w+)(?:\{(\w+):([\w-]+)\})?$/.exec(threshold) ?? []
      assert.ok(known.has(metric) || metric === 'dropped_iterations', threshold)
      if (tag === 'scenario') assert.ok(parts.includes(value), threshold)
    }
    assert.equal(booked.get('failed'), undefined)
    assert.ok((booked.get('events_acknowledged') ?? 0) > 0)
  })
}

const encodeReply = (rejectedLogRecords: number) => {
  const type = otlpMessages.lookupType('sluice.otlp.ExportLogsServiceResponse')
  const bytes = type.encode({ partialSuccess: { rejectedLogRecords } }).finish()
  return Uint8Array.from(bytes).buffer
}
const retryAfter = (seconds: string) => ({ 'Retry-After': seconds })

/** Of requests of three events: what is counted, and when to come again. */
const ANSWERS = [
  ['native', ok, { events_acknowledged: 1, events_rejected: 2 }, 0],
  ['native', { status: 200, body: '{"accepted":3}' }, { events_acknowledged: 3 }, 0],
  ['native', { status: 200, body: '' }, { failed: 1 }, 0],
  ['native', { status: 200, body: null }, { failed: 1 }, 0],
  ['native', { status: 500, body: '' }, { failed: 1 }, 0],
  ['native', { status: 401, body: '' }, { failed: 1 }, 0],
  ['native', { status: 0, error: 'dial: connection refused' }, { failed: 1 }, 0],
  ['native', { status: 429, headers: retryAfter('7') }, { refused: 1 }, 7],
  ['native', { status: 503, headers: retryAfter('1') }, { refused: 1 }, 1],
  ['native', { status: 429 }, { refused: 1, refused_uncleanly: 1 }, 1],
  ['native', { status: 503, headers: retryAfter('0') }, { refused: 1, refused_uncleanly: 1 }, 1],
  ['native', { status: 503, headers: retryAfter('soon') }, { refused: 1, refused_uncleanly: 1 }, 1],
  ['bulk', { status: 200, body: '{"took":1,"errors":false}' }, { events_acknowledged: 3 }, 0],
  [
    'bulk',
    {
      status: 200,
      body:
        '{"took":1,"errors":true,"items":[{"create":{"status":201}},' +
        '{"create":{"status":400}},{"create":{"status":201}}]}',
    },
    { events_acknowledged: 2, events_rejected: 1 },
    0,
  ],
  ['bulk', { status: 200, body: '<html>' }, { failed: 1 }, 0],
  ['bulk', { status: 200, body: '{}' }, { failed: 1 }, 0],
  ['hec', { status: 200, body: '{"text":"Success","code":0}' }, { events_acknowledged: 3 }, 0],
  ['hec', { status: 200, body: '' }, { failed: 1 }, 0],
  ['hec', { status: 503, headers: retryAfter('1') }, { refused: 1 }, 1],
  ['otlp', { status: 200, body: new ArrayBuffer(0) }, { events_acknowledged: 3 }, 0],
  [
    'otlp',
    { status: 200, body: encodeReply(2) },
    { events_acknowledged: 1, events_rejected: 2 },
    0,
  ],
  ['otlp-json', { status: 200, body: '{}' }, { events_acknowledged: 3 }, 0],
  ['otlp-json', { status: 200, body: '{"partialSuccess":{}}' }, { events_acknowledged: 3 }, 0],
  [
    'otlp-json',
    { status: 200, body: '{"partialSuccess":{"rejectedLogRecords":"2"}}' },
    { events_acknowledged: 1, events_rejected: 2 },
    0,
  ],
  ['loki', { status: 204, body: '' }, { events_acknowledged: 3 }, 0],
  ['loki', { status: 204, body: null }, { events_acknowledged: 3 }, 0],
  [
    'loki',
    { status: 200, body: 'stored 2 entries; 1 were rejected: x' },
    { events_acknowledged: 2, events_rejected: 1 },
    0,
  ],
  ['loki', { status: 200, body: '<html>' }, { failed: 1 }, 0],
  ['otlp', { status: 200, body: encodeReply(4) }, { failed: 1 }, 0],
  ['otlp', { status: 200, body: new Uint8Array([1, 2, 3]).buffer }, { failed: 1 }, 0],
] as const

test('every answer is acknowledged, refused or failed', async (t) => {
  const { send } = await loadSend()
  t.mock.method(console, 'warn', () => {})
  const options = { ...readOptions({ BASE_URL }, 'mixed') }
  for (const [surface, answer, counted, waitSeconds] of ANSWERS) {
    const { booked } = standIn(() => answer)
    const body = { bytes: new ArrayBuffer(8), eventCount: 3 }
    const wait = send(surface, body, { key: 'key' }, options, { startedAtMs: Date.now() })
    const what = `${surface} ${JSON.stringify(answer)}`
    assert.equal(wait, waitSeconds, what)
    assert.equal(booked.get(`answers ${answer.status}`), 1, what)
    const found = [
      'events_acknowledged',
      'events_rejected',
      'refused',
      'refused_uncleanly',
      'failed',
    ]
      .map((metric) => [metric, booked.get(metric) ?? 0] as const)
      .filter(([, count]) => count !== 0)
    assert.deepEqual(Object.fromEntries(found), counted, what)
  }
})

interface Streams {
  makeStreams(options: object, scenario: string): { isCounted: boolean; streams: object[] }
  settleStreams(options: object, data: object): void
}

test('what was acknowledged is counted against what is stored, and the streams go', async () => {
  const { makeStreams, settleStreams } = await load<Streams>('support/streams.mjs')
  const options = readOptions({ BASE_URL, TOKEN: 'token', STREAMS: '2' }, 'mixed')
  let stored = 0
  let made = 0
  const answer = (path: string): K6Answer => {
    if (path.endsWith('/usage')) return { status: 200, body: JSON.stringify({ events: stored }) }
    if (path.endsWith('/query')) return { status: 200, body: JSON.stringify({ total: stored }) }
    if (path.endsWith('/keys')) return { status: 201, body: '{"key":"key"}' }
    return { status: 201, body: JSON.stringify({ id: String(++made) }) }
  }
  const { booked, paths } = standIn(answer)
  const data = makeStreams(options, 'mixed')
  assert.deepEqual([data.isCounted, data.streams.length], [true, 2])
  stored = 5
  settleStreams(options, data)
  assert.equal(booked.get('events_counted'), 10)
  assert.equal(booked.get('events_missing'), -10)
  assert.equal(booked.get('events_missing_in_queries'), 0)
  assert.deepEqual(paths.slice(-2), ['/v1/streams/1', '/v1/streams/2'])
})

test('nothing to send to ends the run with one line that says why', async () => {
  const { makeStreams } = await load<Streams>('support/streams.mjs')
  standIn(() => ({ status: 401, body: 'no' }))
  const options = readOptions({ BASE_URL, TOKEN: 'secret' }, 'mixed')
  const message = `aborted: POST ${BASE_URL}/v1/streams: 401 no`
  assert.throws(() => makeStreams(options, 'mixed'), { message })
})

/** As k6 hands them to `handleSummary`, in no order. */
const METRICS = {
  'refused{scenario:two}': { values: { rate: 0.5, passes: 1, fails: 1 } },
  'refused{scenario:watch}': { values: { rate: 0, passes: 0, fails: 0 } },
  'refused{scenario:one}': { values: { rate: 0, passes: 0, fails: 4 } },
  'clock_ms{scenario:one}': { values: { min: 0, max: 2_000 } },
  'events_acknowledged{scenario:one}': { values: { count: 4_000 } },
  events_acknowledged: { values: { count: 5_000 } },
  clock_ms: { values: { min: 0, max: 2_500 } },
  ack_ms: { values: { count: 5, 'p(50)': 1.25, 'p(90)': 20, 'p(99)': 300, max: 1_234 } },
  refused: { values: { rate: 1 / 6 } },
  answers: { values: { count: 7 } },
  'answers{status:200}': { values: { count: 5 } },
  'answers{status:429}': { values: { count: 1 } },
  'answers{status:500}': { values: { count: 0 } },
  events_counted: { values: { value: 4_990 } },
  events_missing: {
    values: { count: 10 },
    thresholds: { 'count==0': { ok: false } },
  },
  events_missing_in_queries: { values: { count: 0 }, thresholds: { 'count==0': { ok: true } } },
}

test('the summary shows what was counted, and what does not hold', async () => {
  const { summarize, formatSummary } = await loadSummary()
  const data = { metrics: METRICS, setup_data: { isCounted: true } }
  const text = formatSummary(summarize(data, 'mixed', ['one', 'watch', 'two']))
  assert.match(text, /one .*\ntwo .*\nall /, 'parts in their order, without those that do not send')
  assert.match(text, /one +0 +4,000 +2,000 /)
  assert.match(text, /all +5 +5,000 +2,000 +0\.0 +1\.3 +20 +300 +1234 +16\.7 %/)
  assert.match(text, /answers +200: 5 +429: 1 +other: 1\n/)
  assert.match(text, /stored +4,990 of 5,000: 10 LOST than acknowledged/)
  assert.match(text, /FAILED:\n {2}events_missing: count==0\n$/m)
})

test('a run that sent nothing is no table of zeros', async () => {
  const { summarize, formatSummary } = await loadSummary()
  const text = formatSummary(summarize({ metrics: {} }, 'mixed', ['native']))
  assert.match(text, /^\nload test mixed\n\nFAILED: nothing was sent/)
})
