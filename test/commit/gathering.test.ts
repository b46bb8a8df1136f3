/**
 * Goal: while the pool is busy, a small group waits for what is about to come, but not for long.
 * Method: a raw store that notes when it was written to; a switch says whether more is coming.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { COMMIT_GATHER_BYTES, COMMIT_GATHER_MS_MAX, Committer } from '../../src/commit/committer.ts'
import { SegmentIdGenerator } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { someSegment } from './some-segments.ts'

const STREAM = 1 as StreamId
const turn = () => new Promise((resolve) => setImmediate(resolve))

function setUp() {
  const pool = { isBusy: true }
  /** Rows of each transaction. */
  const groups: number[] = []
  const committer = new Committer({
    store: {
      write: async (rows) => void groups.push(rows.length),
      wasCommitted: async () => false,
    },
    ids: new SegmentIdGenerator(1, () => 1_000),
    forward: () => undefined,
    observer: { onGroup: () => undefined, onRetry: () => undefined, onUnknown: () => undefined },
    isMoreComing: () => pool.isBusy,
  })
  return { pool, groups, committer }
}

test('a small group waits for the next segment when every worker is busy', async () => {
  const { pool, groups, committer } = setUp()
  const first = committer.submit(STREAM, [someSegment(10)])
  await turn()
  assert.deepEqual(groups, [])
  pool.isBusy = false // As it is when its last task has become a segment.
  await Promise.all([first, committer.submit(STREAM, [someSegment(10)])])
  assert.deepEqual(groups, [2])
})

test('it waits COMMIT_GATHER_MS_MAX at most', async () => {
  const { groups, committer } = setUp()
  const startedAt = performance.now()
  await committer.submit(STREAM, [someSegment(10)])
  const waitedMs = performance.now() - startedAt
  assert(waitedMs > COMMIT_GATHER_MS_MAX / 2)
  assert.deepEqual(groups, [1])
  // Segment after segment: each ends the wait, none makes it longer.
  const many = Array.from({ length: 60 }, async (_, i) => {
    await sleep(i * 4)
    await committer.submit(STREAM, [someSegment(10)])
  })
  await Promise.all(many)
  assert(groups.length > 2, `${groups}`)
})

test('a group of COMMIT_GATHER_BYTES, or an idle pool, does not wait', async () => {
  const { pool, groups, committer } = setUp()
  const large = committer.submit(STREAM, [someSegment(COMMIT_GATHER_BYTES)])
  assert.deepEqual(groups, [1])
  await large
  pool.isBusy = false
  const small = committer.submit(STREAM, [someSegment(10)])
  await turn()
  assert.deepEqual(groups, [1, 1])
  await small
})

test('stopping ends the wait, and what waited is durable', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] }) // The wait ends for no other reason.
  const { groups, committer } = setUp()
  const submitted = committer.submit(STREAM, [someSegment(10)])
  await turn()
  await committer.stop()
  assert.deepEqual(groups, [1])
  await submitted
})
