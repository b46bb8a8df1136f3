/** Goal: a COMMIT whose outcome is not known is looked up for COMMIT_RESOLVE_MS_MAX, no longer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Committer } from '../../src/commit/committer.ts'
import { OutcomeUnknownError } from '../../src/errors.ts'
import { COMMIT_RESOLVE_MS_MAX } from '../../src/limits.ts'
import { SegmentIdGenerator } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { virtualTime } from '../support/virtual-time.ts'
import { someSegment } from './some-segments.ts'

for (const [awayMs, isFound] of [
  [COMMIT_RESOLVE_MS_MAX, true],
  [COMMIT_RESOLVE_MS_MAX + 2_000, false],
] as const) {
  test(`away for ${awayMs} ms: the outcome is ${isFound ? 'found out' : 'given up'}`, async (t) => {
    const time = virtualTime(t)
    const committer = new Committer({
      store: {
        write: async () => ({ kind: 'unknown', message: 'connection lost' }),
        wasCommitted: async () => {
          if (time.nowMs < awayMs) throw new Error('away')
          return true
        },
      },
      ids: new SegmentIdGenerator(3, () => 1_000),
      forward: () => undefined,
      observer: { onGroup: () => undefined, onRetry: assert.fail, onUnknown: () => undefined },
    })
    const results: unknown[] = []
    let atMs = 0
    committer
      .submit(1 as StreamId, [someSegment()])
      .then(
        () => 'acknowledged',
        (cause: unknown) => cause,
      )
      .then((result) => {
        results.push(result)
        atMs = time.nowMs
      }, assert.fail)
    await time.pass(COMMIT_RESOLVE_MS_MAX - 1)
    assert.equal(results.length, 0, 'it is still looked up')
    await time.pass(5_000)
    if (isFound) assert.deepEqual(results, ['acknowledged'])
    else
      assert.ok(
        results.every((one) => one instanceof OutcomeUnknownError),
        String(results),
      )
    assert.equal(results.length, 1)
    assert.ok(atMs <= COMMIT_RESOLVE_MS_MAX + 1_000, `after ${atMs} ms`)
  })
}
