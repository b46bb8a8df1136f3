/**
 * Goal: whatever is asked, and whatever becomes of the engine or of who asks, a read ends within
 * its time in an answer that says what it is worth, or in a clear refusal; and nothing goes on
 * running.
 * Method: a service on stores of the test's own, whose engine is stopped in its tracks; clients
 * that go away; hostile queries, many at once.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXPORTS_MAX, QUERY_DISTINCT_MAX, QUERY_GRACE_MS } from '../../../src/limits.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { eventually } from '../../store/temporary.ts'
import { Api, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { ONLY_LONG, someOf } from '../../support/fuzzing.ts'
import { OwnStores } from '../../support/own-stores.ts'
import { makeDataDir, removeDataDir, type Service } from '../../support/service.ts'

const EVENTS = 1_100_000
/** Far more than there are places for. */
const AT_ONCE = ONLY_LONG ? 80 : 200
const ALL = { from: '2020-01-01T00:00:00Z' }

const dataDir = makeDataDir()
let stores: OwnStores
let service: Service
let api: Api
let engine: ClickHouse
let large: Stream

before(async () => {
  stores = await OwnStores.start()
  service = await stores.startService(dataDir)
  api = new Api(service)
  engine = new ClickHouse({ url: stores.clickHouse.url })
  large = await api.createStream()
  for (let at = 0; at < EVENTS; at += 100_000) {
    const lines = Array.from({ length: 100_000 }, (_, i) => `{"g":${at + i},"message":"w${i % 9}"}`)
    const answer = await api.ingest(large.key, lines.join('\n'), { 'content-type': NDJSON_TYPE })
    assert.equal(answer.status, 200, answer.text)
  }
  await api.untilCounted(large.id, EVENTS)
})

after(async () => {
  await engine?.close()
  await service?.kill()
  await stores?.close()
  await removeDataDir(dataDir)
})

interface Answer {
  readonly status: number
  readonly retryAfter: string | null
  readonly json: Readonly<Record<string, unknown>>
  readonly tookMs: number
}

async function ask(path: string, body: object): Promise<Answer> {
  const startedAt = performance.now()
  const headers = { authorization: `Bearer ${api.token}`, 'content-type': 'application/json' }
  const url = `${api.url}/v1/streams/${large.id}/${path}`
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  return {
    status: answer.status,
    retryAfter: answer.headers.get('retry-after'),
    json: JSON.parse(text) as Answer['json'],
    tookMs: performance.now() - startedAt,
  }
}

async function untilNothingRuns(): Promise<void> {
  await eventually('nothing is left running in ClickHouse', async () => {
    const rows = await engine.query(
      "SELECT 1 FROM system.processes WHERE query_kind = 'Select' AND query NOT LIKE '%processes%'",
    )
    return rows.length === 0
  })
  await eventually('no place is taken', async () => {
    return (await api.metric('ingest_lane_running{lane="queries"}')) === 0
  })
}

