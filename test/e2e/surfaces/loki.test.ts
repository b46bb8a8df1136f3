/**
 * Goal: Loki's push endpoint keeps what the other surfaces promise, in Loki's words: keys, times,
 * labels, transforms, refusals, repeated requests.
 * Method: requests in both encodings against one running service; what they stored is read back.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import winston from 'winston'
import LokiTransport from 'winston-loki'
import { BODY_BYTES_MAX } from '../../../src/limits.ts'
import { encodePushed } from '../../decode/loki/decode-loki.ts'
import { eventually } from '../../store/temporary.ts'
import { type Answer, Api, call, JSON_TYPE, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

const PUSH = '/loki/api/v1/push'
const PROTOBUF = 'application/x-protobuf'
const NANOS = '1767323045678901234'
const TIME = '2026-01-02T03:04:05.678901234Z'

let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

function push(
  stream: Stream,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const type = typeof body === 'string' ? JSON_TYPE : PROTOBUF
  const head = { 'content-type': type, 'x-api-key': stream.key, ...headers }
  return call(`${api.url}${PUSH}`, { method: 'POST', headers: head, body })
}

const ofValues = (...values: readonly unknown[]) =>
  JSON.stringify({ streams: [{ stream: { service_name: 'shop', level: 'warn' }, values }] })

/** Without a body, and without a type that would promise one. */
function assertStored({ status, text, headers }: Answer): void {
  assert.deepEqual([status, text, headers['content-type']], [204, '', undefined])
}

function assertRefused({ status, text, headers }: Answer, expected: number, reason: RegExp): void {
  assert.equal(status, expected, text)
  assert.equal(headers['content-type'], 'text/plain; charset=utf-8')
  assert.match(text, reason)
  assert.ok(text.endsWith('\n'))
}

test('both encodings, compressed or not: the same event, its time to the nanosecond', async () => {
  const metadata = { trace_id: '5b8efff798038103d269b633813fc60c' }
  const json = ofValues([NANOS, 'hello ✓', metadata])
  const [seconds, nanos] = [Number(NANOS.slice(0, 10)), Number(NANOS.slice(10))]
  const structuredMetadata = [{ name: 'trace_id', value: metadata.trace_id }]
  const entries = [{ timestamp: { seconds, nanos }, line: 'hello ✓', structuredMetadata }]
  const protobuf = encodePushed([{ labels: '{service_name="shop", level="warn"}', entries }])
  const stream = await api.createStream()
  assertStored(await push(stream, json))
  assertStored(await push(stream, gzipSync(json), { 'content-type': JSON_TYPE, ...GZIP }))
  assertStored(await push(stream, protobuf))
  assertStored(await push(stream, protobuf, { 'content-encoding': 'snappy' }))
  assertStored(await push(stream, gzipSync(protobuf), GZIP))
  assertStored(await push(stream, protobuf, { 'content-type': '' }))
  const events = await api.events(stream.id)
  assert.equal(events.length, 6)
  for (const event of events) {
    const labels = { service_name: 'shop', level: 'warn' }
    assert.deepEqual(event.payload, { ...labels, message: 'hello ✓', ...metadata })
    assert.equal(event.event_time, TIME)
  }
})

const GZIP = { 'content-encoding': 'gzip' }

test('a key is a header, a bearer, or a password; a tenant is none', async () => {
  const stream = await api.createStream()
  const tenant = { 'x-scope-orgid': 'tenant' }
  const basic = Buffer.from(`tenant:${stream.key}`).toString('base64')
  const nobody = { 'x-api-key': '' }
  const body = ofValues([NANOS, 'x'])
  assertStored(await push(stream, body, tenant))
  assertStored(await push(stream, body, { ...nobody, ...tenant, authorization: `Basic ${basic}` }))
  assertStored(await push(stream, body, { ...nobody, authorization: `Bearer ${stream.key}` }))
  for (const headers of [nobody, { ...nobody, ...tenant }, { 'x-api-key': `${stream.key}x` }]) {
    const answer = await push(stream, body, headers)
    assertRefused(answer, 401, /credential/)
    assert.match(String(answer.headers['www-authenticate']), /^Basic /)
  }
  assert.equal((await api.events(stream.id)).length, 3)
})

