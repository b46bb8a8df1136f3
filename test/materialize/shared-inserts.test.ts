/**
 * Goal: mixed segments reach the shared table in few inserts of bounded size, each segment once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MATERIALIZE_INSERT_ROWS } from '../../src/limits.ts'
import { eventually } from '../store/temporary.ts'
import { FakeStores } from './fake-stores.ts'
import { assertExactlyOnce, isComplete, setUp } from './materializer-harness.ts'

test('live: a mixed segment goes to the shared table, and counts by its last run', async () => {
  const stores = new FakeStores()
  const { materializer, isLive, released, modes } = setUp(stores)
  const early = stores.commitMixed([
    [1, 1],
    [2, 1],
  ])
  materializer.start()
  await isLive()
  // Commit tells of it after catch-up has brought it in.
  materializer.add({ segments: [early] })
  assert.deepEqual([materializer.bufferBytes, released.length], [0, 1])
  const first = stores.commitMixed([
    [1, 3],
    [2, 1],
  ])
  const second = stores.commitMixed([[2, 2]])
  materializer.add({ segments: [first, second, stores.commit(2)] })
  await eventually('inserted', isComplete(stores))
  assertExactlyOnce(stores)
  assert.deepEqual([stores.inserts, stores.sharedInserts], [[1], [1, 2]])
  const last = stores.commitMixed([
    [1, 1],
    [2, 1],
  ])
  materializer.add({ segments: [last] })
  const lastRun = last.runs![1]!.segmentId
  await eventually('checkpoint', () => stores.checkpoints.at(-1) === lastRun)
  assert.deepEqual(modes, ['live'])
  await materializer.stop(1_000)
  assert.equal(released.length, 5)
  assertExactlyOnce(stores)
})

test('blocks that come while inserts are slow are inserted in bounded pieces', async () => {
  const stores = new FakeStores()
  const { materializer, isLive } = setUp(stores)
  materializer.start()
  await isLive()
  const half = MATERIALIZE_INSERT_ROWS / 2
  stores.rowsPerBlock = MATERIALIZE_INSERT_ROWS / 2
  for (let i = 0; i < 5; i++) {
    const mixed = stores.commitMixed([
      [1, half / 2],
      [2, half / 2],
    ])
    materializer.add({ segments: [mixed, stores.commit(3)] })
  }
  await eventually('inserted', isComplete(stores))
  assertExactlyOnce(stores)
  assert.deepEqual(stores.sharedInserts.sort(), [1, 2, 2])
  assert.deepEqual(stores.inserts.sort(), [1, 2, 2])
  await materializer.stop(1_000)
})
