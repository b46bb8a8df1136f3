/** Goal: what is split together is bounded and in order, and every run goes into just one row. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import {
  COMPACT_BYTES_MAX,
  COMPACT_MEMBERS_MAX,
  COMPACT_WINDOW_MS,
  SEGMENT_EVENTS_MAX,
  SPLIT_BYTES_MAX,
  SPLIT_SEGMENTS_MAX,
} from '../../src/limits.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { RowSegment, SizedRow } from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { windowOf } from '../../src/retain/compaction-windows.ts'
import { type ChunkOptions, planRows, takeChunk } from '../../src/retain/split-plan.ts'
import type { StoredRun } from '../../src/store/raw/split-store.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const START = 1_000 * COMPACT_WINDOW_MS
const NONE = new Map<StreamId, SegmentId[]>()
const ALL_PASSED: ChunkOptions = {
  checkpoints: new Map([[1, makeSegmentId({ ms: 2 ** 41, node: 1, counter: 0 })]]),
  waitedBefore: 0n as SegmentId,
  damaged: new Set(),
}

const idOf = (at: number, node = 1) => makeSegmentId({ ms: START + at, node, counter: 0 })

function mixed(at: number, fields: Partial<SizedRow> & { node?: number } = {}): SizedRow {
  const { node, ...rest } = fields
  const segmentId = idOf(at, node)
  const own = { streamId: 1 as StreamId, segmentId, eventCount: 1 }
  const sizes = { rawBytes: 1, payloadBytes: 1 }
  const segments = [{ ...own, firstEvent: 0 }]
  return { ...own, streamId: MIXED_STREAM, ...sizes, segments, ...rest }
}

function run(streamId: number, at: number, fields: Partial<StoredRun> = {}): StoredRun {
  const segmentId = idOf(at)
  const sizes = { eventCount: 1, rawBytes: 10, sentBytes: 10, storedBytes: 5 }
  const place = { rowId: segmentId, firstEvent: 0 }
  return { streamId: streamId as StreamId, segmentId, ...place, ...sizes, ...fields }
}

const lengths = (runs: readonly StoredRun[], between = NONE) =>
  planRows(runs, between).map((row) => row.runs.length)

test('rows are taken up to the bounds of bytes and of segments, one in any case', () => {
  const large = [0, 1, 2].map((at) => mixed(at, { rawBytes: SPLIT_BYTES_MAX / 2 }))
  assert.deepEqual(takeChunk(large, ALL_PASSED).rows, large.slice(0, 2))
  assert.equal(takeChunk(large, ALL_PASSED).through, large[1]!.segmentId)
  const one = mixed(0, { rawBytes: SPLIT_BYTES_MAX * 2 })
  assert.deepEqual(takeChunk([one, mixed(1)], ALL_PASSED).rows, [one])
  const segments: RowSegment[] = Array(SPLIT_SEGMENTS_MAX / 2).fill(mixed(0).segments[0])
  const many = [0, 1, 2].map((at) => mixed(at, { segments }))
  assert.deepEqual(takeChunk(many, ALL_PASSED).rows, many.slice(0, 2))
})

test('a row that waits for its node is passed by, and parts what lies around it', () => {
  const rows = [mixed(0, { node: 2 }), mixed(1), mixed(2), mixed(3, { node: 2 }), mixed(4)]
  const chunk = takeChunk(rows, ALL_PASSED)
  assert.deepEqual([chunk.rows, chunk.kind], [rows.slice(1, 3), 'merged'])
  assert.equal(chunk.through, rows[2]!.segmentId)
  const next = takeChunk(rows.slice(3), ALL_PASSED)
  assert.deepEqual([next.rows, next.through], [rows.slice(4), rows[4]!.segmentId])
  const waiting = takeChunk(rows.slice(3, 4), ALL_PASSED)
  assert.deepEqual([waiting.rows, waiting.through], [[], rows[3]!.segmentId])
})

test('only a checkpoint at the last run or behind it passes a row', () => {
  const [first] = mixed(0).segments
  const row = mixed(0, { segments: [first!, { ...first!, segmentId: idOf(5), firstEvent: 1 }] })
  const at = (ms: number) => ({ ...ALL_PASSED, checkpoints: new Map([[1, idOf(ms)]]) })
  assert.deepEqual(takeChunk([row], at(4)).rows, [])
  assert.deepEqual(takeChunk([row], at(5)).rows, [row])
})

test('a row that waited too long goes alone; a damaged one is said to be one', () => {
  const rows = [mixed(0), mixed(1, { node: 2 }), mixed(2)]
  const options = { ...ALL_PASSED, waitedBefore: idOf(9) }
  assert.deepEqual(takeChunk(rows, options).rows, rows.slice(0, 1))
  const alone = takeChunk(rows.slice(1), options)
  assert.deepEqual([alone.rows, alone.kind], [rows.slice(1, 2), 'alone'])
  const damaged = takeChunk(rows, { ...options, damaged: new Set([rows[0]!.segmentId]) })
  assert.deepEqual([damaged.rows, damaged.kind], [rows.slice(0, 1), 'damaged'])
})

test('runs of one stream are one row, by id, however they come', () => {
  const runs = [run(2, 1), run(1, 3), run(1, 0), run(2, 0)]
  const rows = planRows(runs, NONE)
  assert.deepEqual(
    rows.map(({ streamId, runs: own }) => [streamId, own.map((one) => one.segmentId)]),
    [
      [1, [idOf(0), idOf(3)]],
      [2, [idOf(0), idOf(1)]],
    ],
  )
})

test('a row ends at each of its bounds', () => {
  const many = (count: number, fields: Partial<StoredRun>) =>
    Array.from({ length: count }, (_, at) => run(1, at, fields))
  assert.deepEqual(lengths(many(COMPACT_MEMBERS_MAX + 2, {})), [COMPACT_MEMBERS_MAX, 2])
  const rawBytes = COMPACT_BYTES_MAX / 4
  assert.deepEqual(lengths(many(6, { rawBytes })), [4, 2])
  assert.deepEqual(lengths(many(2, { rawBytes: COMPACT_BYTES_MAX * 2 })), [1, 1])
  assert.deepEqual(lengths(many(6, { eventCount: SEGMENT_EVENTS_MAX / 4 })), [4, 2])
})

test('a row stays within one window of time', () => {
  assert.deepEqual(lengths([-2, -1, 0, 1, 2].map((at) => run(1, at))), [2, 3])
})

test('another row of the stream between two runs parts them; those of others do not', () => {
  const runs = [0, 10, 20, 30].map((at) => run(1, at))
  const between = (streamId: number, ...ats: number[]) =>
    new Map([[streamId as StreamId, ats.map((at) => idOf(at))]])
  assert.deepEqual(lengths(runs, between(1, 15)), [2, 2])
  assert.deepEqual(lengths(runs, between(1, 25, 5, 6, -1, 31)), [1, 2, 1])
  assert.deepEqual(lengths(runs, between(2, 15)), [4])
})

test('random runs are each in one row, in order, within the bounds', () => {
  let round = seed
  forMilliseconds(300, () => {
    const random = new Random(++round)
    let at = 0
    const runs = Array.from({ length: 1 + random.below(500) }, () => {
      at += 1 + random.below(random.chance(0.02) ? COMPACT_WINDOW_MS : 2_000)
      const rawBytes = 1 + random.below(random.chance(0.1) ? COMPACT_BYTES_MAX : 3_000)
      return run(1 + random.below(3), at, { rawBytes, eventCount: 1 + random.below(500) })
    })
    const rows = planRows(runs, NONE)
    const key = (one: StoredRun) => `${one.streamId} ${one.segmentId}`
    const placed = rows.flatMap((row) => row.runs)
    assert.deepEqual(placed.map(key).sort(), runs.map(key).sort(), `seed ${round}`)
    for (const row of rows) {
      const ids = row.runs.map((one) => one.segmentId)
      assert.ok(ids.every((id, index) => index === 0 || id > ids[index - 1]!))
      assert.equal(new Set(ids.map(windowOf)).size, 1)
      assert.ok(row.runs.every((one) => one.streamId === row.streamId))
      if (row.runs.length === 1) continue
      assert.ok(row.runs.reduce((sum, one) => sum + one.rawBytes, 0) <= COMPACT_BYTES_MAX)
      assert.ok(row.runs.reduce((sum, one) => sum + one.eventCount, 0) <= SEGMENT_EVENTS_MAX)
    }
  })
})