test('entries that are none: the others are stored, and no sender repeats them', async () => {
  const stream = await api.createStream()
  const answer = await push(stream, ofValues([NANOS, 'a'], ['soon', 'b'], [NANOS, 'c']))
  assertRefused(
    answer,
    200,
    /^stored 2 entries; 1 were rejected: streams\[0\]\.values\[1\]: the time/,
  )
  assert.equal((await api.events(stream.id)).length, 2)
  const none = await push(stream, ofValues(['soon', 'b']))
  assertRefused(
    none,
    400,
    /^nothing was stored; 1 were rejected: streams\[0\]\.values\[0\]: the time/,
  )
  assertRefused(await push(stream, '{"streams":['), 400, /^invalid Loki JSON at byte 12: /)
  assertRefused(await push(stream, Buffer.from('junk')), 400, /^invalid snappy at byte 1: /)
  assertRefused(await push(stream, ''), 400, /^the body is empty$/m)
  assertRefused(await push(stream, 'x', { 'content-type': 'text/plain' }), 415, /^send application/)
  const unknown = { 'content-encoding': 'snappy' }
  assertRefused(await push(stream, '{"streams":[]}', unknown), 415, /^Content-Encoding must be /)
  const announced = Uint8Array.of(0x81, 0x80, 0x80, 0x05, 0, 0)
  const tooLarge = new RegExp(`^decompressed body is over ${BODY_BYTES_MAX} bytes`)
  assertRefused(await push(stream, announced), 413, tooLarge)
  assertStored(await push(stream, '{"streams":[]}'))
  assert.equal((await api.events(stream.id)).length, 2)
  // What was rejected is counted up to a second late.
  await eventually('counted', async () => {
    const { rejected_events: counted } = JSON.parse(
      await api.rest(`/v1/streams/${stream.id}/usage`),
    ) as { rejected_events: readonly { readonly reason: string; readonly count: number }[] }
    return counted.some(({ reason, count }) => reason === 'malformed' && count >= 2)
  })
})

test('JSON in a line is extracted, secrets are redacted, wherever they stand', async () => {
  const stream = await api.createStream({ redact_sensitive: true })
  const line = JSON.stringify({ level: 'error', password: 'hunter2!', n: 1 })
  const metadata = { token: 'opensesame', n: '2' }
  assertStored(await push(stream, ofValues([NANOS, line], [NANOS, 'password: x', metadata])))
  const [second, first] = await api.events(stream.id)
  const { log } = first!.payload as { log: Record<string, unknown> }
  assert.deepEqual([log.level, log.password, log.n], ['error', '[REDACTED]', 1])
  assert.deepEqual([second!.payload.token, second!.payload.n], ['[REDACTED]', '2'])
  assert.doesNotMatch(JSON.stringify([first, second]), /hunter2|opensesame/)
})

test('the same request under a key is stored once', async () => {
  const stream = await api.createStream()
  const key = { 'idempotency-key': 'loki-1' }
  const body = ofValues([NANOS, 'a'], ['soon', 'b'])
  const first = await push(stream, body, key)
  const again = await push(stream, body, key)
  assert.deepEqual([again.status, again.text], [first.status, first.text])
  assertRefused(await push(stream, ofValues([NANOS, 'b']), key), 409, /another request/)
  const full = { 'idempotency-key': 'loki-2' }
  assertStored(await push(stream, ofValues([NANOS, 'a']), full))
  assertStored(await push(stream, ofValues([NANOS, 'a']), full))
  assert.equal((await api.events(stream.id)).length, 2)
})

test('a request of many segments, in both encodings', async () => {
  const count = 20_000
  const line = 'x'.repeat(100)
  const stream = await api.createStream()
  const values = Array.from({ length: count }, (_, i) => [NANOS, `${i} ${line}`])
  assertStored(await push(stream, ofValues(...values)))
  const entries = values.map(([, each]) => ({ line: each! }))
  assertStored(await push(stream, encodePushed([{ labels: '{a="b"}', entries }])))
  const { events } = await api.usage(stream.id)
  assert.equal(events, 2 * count)
})

test("winston's transport, protobuf in snappy", async () => {
  const stream = await api.createStream()
  const errors: unknown[] = []
  const transport = new LokiTransport({
    host: service.url,
    basicAuth: `tenant:${stream.key}`,
    labels: { app: 'shop' },
    interval: 0.02,
    useWinstonMetaAsLabels: false,
    gracefulShutdown: false,
    onConnectionError: (error) => errors.push(error),
    format: winston.format.printf(({ message }) => String(message)),
  })
  const logger = winston.createLogger({ transports: [transport] })
  for (let n = 0; n < 20; n++) logger.error(`order ${n} ✓`)
  await transport.flush()
  await transport.close()
  assert.deepEqual(errors, [])
  const payloads = (await api.events(stream.id)).map(({ payload }) => payload)
  const sent = Array.from({ length: 20 }, (_, n) => `order ${n} ✓`)
  assert.deepEqual(payloads.map(({ message }) => message).sort(), sent.sort())
  assert.deepEqual([payloads[0]!.app, payloads[0]!.level], ['shop', 'error'])
})

test('what clients ask beside it needs no key', async () => {
  const ready = await call(`${api.url}/ready`)
  assert.equal(ready.status, 200, ready.text)
  const info = await call(`${api.url}/loki/api/v1/status/buildinfo`)
  assert.equal(info.status, 200)
  assert.match((JSON.parse(info.text) as { version: string }).version, /^3\./)
  const other = await call(`${api.url}/loki/api/v1/labels`)
  assert.equal(other.status, 404, 'what is not there is not there, whoever asks')
  const metrics = await call(`${api.url}/metrics`)
  assert.match(metrics.text, /^ingest_requests_total\{surface="loki",status="204"\} [1-9]/m)
})
