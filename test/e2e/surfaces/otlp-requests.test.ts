/**
 * Goal: OTLP requests that the SDKs' tests do not make: compressed, partly or wholly unusable,
 * large, sent again, refused; each answered in its own encoding with exactly its content type.
 * Method: protobuf encoded by the bench's own encoder, literal JSON, sent as bytes on a socket.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { DEPTH_MAX } from '../../../src/limits.ts'
import { Api, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'
import { encodeLogsRequest, field } from './otlp-encoder.ts'
import { sendWire, type WireAnswer } from './wire-request.ts'

const MIB = 1024 * 1024
const PROTOBUF = 'application/x-protobuf'
const JSON_TYPE = 'application/json'
let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

function post(
  stream: Stream,
  type: string,
  body: string | Uint8Array,
  headers: readonly string[] = [],
): Promise<WireAnswer> {
  const head = [
    'POST /v1/otlp/v1/logs HTTP/1.1',
    `Host: 127.0.0.1:${service.port}`,
    'User-Agent: OpenTelemetry Collector/0.120.0 (linux/amd64)',
    `Content-Type: ${type}`,
    `X-Api-Key: ${stream.key}`,
    ...headers,
  ]
  return sendWire(service.port, head, body)
}

/** The varints and byte strings of a message by field number. */
function readMessage(bytes: Uint8Array): Map<number, number | Buffer> {
  const fields = new Map<number, number | Buffer>()
  let at = 0
  const varint = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]!
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    assert.ok((tag & 7) === 0 || (tag & 7) === 2, `wire type ${tag & 7}`)
    const value = varint()
    if ((tag & 7) === 0) {
      fields.set(tag >> 3, value)
      continue
    }
    fields.set(tag >> 3, Buffer.from(bytes.subarray(at, at + value)))
    at += value
    assert.ok(at <= bytes.length, 'a field ends inside the message')
  }
  return fields
}

/** google.rpc.Status in the encoding of `type`. */
function readStatus(answer: WireAnswer, type: string): { code: number; message: string } {
  assert.equal(answer.headers.get('content-type'), type)
  if (type === JSON_TYPE) return JSON.parse(answer.text) as { code: number; message: string }
  const fields = readMessage(answer.bytes)
  return { code: Number(fields.get(1)), message: String(fields.get(2)) }
}

function assertSuccess(answer: WireAnswer, type: string): void {
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('content-type'), type)
  assert.equal(answer.text, type === JSON_TYPE ? '{}' : '')
}

const jsonRequest = (bodies: readonly string[]) =>
  `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${bodies
    .map((body) => `{"body":${body}}`)
    .join(',')}]}]}]}`

const deep = (depth: number): unknown =>
  Array.from({ length: depth }).reduce((inner) => [inner], 1 as unknown)

test('gzip and plain are the same; the answer has the type exactly', async () => {
  const record = { body: { n: 1, s: 'ä', list: [1.5, true, null] }, timeUnixNano: 10n ** 18n }
  const protobuf = encodeLogsRequest([record])
  // Field names in snake case, as protobuf's JSON allows.
  const values = [
    '{"key":"n","value":{"int_value":"1"}}',
    '{"key":"s","value":{"string_value":"ä"}}',
    '{"key":"list","value":{"array_value":{"values":[{"double_value":1.5},' +
      '{"bool_value":true},{}]}}}',
  ]
  const asJson =
    `{"resource_logs":[{"scope_logs":[{"log_records":[{"time_unix_nano":"${10n ** 18n}",` +
    `"body":{"kvlist_value":{"values":[${values.join(',')}]}}}]}]}]}`
  for (const [type, body] of [
    [PROTOBUF, protobuf],
    [JSON_TYPE, Buffer.from(asJson)],
  ] as const) {
    const stream = await api.createStream()
    assertSuccess(await post(stream, type, body), type)
    assertSuccess(await post(stream, type, gzipSync(body), ['Content-Encoding: gzip']), type)
    const events = await api.events(stream.id)
    assert.equal(events.length, 2)
    for (const event of events) {
      assert.deepEqual(event.payload, record.body)
      assert.equal(event.event_time_source, 'otlp')
      assert.equal(Date.parse(event.event_time), 10 ** 12)
    }
  }
})

