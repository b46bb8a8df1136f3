/**
 * Goal: events are shown as they were stored, byte for byte, with what the service knows of them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SegmentRead } from '../../src/model/batch/segment-read.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { SegmentReader } from '../../workers/read-segment.ts'
import { batchOf } from './batch-of.ts'

const INGESTED_AT_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

function read(lines: readonly string[], fields: Partial<SegmentRead> = {}): SegmentRead {
  const [segment] = new IngestPipeline().run(batchOf(lines.join('\n'))).segments
  return {
    payload: segment!.payload,
    segmentId: '77',
    ingestedAtMs: INGESTED_AT_MS,
    fromOrdinal: 0,
    toOrdinal: lines.length,
    newestFirst: false,
    ...fields,
  }
}

const reader = new SegmentReader()
const run = (...reads: SegmentRead[]) => Buffer.from(reader.run(reads)).toString()

test('the payload is the stored text: digits, duplicates, spaces, escapes', () => {
  const lines = [
    '{"n":12345678901234567890123,"f":1.50,"e":1E+2}',
    '{"a":1,"a":2,"\\u0061":3}',
    '{ "s" :\t"\\ud83d\\/" }',
    '{}',
  ]
  const text = run(read(lines))
  for (const line of lines) assert(text.includes(`"payload":${line}}`), line)
  const records = JSON.parse(`[${text}]`) as Record<string, unknown>[]
  assert.deepEqual(
    records.map(({ id }) => id),
    ['77-0', '77-1', '77-2', '77-3'],
  )
  assert.deepEqual(Object.keys(records[0]!), [
    'id',
    'ingested_at',
    'event_time',
    'event_time_source',
    'shape',
    'payload',
  ])
})

test('times: from a field with its nanoseconds, else the receipt', () => {
  const lines = [
    '{"ts":"2026-01-02T03:04:05.123456789+01:00"}',
    '{"ts":"2026-01-02T03:04:05.120Z"}',
    '{"ts":1}',
  ]
  const records = JSON.parse(`[${run(read(lines))}]`) as Record<string, unknown>[]
  assert.deepEqual(
    records.map((each) => [each.event_time, each.event_time_source]),
    [
      ['2026-01-02T02:04:05.123456789Z', 'field'],
      ['2026-01-02T03:04:05.120Z', 'field'],
      ['2026-01-02T03:04:05.678Z', 'receipt'],
    ],
  )
  assert(records.every((each) => each.ingested_at === '2026-01-02T03:04:05.678Z'))
})

test('ranges and order, over several segments', () => {
  const lines = Array.from({ length: 5 }, (_, i) => `{"i":${i}}`)
  const ids = (text: string) => (JSON.parse(`[${text}]`) as { id: string }[]).map(({ id }) => id)
  const newest = read(lines, { newestFirst: true, fromOrdinal: 1, toOrdinal: 4 })
  const other = read(lines, { segmentId: '78', fromOrdinal: 3, toOrdinal: 99 })
  assert.deepEqual(ids(run(newest, other)), ['77-3', '77-2', '77-1', '78-3', '78-4'])
  assert.equal(run(read(lines, { fromOrdinal: 5, toOrdinal: 9 })), '')
  assert.equal(run(), '')
})

test('the shape shown is the one that the projection and the catalog have', () => {
  const lines = ['{"a":1}', '{"a":"x"}', '{"a":2}']
  const [segment] = new IngestPipeline().run(batchOf(lines.join('\n'))).segments
  const records = JSON.parse(`[${run(read(lines))}]`) as { shape: string }[]
  const [integer, string] = segment!.delta.shapes.map(({ shape }) => shape)
  assert.deepEqual(
    records.map(({ shape }) => shape),
    [integer, string, integer],
  )
})

test('a page far larger than the reader started with', () => {
  const lines = Array.from({ length: 2_000 }, (_, i) => `{"i":${i},"s":"${'x'.repeat(200)}"}`)
  const records = JSON.parse(`[${run(read(lines))}]`) as { payload: { i: number } }[]
  assert.deepEqual(
    records.map(({ payload }) => payload.i),
    lines.map((_, i) => i),
  )
})

test('a payload that does not decode is left out and told, the others are read', () => {
  const [good, cut] = [read(['{"a":1}']), read(['{"b":"x"}', '{"c":2}'])]
  const damaged = [
    { ...cut, payload: cut.payload.slice(0, cut.payload.length - 2) },
    { ...cut, payload: Uint8Array.of(99) },
    { ...cut, payload: new Uint8Array() },
  ]
  const text = run(damaged[0]!, good, damaged[1]!, damaged[2]!, cut)
  const records = JSON.parse(`[${text}]`) as { payload: object }[]
  assert.deepEqual(
    records.map(({ payload }) => payload),
    [{ a: 1 }, { b: 'x' }, { c: 2 }],
  )
  assert.deepEqual(
    reader.damaged.map(({ index }) => index),
    [0, 2, 3],
  )
  for (const { reason } of reader.damaged) assert(reason.length > 0)
  run(good)
  assert.deepEqual(reader.damaged, [])
})

test('some events of a segment are the same records as all of them', () => {
  const lines = Array.from({ length: 40 }, (_, i) => {
    return `{"i":${i},"ts":"2026-01-02T03:04:05.${100 + i}Z","s":"é\\n${'x'.repeat(i)}"}`
  })
  const all = JSON.parse(`[${run(read(lines))}]`) as { id: string }[]
  for (const ordinals of [[0], [39], [3, 4, 17], [0, 39, 77], lines.map((_, i) => i), []]) {
    for (const newestFirst of [false, true]) {
      const chosen = { ordinals: Uint32Array.from(ordinals), newestFirst }
      const wanted = all.filter((_, i) => ordinals.includes(i))
      if (newestFirst) wanted.reverse()
      assert.deepEqual(JSON.parse(`[${run(read(lines, chosen))}]`), wanted)
    }
  }
  const shifted = { firstEvent: 10, toOrdinal: 20, ordinals: Uint32Array.of(2, 19) }
  const texts = (
    JSON.parse(`[${run(read(lines, shifted))}]`) as { id: string; payload: unknown }[]
  ).map(({ id, payload }) => [id, (payload as { i: number }).i])
  assert.deepEqual(texts, [
    ['77-2', 12],
    ['77-19', 29],
  ])
})

test('a chosen event of a damaged payload is told, and costs the others nothing', () => {
  const lines = Array.from({ length: 9 }, (_, i) => `{"i":${i}}`)
  const good = read(lines, { ordinals: Uint32Array.of(1) })
  const bad = { ...good, payload: good.payload.slice(0, -3) }
  const text = Buffer.from(reader.run([bad, good])).toString()
  assert.deepEqual(
    reader.damaged.map(({ index }) => index),
    [0],
  )
  assert.match(text, /^\{"id":"77-1"/)
})

test('fields in place of the payload: values as they were stored, the last of duplicates', () => {
  const lines = [
    '{"a.b":1.50,"big":12345678901234567890,"t":[1, 2],"o":{"k" : null},"extra":1}',
    '{"a":{"b":1,"c":{"d":2}},"a":{"b":{"x":1}},"o":{"k":"\\u0041\\n"},"\\u0074":"e"}',
    '{"a":{"b":1},"a":7}',
  ]
  const fields = ['a.b', 'big', 't', 'o.k', 'a.c.d', 'none']
  const text = Buffer.from(reader.run([read(lines)], { kind: 'lines', fields })).toString()
  const picked = text
    .trimEnd()
    .split('\n')
    .map((line) => /"fields":(.*)\}$/.exec(line)?.[1])
  assert.deepEqual(picked, [
    '{"a.b":1.50,"big":12345678901234567890,"t":[1, 2],"o.k":null}',
    '{"a.b":{"x":1},"t":"e","o.k":"\\u0041\\n"}',
    '{}',
  ])
})

test('CSV by RFC 4180: quotes, commas and line ends in values, nothing for nothing', () => {
  const lines = ['{"m":"a \\"b\\", c\\r\\nd","n":1.0,"o":{"x":[1,2]},"e":""}', '{"m":null}']
  const format = { kind: 'csv', fields: ['m', 'n', 'o', 'e'] } as const
  const text = Buffer.from(reader.run([read(lines, { streamId: '5' })], format)).toString()
  const time = '2026-01-02T03:04:05.678Z'
  assert.equal(
    text,
    `5,77-0,${time},${time},"a ""b"", c\r\nd",1.0,"{""x"":[1,2]}",""\r\n` +
      `5,77-1,${time},${time},,,,\r\n`,
  )
  const [record] = JSON.parse(`[${run(read(lines, { streamId: '5' }))}]`) as { _stream: string }[]
  assert.equal(record?._stream, '5')
})
