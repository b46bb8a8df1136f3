/** Goal: the members of a merged row are what they were, and nothing else passes for them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { COMPACT_MEMBERS_MAX, COMPACT_WINDOW_MS } from '../../src/limits.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import {
  decodeMembers,
  encodeMembers,
  type SegmentMember,
} from '../../src/model/segment-members.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const SPAN = BigInt(COMPACT_WINDOW_MS) << 21n
const members = fc
  .tuple(
    fc.bigInt({ min: 0n, max: (1n << 63n) - SPAN * 20n }),
    fc.array(
      fc.tuple(
        fc.oneof(fc.bigInt({ min: 1n, max: SPAN }), fc.constantFrom(1n, 127n, 128n, SPAN)),
        fc.oneof(fc.integer({ min: 1, max: 8_192 }), fc.constantFrom(127, 128, 2 ** 31 - 1)),
      ),
      { minLength: 1, maxLength: 20 },
    ),
  )
  .map(([first, steps]) => {
    let id = first
    return steps.map(([step, eventCount], index): SegmentMember => {
      if (index > 0) id += step
      return { segmentId: id as SegmentId, eventCount }
    })
  })

test('what was encoded comes back', () => {
  fc.assert(
    fc.property(members, (all) => {
      assert.deepEqual(decodeMembers(encodeMembers(all), all[0]!.segmentId), all)
    }),
    fuzzed(seed, 2_000, 1_000),
  )
})

test('members that are cut short are not taken for fewer', () => {
  const id = 5n as SegmentId
  const bytes = encodeMembers([
    { segmentId: id, eventCount: 300 },
    { segmentId: (id + 300n) as SegmentId, eventCount: 1 },
  ])
  for (const length of [1, 2, bytes.length - 1, bytes.length - 2]) {
    assert.throws(() => decodeMembers(bytes.subarray(0, length), id), /cut short/)
  }
})

test('a full row of single events costs some kilobytes', () => {
  const all = Array.from({ length: COMPACT_MEMBERS_MAX }, (_, n) => {
    return { segmentId: (BigInt(n) * (SPAN / 1_024n)) as SegmentId, eventCount: 1 }
  })
  assert.ok(encodeMembers(all).length <= 8 * COMPACT_MEMBERS_MAX)
})