test('a record too deep is a partial success, the others are stored', async () => {
  const bodies = [{ n: 0 }, { deep: deep(DEPTH_MAX) }, { n: 2 }]
  const protobuf = encodeLogsRequest(bodies.map((body) => ({ body })))
  const array = (depth: number): string =>
    depth === 0 ? '{"intValue":1}' : `{"arrayValue":{"values":[${array(depth - 1)}]}}`
  const json = jsonRequest(['{"stringValue":"a"}', array(DEPTH_MAX + 1), '{"stringValue":"b"}'])
  const first = await api.createStream()
  const answer = await post(first, PROTOBUF, protobuf)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), PROTOBUF)
  const partial = readMessage(readMessage(answer.bytes).get(1) as Buffer)
  assert.equal(partial.get(1), 1)
  assert.match(String(partial.get(2)), /^1 log records were rejected; record 1: /)
  assert.deepEqual(
    (await api.events(first.id)).map(({ payload }) => payload),
    [{ n: 2 }, { n: 0 }],
  )

  const second = await api.createStream()
  const told = await post(second, JSON_TYPE, json)
  assert.equal(told.headers.get('content-type'), JSON_TYPE)
  const { partialSuccess } = JSON.parse(told.text) as {
    partialSuccess: { rejectedLogRecords: string; errorMessage: string }
  }
  assert.equal(partialSuccess.rejectedLogRecords, '1')
  assert.match(partialSuccess.errorMessage, /record 1: /)
  assert.equal((await api.events(second.id)).length, 2)
})

test('ids are read from texts; of those that are none the sender is told', async () => {
  const stream = await api.createStream()
  const ids = ['5B8EFFF7-9803-8103-D269-b633813fc60c', 'W47/95gDgQPSabYzgT/GDA==', 'not an id']
  const records = ids.map((traceId) => JSON.stringify({ traceId, observedTimeUnixNano: '1000' }))
  const json = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${records}]}]}]}`
  const told = await post(stream, JSON_TYPE, json)
  assert.equal(told.status, 200)
  const { partialSuccess } = JSON.parse(told.text) as {
    partialSuccess: { rejectedLogRecords: string; errorMessage: string }
  }
  assert.equal(partialSuccess.rejectedLogRecords, '0')
  assert.match(
    partialSuccess.errorMessage,
    /^1 log records were stored in part; record 2: a trace or span id is left out/,
  )
  const events = await api.events(stream.id)
  const traces = events.map(({ payload }) => (payload as { trace_id?: string }).trace_id)
  const trace = '5b8efff798038103d269b633813fc60c'
  assert.deepEqual(traces, [undefined, trace, trace])
  for (const event of events) {
    assert.equal(event.event_time, '1970-01-01T00:00:00.000001000Z')
    assert.equal(event.event_time_source, 'otlp')
  }
})

test('structured bodies are found by their trace, and keep the rest where they shall', async () => {
  const streams = [await api.createStream(), await api.createStream({ otlp_context: 'keep' })]
  const traceId = '5b8efff798038103d269b633813fc60c'
  const body = '{"kvlistValue":{"values":[{"key":"n","value":{"intValue":"1"}}]}}'
  const record = `{"severityNumber":17,"traceId":"${traceId}","body":${body}}`
  const json = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${record}]}]}]}`
  const rest = { severity: 'ERROR', trace_id: traceId }
  const aggregates = [{ fn: 'count', query: `_trace_id:${traceId} _level:error`, as: 'found' }]
  for (const [index, stream] of streams.entries()) {
    assert.equal((await post(stream, JSON_TYPE, json)).text, '{}')
    const events = (await api.events(stream.id)) as unknown as Record<string, unknown>[]
    const shown = events.map((event) => [event.payload, event.level, event.trace_id])
    assert.deepEqual(shown, [[{ n: 1, ...(index === 1 && rest) }, 'error', traceId]])
    await api.untilCounted(stream.id, 1)
    const { rows } = await api.count(stream.id, { aggregates })
    assert.equal(Number(rows[0]!.found), 1)
  }
})

test('a malformed request is refused whole, by a Status in its own encoding', async () => {
  const stream = await api.createStream()
  const good = encodeLogsRequest([{ body: { n: 1 } }, { body: { n: 2 } }])
  for (const [type, body] of [
    [PROTOBUF, good.subarray(0, good.length - 3)],
    [PROTOBUF, Buffer.from('{"resourceLogs":[]}')],
    [PROTOBUF, Buffer.concat([good, Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f])])],
    [PROTOBUF, field(1, field(2, field(2, Buffer.alloc(4, 0xff))))],
    [JSON_TYPE, '{"resourceLogs":[{'],
    [JSON_TYPE, '[]'],
    [JSON_TYPE, '{"resourceLogs":{}}'],
    [JSON_TYPE, good],
  ] as const) {
    for (const isGzip of [false, true]) {
      const bytes = isGzip ? gzipSync(body) : body
      const answer = await post(stream, type, bytes, isGzip ? ['Content-Encoding: gzip'] : [])
      assert.equal(answer.status, 400, `${type} ${Buffer.from(body).toString('hex').slice(0, 80)}`)
      const status = readStatus(answer, type)
      assert.equal(status.code, 3)
      assert.notEqual(status.message, '')
    }
  }
  assert.equal((await api.usage(stream.id)).events, 0)
})

