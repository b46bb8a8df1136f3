/** Goal: the runs of a mixed segment are what they were, and nothing else passes for them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeRuns, encodeRuns, type MixedRun } from '../../src/model/mixed-runs.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const run = fc.record({
  step: fc.oneof(fc.constant(1n), fc.bigInt({ min: 1n, max: 1n << 40n })),
  streamId: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  eventCount: fc.oneof(fc.integer({ min: 1, max: 8_192 }), fc.constantFrom(127, 128, 2 ** 31 - 1)),
})
const runs = fc
  .tuple(fc.bigInt({ min: 0n, max: 1n << 62n }), fc.array(run, { minLength: 1, maxLength: 20 }))
  .map(([first, steps]) => {
    let id = first
    return steps.map(({ step, streamId, eventCount }, index): MixedRun => {
      if (index > 0) id += step
      return { streamId: streamId as StreamId, segmentId: id as SegmentId, eventCount }
    })
  })

test('what was encoded comes back', () => {
  fc.assert(
    fc.property(runs, (all) => {
      assert.deepEqual(decodeRuns(encodeRuns(all), all[0]!.segmentId), all)
    }),
    fuzzed(seed, 500, 3_000),
  )
})

test('runs that are cut short are not taken for fewer', () => {
  const id = (5n << 21n) as SegmentId
  const all = [300, 301].map((streamId, index) => {
    const segmentId = (id + BigInt(index) * 1_000n) as SegmentId
    return { streamId: streamId as StreamId, segmentId, eventCount: 500 }
  })
  const bytes = encodeRuns(all)
  const whole = encodeRuns(all.slice(0, 1)).length
  for (let length = 1; length < bytes.length; length++) {
    if (length === whole) continue
    assert.throws(() => decodeRuns(bytes.subarray(0, length), id), /cut short/)
  }
})
