/**
 * Goal: no bytes on the bulk, OTLP and Loki surfaces crash the service, hang it, cost it a worker,
 * or make it answer what it should not; and what is around them is not disturbed.
 * Method: good bodies, mutated with a printed seed, over HTTP to one service: every one has an
 * answer in time, of a closed set, and accepted events are the events that are stored.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Random } from '../../../bench/random.ts'
import { encodePushed } from '../../decode/loki/decode-loki.ts'
import { RawClient } from '../../http/raw-client.ts'
import { type Answer, Api, call, type Stream } from '../../support/api.ts'
import { fuzzMs, testSeed } from '../../support/fuzzing.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { encodeLogsRequest } from './otlp-encoder.ts'

const seed = testSeed()
const FUZZ_MS = 2_500
const CONCURRENT = 8
const dataDir = makeDataDir()
let service: Service
let api: Api

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
  console.log(`# SLUICE_TEST_SEED=${seed}`)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

interface Target {
  readonly name: string
  readonly paths: readonly string[]
  readonly type: string
  readonly good: readonly Buffer[]
  /** Events that a 200 acknowledges, where it says. */
  readonly accepted: (answer: Answer) => number | undefined
}

const records = Array.from({ length: 40 }, (_, n) => ({
  body: n % 2 === 0 ? { n, list: [1, 'a', null, { b: -1.5 }] } : `line ${n} ä`,
  attributes: { n, 'http.method': 'GET' },
  severityNumber: n % 25,
  timeUnixNano: 1_700_000_000_000_000_000n,
}))
const jsonRecord =
  '{"timeUnixNano":"1700000000000000000","body":{"kvlistValue":{"values":[{"key":"a","value":' +
  '{"arrayValue":{"values":[{"intValue":"1"},{"doubleValue":"NaN"},{"bytesValue":"AQI="}]}}}]}},' +
  '"traceId":"5b8efff798038103d269b633813fc60c","severityNumber":9}'

const lines = Array.from({ length: 20 }, (_, n) => `line ${n} ä "quoted" ${'ab'.repeat(n)}`)

const TARGETS: readonly Target[] = [
  {
    name: 'bulk',
    paths: ['/_bulk', '/logs/_bulk', '/_bulk?filter_path=items.*.status'],
    type: 'application/x-ndjson',
    good: [
      '{"index":{"_index":"a","_id":"1"}}\n{"n":1,"s":"ä\\u00e4"}\n',
      '{"create":{}}\r\n{"deep":{"a":[1,2,{"b":null}]}}\r\n\n{"delete":{"_id":"x"}}\n',
      '{"update":{"_id":"x"}}\n{"doc":{"n":1},"doc_as_upsert":true}\n',
    ].map((text) => Buffer.from(text.repeat(30))),
    accepted: (answer) => (answer.text.match(/"status":201/g) ?? []).length,
  },
  {
    name: 'OTLP protobuf',
    paths: ['/v1/otlp/v1/logs', '/v1/logs'],
    type: 'application/x-protobuf',
    good: [encodeLogsRequest(records), encodeLogsRequest(records, {})],
    accepted: () => undefined,
  },
  {
    name: 'OTLP JSON',
    paths: ['/v1/otlp/v1/logs'],
    type: 'application/json',
    good: [
      Buffer.from(
        `{"resourceLogs":[{"resource":{"attributes":[]},"scopeLogs":[{"logRecords":[${Array(20)
          .fill(jsonRecord)
          .join(',')}]}]}]}`,
      ),
    ],
    accepted: () => undefined,
  },
  {
    name: 'Loki protobuf',
    paths: ['/loki/api/v1/push'],
    type: 'application/x-protobuf',
    good: [encodePushed([{ labels: '{app="a"}', entries: lines.map((line) => ({ line })) }])],
    accepted: () => undefined,
  },
  {
    name: 'Loki JSON',
    paths: ['/loki/api/v1/push'],
    type: 'application/json',
    good: [
      Buffer.from(
        JSON.stringify({
          streams: [{ stream: { app: 'a' }, values: lines.map((line) => ['1', line, { n: '1' }]) }],
        }),
      ),
    ],
    accepted: () => undefined,
  },
]

/** Bytes that mean something to one of the formats. */
const SPECIAL = Buffer.from([
  0x00, 0x0a, 0x0d, 0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d, 0x80, 0xff, 0x7f,
])

/** A damaged copy: cut, bytes changed, a run repeated, left out or put elsewhere. */
function mutate(random: Random, good: Buffer): Buffer {
  let bytes = Buffer.from(good)
  for (let round = random.below(4); round >= 0; round--) {
    const at = random.below(bytes.length + 1)
    const end = Math.min(bytes.length, at + random.below(200))
    const kind = random.below(6)
    if (kind === 0) bytes = bytes.subarray(0, at)
    else if (kind === 1) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)])
    else if (kind === 2) bytes = Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)])
    else if (kind === 3 && at < bytes.length) bytes[at] = SPECIAL[random.below(SPECIAL.length)]!
    else if (kind === 4 && at < bytes.length) bytes[at] = random.below(256)
    else bytes = Buffer.concat([bytes.subarray(at, end), bytes, good.subarray(at)])
  }
  return bytes
}

