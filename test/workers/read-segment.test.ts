/**
 * Goal: events are shown as they were stored, byte for byte, with what the service knows of them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SegmentRead } from '../../src/model/batch.ts'
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
