/** Goal: a batch of many parts is judged part by part and encoded as one run of events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { drawSecret } from '../../bench/redaction/sets.ts'
import { DELTA_SHAPES_MAX, EVENT_BUFFER_KEEP_BYTES, SEGMENT_EVENTS_MAX } from '../../src/limits.ts'
import type { EncodedBatch } from '../../src/model/batch/encoded-batch.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { arena } from '../../workers/kernel/arena.ts'
import { decodeSegment } from '../../workers/segment/segment.ts'
import { otlpMessages } from '../decode/otlp/otlp-oracle.ts'
import { batchOf, batchOfParts } from './batch-of.ts'

function textOf(encoded: EncodedBatch): string {
  return encoded.segments.map(({ payload }) => decodeSegment(payload).text.toString()).join('')
}

test('parts of every JSON framing share a batch; a failed one leaves nothing in it', () => {
  const encoded = new IngestPipeline().run(
    batchOfParts([
      ['ndjson', '{"a":1}\n{"a":2}\n'],
      ['array', '{"bad":1},{"bad":2},'],
      ['document', '{"a":\n3}'],
      ['document', '{"bad":\n4}}'],
      ['ndjson', '\n\n{"bad":\n{"a":4}'],
      ['array', '{"a":5},5'],
    ]),
  )
  assert.equal(textOf(encoded), '{"a":1}\n{"a":2}\n{"a": 3}\n{"a":4}\n{"a":5}\n')
  const counts = encoded.parts.map((part) => [part.accepted, part.rejected, part.fatal?.line])
  assert.deepEqual(counts, [
    [2, 0, undefined],
    [0, 0, 1],
    [1, 0, undefined],
    [0, 0, 2],
    [1, 1, undefined],
    [1, 1, undefined],
  ])
  const [segment] = encoded.segments
  assert.deepEqual([segment?.eventCount, segment?.block.rows], [5, 5])
  assert.equal(segment?.rawBytes, textOf(encoded).length)
})

test('segments hold SEGMENT_EVENTS_MAX events; one event more makes another', () => {
  for (const count of [1, SEGMENT_EVENTS_MAX, SEGMENT_EVENTS_MAX + 1, 2 * SEGMENT_EVENTS_MAX]) {
    const lines = Array.from({ length: count }, (_, i) => `{"i":${i}}`)
    const encoded = new IngestPipeline().run(batchOf(lines.join('\n')))
    assert.equal(textOf(encoded), `${lines.join('\n')}\n`)
    const counts = encoded.segments.map(({ eventCount }) => eventCount)
    assert.equal(counts.length, Math.ceil(count / SEGMENT_EVENTS_MAX))
    assert(counts.slice(0, -1).every((each) => each === SEGMENT_EVENTS_MAX))
    assert.equal(encoded.parts[0]?.accepted, count)
  }
})

test('a batch without any event makes no segment', () => {
  for (const body of ['', '\n\n', 'x', '[]', '7']) {
    const { segments, parts } = new IngestPipeline().run(batchOf(body))
    assert.deepEqual([segments.length, parts[0]?.accepted], [0, 0], body)
  }
})

test('invalid UTF-8 is repaired and counted, in its own event only', () => {
  const bad = Buffer.from([0xff, 0xc3])
  const body = Buffer.concat([
    Buffer.from('{"a":"é"}\n{"b":"'),
    bad,
    Buffer.from('"}\n{"c":1}\n'),
    bad,
    Buffer.from('\n'),
  ])
  const encoded = new IngestPipeline().run(batchOf(body))
  assert.equal(textOf(encoded), '{"a":"é"}\n{"b":"\ufffd\ufffd"}\n{"c":1}\n')
  const { accepted, rejected, repaired } = encoded.parts[0]!
  assert.deepEqual([accepted, rejected, repaired], [3, 1, 2])
})

test('text that fills the buffer of generated events to its end', () => {
  for (let last = 599_990; last < 600_010; last++) {
    const lines = ['a', 'b', 'c', 'd', 'x'.repeat(last)]
    const encoded = new IngestPipeline().run(batchOf(lines.join('\n'), 'text'))
    const stored = textOf(encoded)
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).message)
    assert.deepEqual(stored, lines)
  }
  const pipeline = new IngestPipeline()
  const line = 'y'.repeat(1_009) // 1,024 bytes as an event: 256 of them fill the first buffer.
  for (let count = 250; count < 260; count++) {
    const body = Array.from({ length: count }, () => line).join('\n')
    assert.equal(pipeline.run(batchOf(body, 'text')).parts[0]?.accepted, count)
  }
})

test('the schema delta describes each shape once a stream, and at most DELTA_SHAPES_MAX', () => {
  const pipeline = new IngestPipeline()
  const body = '{"a":1,"b":{"c":["x"]}}\n{"z":null}\n{"b":{"c":["y","z"]},"a":2}'
  const [first] = pipeline.run(batchOf(body)).segments
  const seen = first!.delta.shapes.map(({ count, firstOrdinal, leaves }) => {
    return [count, firstOrdinal, leaves?.map((leaf) => leaf.replaceAll('\0', ' ')).sort()]
  })
  assert.deepEqual(seen, [
    [2, 0, ['a integer 1 2', 'b object', 'b.c array', 'b.c[] string "x" "y" "z"']],
    [1, 1, ['z null']],
  ])
  const [again] = pipeline.run(batchOf(body)).segments
  assert(again!.delta.shapes.every(({ leaves }) => leaves === undefined))
  const many = Array.from({ length: DELTA_SHAPES_MAX + 7 }, (_, i) => `{"k${i}":1}`)
  const { delta } = pipeline.run(batchOf([...many, many[0]].join('\n'))).segments[0]!
  assert.deepEqual([delta.shapes.length, delta.shapesSkipped], [DELTA_SHAPES_MAX, 7])
  assert.equal(delta.shapes[0]?.count, 2)
})

const requestType = otlpMessages.lookupType('sluice.otlp.ExportLogsServiceRequest')

function otlpBody(...logRecords: object[]): Uint8Array {
  const scopeLogs = [{ scope: {}, logRecords }]
  return requestType.encode(requestType.fromObject({ resourceLogs: [{ scopeLogs }] })).finish()
}

test('OTLP parts share a batch; times come from the protocol, to the nanosecond', () => {
  const timeUnixNano = '1763719200123456789'
  const values = [
    { key: 'at', value: { stringValue: '2001-01-01T00:00:00Z' } },
    { key: 'time', value: { stringValue: '2001-01-01T00:00:00Z' } },
  ]
  const kvlist = { body: { kvlistValue: { values } } }
  const bad = Buffer.of(0x0a, 0x7f)
  const parts: ['otlp-protobuf', Uint8Array][] = [
    ['otlp-protobuf', otlpBody({ ...kvlist, timeUnixNano }, kvlist)],
    ['otlp-protobuf', bad],
    ['otlp-protobuf', otlpBody({ body: { stringValue: 'x' }, timeUnixNano })],
  ]
  const pipeline = new IngestPipeline()
  const encoded = pipeline.run(batchOfParts(parts))
  const counts = encoded.parts.map((part) => [part.accepted, part.fatal?.code])
  assert.deepEqual(counts, [
    [2, undefined],
    [0, 'malformed'],
    [1, undefined],
  ])
  const event = '{"at":"2001-01-01T00:00:00Z","time":"2001-01-01T00:00:00Z"}'
  const known = '"attributes":{},"resource":{},"severity":null'
  const wrapped = `{"body":"x",${known},"time_unix_nano":"${timeUnixNano}"}`
  assert.equal(textOf(encoded), `${event}\n${event}\n${wrapped}\n`)
  const [segment] = encoded.segments
  const { times } = decodeSegment(segment!.payload)
  const given = { ms: 1_763_719_200_123, nanos: 456_789 }
  assert.deepEqual(
    [...times],
    [
      [0, given],
      [2, given],
    ],
  )
  const { block } = segment!
  const view = new DataView(block.bytes.buffer, block.bytes.byteOffset + block.eventTimeOffset)
  const nanoseconds = [0, 8, 16].map((at) => view.getBigInt64(at, true))
  assert.deepEqual(nanoseconds, [
    BigInt(timeUnixNano),
    BigInt(Date.UTC(2001, 0, 1)) * 1_000_000n,
    BigInt(timeUnixNano),
  ])
})

test('OTLP JSON shares a batch with text, and is repaired as a document', () => {
  const requestWith = (text: Uint8Array) =>
    Buffer.concat([
      Buffer.from('{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"'),
      text,
      Buffer.from('"}}]}]}]}'),
    ])
  const { parts } = new IngestPipeline().run(
    batchOfParts([
      ['otlp-json', requestWith(Buffer.from('é'))],
      ['text', 'a line'],
      ['otlp-json', requestWith(Buffer.of(0xff))],
      ['otlp-json', '{"resourceLogs":[}'],
    ]),
  )
  assert.deepEqual(
    parts.map(({ accepted, repaired, fatal }) => [accepted, repaired, fatal?.code]),
    [
      [1, 0, undefined],
      [1, 0, undefined],
      [1, 1, undefined],
      [0, 0, 'malformed'],
    ],
  )
})

test('parts of two inputs in one batch are a bug', () => {
  const batch = batchOfParts([
    ['text', 'x'],
    ['otlp-protobuf', ''],
  ])
  assert.throws(() => new IngestPipeline().run(batch), /one input/)
})

test('a batch after a very large one starts with a small buffer again', () => {
  const pipeline = new IngestPipeline()
  const large = { body: { stringValue: '\u0001'.repeat(170_000) } }
  const body = otlpBody(...Array.from({ length: 20 }, () => large))
  assert(body.length * 6 > EVENT_BUFFER_KEEP_BYTES)
  assert.equal(pipeline.run(batchOf(body, 'otlp-protobuf')).parts[0]?.accepted, 20)
  assert.equal(pipeline.run(batchOf('a\nb', 'text')).parts[0]?.accepted, 2)
})

test('transforms may grow the buffer that the next batch is decoded into, of any kind', () => {
  const settings = { parseUserAgents: true, redactSensitive: true, redactFields: [] }
  const secret = drawSecret(new Random(1), 'github')
  const password = `${'p'.repeat(40)} ${secret} ${'q'.repeat(40)}`
  const records = Array.from({ length: 400 }, (_, i) => ({
    body: { stringValue: `${i} ${password}` },
  }))
  const lines = records.map(({ body }) => body.stringValue)
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0'
  const objects = lines.map((password, i) => JSON.stringify({ i, password, user_agent: agent }))
  const batches = [
    batchOf(otlpBody(...records), 'otlp-protobuf'),
    batchOf(lines.join('\n'), 'text'),
    batchOf(objects.join('\n')),
  ].map((batch) => ({ ...batch, settings }))
  const pipeline = new IngestPipeline()
  // The second time the buffer is as large as the first left it.
  for (const batch of [...batches, ...batches]) {
    const encoded = pipeline.run(batch)
    assert.equal(encoded.transforms.eventsRedacted, lines.length)
    const text = textOf(encoded)
    assert(!text.includes(secret))
    assert.equal(text, textOf(new IngestPipeline().run(batch)))
    assert.equal(text.split('[REDACTED]').length, lines.length + 1)
  }
})

/** All views of memory in a result, however deep. */
function viewsIn(value: unknown): ArrayBufferView[] {
  if (ArrayBuffer.isView(value)) return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(viewsIn)
}

test('nothing of a result lies in the memory of the worker', () => {
  const pipeline = new IngestPipeline()
  const lines = Array.from({ length: 40 }, (_, i) => `{"a":${i},"b":["x",{"c":"${i}"}],"d":1.5}`)
  const bodies = [
    ['ndjson', `${lines.join('\n')}\n`],
    ['bulk', lines.map((line) => `{"create":{}}\n${line}\n`).join('')],
    ['text', 'one\ntwo\n'],
    ['document', '{"a":1}'],
  ] as const
  for (const [framing, body] of bodies) {
    const views = viewsIn(pipeline.run(batchOf(body, framing)))
    assert(views.length >= 3, framing)
    for (const view of views) assert(!arena.holds(view), framing)
  }
})