/** Now and then so large that it is cut into batches. */
function grow(random: Random, bytes: Buffer): Buffer {
  if (bytes.length === 0 || !random.chance(0.03)) return bytes
  const times = Math.ceil((100_000 + random.below(1_000_000)) / bytes.length)
  return Buffer.concat(Array<Buffer>(times).fill(bytes))
}

function authorization(stream: Stream): Record<string, string> {
  const basic = Buffer.from(`x:${stream.key}`).toString('base64')
  return { 'x-api-key': stream.key, authorization: `Basic ${basic}` }
}

/** Sends one mutated body; returns the events that were acknowledged, if the answer says. */
async function sendOne(random: Random, target: Target, stream: Stream): Promise<number> {
  const mutated = grow(random, mutate(random, random.pick(target.good)))
  const isGzip = random.chance(0.3)
  let body: Buffer = isGzip ? gzipSync(mutated) : mutated
  const isBroken = isGzip && random.chance(0.3)
  if (isBroken) body = mutate(random, body)
  const answer = await call(`${service.url}${random.pick(target.paths)}`, {
    method: 'POST',
    headers: {
      ...authorization(stream),
      'content-type': target.type,
      ...(isGzip && { 'content-encoding': 'gzip' }),
    },
    body,
    chunked: random.chance(0.3),
    timeoutMs: 15_000,
  })
  const what = `${target.name}: ${answer.status} ${answer.text.slice(0, 300)}`
  assert.ok([200, 204, 400, 413].includes(answer.status), what)
  const isLoki = target.name.startsWith('Loki')
  if (target.type.endsWith('json') && !isLoki) JSON.parse(answer.text)
  if (answer.status !== 200) return 0
  return target.accepted(answer) ?? Number.NaN
}

/** What the run left behind: nothing but a service that works. */
async function assertUnharmed(): Promise<void> {
  assert.ok(service.isRunning, service.output)
  const quarantine = join(dataDir, 'quarantine')
  assert.deepEqual(existsSync(quarantine) ? readdirSync(quarantine) : [], [])
  const { text } = await call(`${service.url}/metrics`)
  for (const line of text.split('\n')) {
    if (/^ingest_.*(quarantine|worker_restarts|retries)/.test(line)) assert.match(line, / 0$/)
  }
  assert.match(text, /^ingest_in_flight_bytes 0$/m)
  assert.match(text, /^ingest_in_flight_requests 0$/m)
  const stream = await api.createStream()
  for (const target of TARGETS) {
    const answer = await call(`${service.url}${target.paths[0]!}`, {
      method: 'POST',
      headers: { ...authorization(stream), 'content-type': target.type },
      body: target.good[0]!,
    })
    assert.ok(answer.status === 200 || answer.status === 204, target.name)
  }
  assert.equal((await api.usage(stream.id)).events, 30 + 40 + 20 + 2 * lines.length)
}

for (const [number, target] of TARGETS.entries()) {
  test(`${target.name}: mutated bodies are answered, and nothing else happens`, async () => {
    const stream = await api.createStream()
    const deadline = performance.now() + fuzzMs(FUZZ_MS)
    let sent = 0
    let acknowledged = 0
    const run = async (lane: number) => {
      const random = new Random(seed + 100 * number + lane)
      while (performance.now() < deadline) {
        const accepted = await sendOne(random, target, stream)
        acknowledged += accepted
        sent++
      }
    }
    await Promise.all(Array.from({ length: CONCURRENT }, (_, lane) => run(lane)))
    console.log(`# ${target.name}: ${sent} requests`)
    if (target.name === 'bulk') {
      assert.equal((await api.usage(stream.id)).events, acknowledged)
    }
    await assertUnharmed()
  })
}

test('clients that go away in the middle of a body leave nothing', async () => {
  const stream = await api.createStream()
  const random = new Random(seed)
  const clients: RawClient[] = []
  for (let i = 0; i < 60; i++) {
    const target = random.pick(TARGETS)
    const good = grow(random, random.pick(target.good))
    const client = await RawClient.connect(service.port)
    const head = [
      `POST ${target.paths[0]!} HTTP/1.1`,
      'Host: x',
      ...Object.entries(authorization(stream)).map(([name, value]) => `${name}: ${value}`),
      `Content-Type: ${target.type}`,
      `Content-Length: ${good.length + 1}`,
    ]
    client.write(`${head.join('\r\n')}\r\n\r\n`)
    client.write(good.subarray(0, random.below(good.length + 1)))
    clients.push(client)
  }
  await new Promise((resolve) => setTimeout(resolve, 200))
  for (const client of clients) client.destroy()
  const deadline = performance.now() + 10_000
  while ((await api.metric('ingest_in_flight_requests')) > 0) {
    assert.ok(performance.now() < deadline, 'requests stay in flight')
  }
  assert.equal((await api.usage(stream.id)).events, 0)
  await assertUnharmed()
})
