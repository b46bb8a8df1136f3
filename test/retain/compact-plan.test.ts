/** Goal: only small neighbours are merged, within every bound, and no row twice or out of order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import {
  COMPACT_BYTES_MAX,
  COMPACT_MEMBERS_MAX,
  COMPACT_SMALL_BYTES_MAX,
  COMPACT_SMALL_EVENTS_MAX,
  COMPACT_WINDOW_MS,
  SEGMENT_EVENTS_MAX,
} from '../../src/limits.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { SizedRow } from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { planRuns } from '../../src/retain/compact-plan.ts'
import type { PlanOptions } from '../../src/retain/compaction-windows.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const ALL_PASSED: PlanOptions = {
  checkpoints: new Map([[1, makeSegmentId({ ms: 2 ** 41, node: 1, counter: 0 })]]),
  waitedBefore: 0n,
  hasMore: false,
}
const START = 1_000 * COMPACT_WINDOW_MS

function row(at: number, fields: Partial<SizedRow> & { node?: number } = {}): SizedRow {
  const { node = 1, ...rest } = fields
  const segmentId = makeSegmentId({ ms: START + at, node, counter: 0 })
  const streamId = 1 as StreamId
  const segments = [{ streamId, segmentId, eventCount: rest.eventCount ?? 1, firstEvent: 0 }]
  const sizes = { eventCount: 1, rawBytes: 100, payloadBytes: 50 }
  return { streamId, segmentId, ...sizes, segments, ...rest }
}

const rows = (count: number, fields: Partial<SizedRow> = {}) =>
  Array.from({ length: count }, (_, at) => row(at, fields))
const lengths = (all: readonly SizedRow[], options = ALL_PASSED) =>
  planRuns(all, options).runs.map((run) => run.length)

test('small neighbours are one run; one alone is none', () => {
  assert.deepEqual(lengths(rows(5)), [5])
  assert.deepEqual(lengths(rows(1)), [])
  assert.deepEqual(lengths([]), [])
})

test('a row that is large by bytes or by events parts two runs', () => {
  const large = [
    { rawBytes: COMPACT_SMALL_BYTES_MAX + 1 },
    { eventCount: COMPACT_SMALL_EVENTS_MAX + 1 },
  ]
  for (const fields of large) {
    const all = [row(0), row(1), row(2, fields), row(3), row(4), row(5)]
    assert.deepEqual(lengths(all), [2, 3])
  }
})

test('a run ends at each of its bounds', () => {
  const bytes = COMPACT_SMALL_BYTES_MAX
  const perRun = Math.floor(COMPACT_BYTES_MAX / bytes)
  assert.deepEqual(lengths(rows(perRun + 2, { rawBytes: bytes })), [perRun, 2])
  const events = COMPACT_SMALL_EVENTS_MAX
  const runEvents = Math.floor(SEGMENT_EVENTS_MAX / events)
  assert.deepEqual(lengths(rows(runEvents + 2, { eventCount: events })), [runEvents, 2])
  assert.deepEqual(lengths(rows(COMPACT_MEMBERS_MAX + 2)), [COMPACT_MEMBERS_MAX, 2])
})

test('a run stays within one window of time', () => {
  const all = [-2, -1, 0, 1, 2].map((at) => row(at))
  assert.deepEqual(lengths(all), [2, 3])
})

test('rows that overlap are not merged with each other', () => {
  const segments = [row(0), row(10)].flatMap((each) => each.segments)
  const wide = { ...row(0), segments }
  assert.deepEqual(lengths([wide, row(5), row(6), row(11)]), [3])
})

test('a row past its checkpoint ends the plan, or when it is old parts two runs', () => {
  const all = [row(0), row(1), row(2, { node: 2 }), row(3), row(4)]
  const waiting = planRuns(all, ALL_PASSED)
  assert.deepEqual(
    waiting.runs.map((run) => run.length),
    [2],
  )
  assert.deepEqual([waiting.nextFrom, waiting.isBlocked], [all[2]!.segmentId, true])
  const passedBy = planRuns(all, { ...ALL_PASSED, waitedBefore: all[3]!.segmentId })
  assert.deepEqual(
    passedBy.runs.map((run) => run.length),
    [2, 2],
  )
  assert.deepEqual([passedBy.nextFrom, passedBy.isBlocked], [undefined, false])
})

test('with more rows to come, the last run is left for the next look', () => {
  const { runs, nextFrom } = planRuns(rows(5), { ...ALL_PASSED, hasMore: true })
  assert.deepEqual([runs, nextFrom], [[], row(0).segmentId])
})

test('runs of random rows are in order, without gaps, and within the bounds', () => {
  let round = seed
  forMilliseconds(300, () => {
    const random = new Random(++round)
    let at = 0
    const all = Array.from({ length: random.below(300) }, () => {
      at += random.below(random.chance(0.05) ? COMPACT_WINDOW_MS : 5_000)
      const rawBytes = random.below(random.chance(0.3) ? COMPACT_SMALL_BYTES_MAX * 1.2 : 1_000)
      return row(++at, { rawBytes, eventCount: 1 + random.below(1_100) })
    })
    const places = new Map(all.map((each, index) => [each.segmentId, index]))
    let last = -1
    for (const run of planRuns(all, ALL_PASSED).runs) {
      const indexes = run.map((each) => places.get(each.segmentId) as number)
      assert.ok(indexes.length > 1 && indexes[0]! > last, `seed ${round}`)
      assert.deepEqual(
        indexes,
        indexes.map((_, i) => indexes[0]! + i),
        `seed ${round}`,
      )
      last = indexes.at(-1)!
      assert.ok(run.reduce((sum, each) => sum + each.rawBytes, 0) <= COMPACT_BYTES_MAX)
      assert.ok(run.reduce((sum, each) => sum + each.eventCount, 0) <= SEGMENT_EVENTS_MAX)
      const windows = run.map((each) => windowOf(each.segmentId))
      assert.equal(new Set(windows).size, 1)
    }
  })
})

function windowOf(id: SegmentId): bigint {
  return (id >> 21n) / BigInt(COMPACT_WINDOW_MS)
}
