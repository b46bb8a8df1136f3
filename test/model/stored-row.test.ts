/**
 * Goal: the segments of a merged and of a mixed row are what they were, and nothing else passes for
 * them; those that lie side by side are read at once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { COMPACT_MEMBERS_MAX, COMPACT_WINDOW_MS } from '../../src/limits.ts'
import { MIXED_STREAM, type MixedRun } from '../../src/model/mixed-runs.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import {
  encodeMembers,
  placeSegments,
  type RowSegment,
  sideBySide,
  storedRow,
} from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const SPAN = BigInt(COMPACT_WINDOW_MS) << 21n
const STREAM = 300 as StreamId
const step = fc.record({
  step: fc.oneof(fc.bigInt({ min: 1n, max: SPAN }), fc.constantFrom(1n, 127n, 128n, SPAN)),
  streamId: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  eventCount: fc.oneof(fc.integer({ min: 1, max: 8_192 }), fc.constantFrom(127, 128, 2 ** 31 - 1)),
})
const first = fc.bigInt({ min: 0n, max: (1n << 63n) - SPAN * 20n })
const segments = (isMixed: boolean) =>
  fc.tuple(first, fc.array(step, { minLength: 1, maxLength: 20 })).map(([first, steps]) => {
    let id = first
    return steps.map(({ step, streamId, eventCount }, index): MixedRun => {
      if (index > 0) id += step
      const of = isMixed ? (streamId as StreamId) : STREAM
      return { streamId: of, segmentId: id as SegmentId, eventCount }
    })
  })

/** As the row comes back; `cut`: how many bytes of its members are lost. */
function rowOf(streamId: StreamId, all: readonly MixedRun[], cut = 0) {
  const bytes = encodeMembers(streamId, all)
  return storedRow({
    stream_id: streamId,
    segment_id: String(all[0]!.segmentId),
    event_count: all.reduce((sum, { eventCount }) => sum + eventCount, 0),
    members: bytes.subarray(0, bytes.length - cut),
  })
}

for (const streamId of [STREAM, MIXED_STREAM]) {
  const isMixed = streamId === MIXED_STREAM
  const name = isMixed ? 'mixed' : 'merged'
  test(`what a ${name} row was made of comes back, each with its place`, () => {
    fc.assert(
      fc.property(segments(isMixed), (all) => {
        assert.deepEqual(rowOf(streamId, all).segments, placeSegments(all))
      }),
      fuzzed(seed, 2_000, 3_000),
    )
  })

  test(`segments of a ${name} row that are cut short are not taken for fewer`, () => {
    const id = 5n << 21n
    const all = [0n, 1_000n].map((step, i) => {
      const segmentId = (id + step) as SegmentId
      return { streamId: (isMixed ? STREAM + i : STREAM) as StreamId, segmentId, eventCount: 500 }
    })
    const whole = encodeMembers(streamId, all.slice(0, 1)).length
    const { length } = encodeMembers(streamId, all)
    for (let cut = 1; cut < length; cut++) {
      if (length - cut === whole) continue
      assert.throws(() => rowOf(streamId, all, cut), /cut short/)
    }
  })
}

test('a row without members is one segment', () => {
  const row = storedRow({ stream_id: 7, segment_id: '99', event_count: 3, members: null })
  const own = { streamId: 7, segmentId: 99n, eventCount: 3 }
  assert.deepEqual(row, { ...own, segments: [{ ...own, firstEvent: 0 }] })
})

test('a full row of single events costs some kilobytes', () => {
  const all = Array.from({ length: COMPACT_MEMBERS_MAX }, (_, n) => {
    const segmentId = (BigInt(n) * (SPAN / 1_024n)) as SegmentId
    return { streamId: STREAM, segmentId, eventCount: 1 }
  })
  assert.ok(encodeMembers(STREAM, all).length <= 8 * COMPACT_MEMBERS_MAX)
})

test('segments of a row with nothing between them are one piece', () => {
  const at = (firstEvent: number, eventCount: number): RowSegment => {
    return { streamId: STREAM, segmentId: BigInt(firstEvent) as SegmentId, firstEvent, eventCount }
  }
  const [a, b, behind] = [at(0, 2), at(2, 3), at(6, 1)]
  assert.deepEqual(sideBySide([a, b, behind]), [[a, b], [behind]])
  assert.deepEqual(sideBySide([b]), [[b]])
  assert.deepEqual(sideBySide([]), [])
})