test('while the engine hangs, each read ends within its time and says so', async () => {
  const pid = stores.clickHouse.pid()
  assert(pid !== undefined)
  const asked: readonly (readonly [path: string, body: object])[] = [
    // Of the newest events there are enough past the checkpoint; this one is older.
    ['search', { query: 'g:77' }],
    ['query', { query: 'message:w1', group_by: ['message'] }],
    ['histogram', { query: 'message:w1' }],
    ['facets', { fields: ['message'] }],
  ]
  process.kill(pid, 'SIGSTOP')
  try {
    const answers = await Promise.all(
      [1, 2].flatMap(() => asked.map(([path, body]) => ask(path, { ...body, timeout_ms: 1_000 }))),
    )
    for (const [index, { status, json, tookMs }] of answers.entries()) {
      const told = `${asked[index % asked.length]![0]}: ${JSON.stringify(json)}, ${tookMs} ms`
      assert(tookMs < 1_000 + QUERY_GRACE_MS + 2_000, told)
      if (status === 200) assert.equal(json.complete, false, told)
      else assert.deepEqual([status, json.reason], [503, 'timeout'], told)
    }
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await untilNothingRuns()
  const { status, json } = await ask('query', { ...ALL, query: 'g:77' })
  assert.deepEqual([status, json.total], [200, 1])
})

test('an export whose reader goes away ends', async () => {
  const headers = { authorization: `Bearer ${api.token}`, accept: NDJSON_TYPE }
  const url = `${api.url}/v1/streams/${large.id}/search?query=message:w1&from=${ALL.from}`
  // More than may run at a time, so that places that are not given back are missed.
  for (let n = 0; n < EXPORTS_MAX + 2; n++) {
    const gone = new AbortController()
    const answer = await fetch(url, { headers, signal: gone.signal })
    assert.equal(answer.status, 200)
    const reader = answer.body!.getReader()
    const { value } = await reader.read()
    assert(value !== undefined && value.length > 0)
    if (n % 2 === 0) await sleep(50)
    gone.abort()
    await reader.read().catch(() => undefined)
    await eventually('its place is free', async () => {
      const next = await fetch(`${url}&limit=1`, { headers })
      await next.text()
      return next.status === 200
    })
  }
  await untilNothingRuns()
})

test('a million groups are counted to the last', { skip: ONLY_LONG }, async () => {
  assert(EVENTS < QUERY_DISTINCT_MAX)
  const many = await ask('query', { ...ALL, group_by: ['g'], limit: 5 })
  const { groups, estimated, missed_max: missedMax } = many.json
  assert.deepEqual([many.status, groups, estimated, missedMax], [200, EVENTS, false, null])
  const fewer = await ask('query', { ...ALL, query: 'g:<990000', group_by: ['g'], limit: 5 })
  assert.deepEqual([fewer.status, fewer.json.groups, fewer.json.total], [200, 990_000, 990_000])
  const { status, json } = await ask('facets', { ...ALL, fields: ['g'] })
  assert.equal(status, 200, JSON.stringify(json))
  // Exact if a second is enough for it.
  const [facet] = json.facets as { readonly distinct: number; readonly estimated: boolean }[]
  assert.equal(json.events, EVENTS)
  assert.deepEqual(
    [facet!.estimated, facet!.distinct],
    json.sampled ? [true, 100_000] : [false, EVENTS],
  )
})

test('hostile queries end in a refusal that names the place, or in an answer', async () => {
  const hostile = [
    '('.repeat(8_192),
    `${'('.repeat(4_000)}g:1${')'.repeat(4_000)}`,
    '*'.repeat(10_000),
    `message:${'*a'.repeat(4_000)}`,
    Array.from({ length: 1_000 }, (_, n) => `x${n}:*`).join(' '),
    Array.from({ length: 60 }, (_, n) => `message:*${n}*a*b*`).join(' OR '),
    `message:/${'(a*)*'.repeat(150)}b/`,
    'message:/(w|1)*w(w|1){20}/ OR message:/(.*)(.*)(.*)(.*)x/i',
    '-'.repeat(8_000),
    'NOT '.repeat(2_000),
    `"${'w '.repeat(4_000)}"`,
  ]
  for (const query of someOf(hostile)) {
    for (const path of ['search', 'query', 'histogram']) {
      const { status, json, tookMs } = await ask(path, { ...ALL, query, timeout_ms: 3_000 })
      const told = `${path} ${query.slice(0, 40)}: ${status} ${JSON.stringify(json).slice(0, 300)}`
      assert([200, 400, 503].includes(status), told)
      if (status === 400) assert.equal(typeof json.column, 'number', told)
      assert(tookMs < 3_000 + QUERY_GRACE_MS + 2_000, `${told} took ${tookMs} ms`)
    }
  }
  await untilNothingRuns()
})

test('very many queries at once: answers, or 429 with when to try again', {
  skip: ONLY_LONG,
}, async () => {
  const answers = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, n) =>
      ask('query', { ...ALL, query: `message:/w${n % 9}$/`, group_by: ['message'] }),
    ),
  )
  for (const { status, retryAfter, json } of answers) {
    if (status === 429) assert.match(retryAfter ?? '', /^[1-9][0-9]*$/)
    else assert.equal(status, 200, JSON.stringify(json))
  }
  assert(answers.some(({ status }) => status === 200))
  await untilNothingRuns()
})