test('401, 413 and 415 in the encoding of the request', async () => {
  const stream = await api.createStream()
  const bomb = gzipSync(Buffer.alloc(50 * MIB))
  for (const type of [PROTOBUF, JSON_TYPE]) {
    const unknown = await post({ ...stream, key: 'lax_aaaaaaaa_wrong' }, type, '')
    assert.equal(unknown.status, 401)
    assert.equal(unknown.headers.get('www-authenticate')?.startsWith('Bearer'), true)
    assert.equal(readStatus(unknown, type).code, 16)
    const large = await post(stream, type, Buffer.alloc(10 * MIB + 1, 0x20))
    assert.equal(large.status, 413)
    assert.equal(readStatus(large, type).code, 3)
    const bombed = await post(stream, type, bomb, ['Content-Encoding: gzip'])
    // What is no message is known before it is found to be too long.
    assert.ok([400, 413].includes(bombed.status), bombed.text)
    assert.equal(readStatus(bombed, type).code, 3)
    const encoded = await post(stream, type, '', ['Content-Encoding: snappy'])
    assert.equal(encoded.status, 415)
    assert.equal(readStatus(encoded, type).code, 3)
  }
  const text = await post(stream, 'text/plain', '{}')
  assert.equal(text.status, 415)
  assert.equal(readStatus(text, JSON_TYPE).code, 3)
  assert.equal((await api.usage(stream.id)).events, 0)
})

test('a valid request over 10 MiB decompressed is 413', async () => {
  const stream = await api.createStream()
  const record = { body: { filler: 'x'.repeat(10_000) } }
  const body = encodeLogsRequest(Array.from({ length: 1_060 }, () => record))
  assert.ok(body.length > 10 * MIB && body.length < 11 * MIB)
  const answer = await post(stream, PROTOBUF, gzipSync(body), ['Content-Encoding: gzip'])
  assert.equal(answer.status, 413)
  assert.equal(readStatus(answer, PROTOBUF).code, 3)
  assert.equal((await api.usage(stream.id)).events, 0)
})

test('8,192 records in over 4 MB are stored exactly once, in order', async () => {
  const records = Array.from({ length: 8_192 }, (_, n) => ({
    body: n % 3 === 0 ? `line ${n} ${'y'.repeat(500)}` : { n, filler: 'x'.repeat(500) },
    attributes: { n },
    severityNumber: 9,
  }))
  const body = encodeLogsRequest(records)
  assert.ok(body.length > 4 * 1_000_000)
  for (const headers of [[], ['Content-Encoding: gzip']]) {
    const stream = await api.createStream()
    const key = [...headers, 'Idempotency-Key: batch']
    const bytes = headers.length === 0 ? body : gzipSync(body)
    assertSuccess(await post(stream, PROTOBUF, bytes, key), PROTOBUF)
    assertSuccess(await post(stream, PROTOBUF, bytes, key), PROTOBUF)
    const events = (await api.events(stream.id)).reverse()
    assert.equal(events.length, 8_192)
    for (const [n, { payload }] of events.entries()) {
      if (n % 3 !== 0) assert.equal(payload.n, n)
      else assert.deepEqual((payload as { attributes: object }).attributes, { n })
    }
    await api.untilCounted(stream.id, 8_192)
    assert.equal((await api.count(stream.id)).total, 8_192)
  }
})

test('an Idempotency-Key answers a partial success as the first time', async () => {
  const stream = await api.createStream()
  const bodies = [{ n: 0 }, { deep: deep(DEPTH_MAX) }]
  const body = encodeLogsRequest(bodies.map((one) => ({ body: one })))
  const key = ['Idempotency-Key: partial']
  const first = await post(stream, PROTOBUF, body, key)
  assert.equal(first.status, 200)
  const again = await post(stream, PROTOBUF, body, key)
  assert.deepEqual([again.status, again.bytes], [200, first.bytes])
  const asJson = await post(stream, JSON_TYPE, '{}', key)
  assert.deepEqual([asJson.status, JSON.parse(asJson.text).code], [409, 10])
  assert.equal((await api.usage(stream.id)).events, 1)
})

test('refused requests are counted on the stream', async () => {
  const stream = await api.createStream()
  await post(stream, PROTOBUF, Buffer.from([0xff]))
  await post(stream, JSON_TYPE, Buffer.alloc(10 * MIB + 1, 0x20))
  await post(stream, 'text/plain', 'x')
  const deadline = performance.now() + 10_000
  let reasons: string[] = []
  while (reasons.length < 3 && performance.now() < deadline) {
    reasons = (await api.usage(stream.id)).refusals.map(({ reason }) => reason)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.deepEqual(reasons.sort(), ['malformed', 'plain_text_not_accepted', 'too_large'])
})
