/**
 * Goal: what waits of a busy stream is spooled, its buffers are free at once, and it reaches the
 * projection exactly once, whatever happens to the spool.
 * Method: stores in memory whose spools have as much room as a script says; a released buffer is
 * overwritten.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { MATERIALIZE_BUFFER_BYTES_MAX, MATERIALIZE_INSERT_ROWS } from '../../src/limits.ts'
import { SPOOL_BYTES_MAX, SPOOL_BYTES_MIN } from '../../src/materialize/live-buffers.ts'
import { SPOOL_INSERT_BYTES } from '../../src/materialize/pick-insert.ts'
import { SPOOL_INSERT_ROWS } from '../../src/store/projection/projection-store.ts'
import { eventually } from '../store/temporary.ts'
import { testSeed } from '../support/fuzzing.ts'
import { FakeStores } from './fake-stores.ts'
import { assertExactlyOnce, isComplete, setUp } from './materializer-harness.ts'

/** Two of them are spooled. */
const BLOCK_BYTES = SPOOL_BYTES_MIN / 2 - 24

function spooling(room = Number.POSITIVE_INFINITY, delayMs = 60_000) {
  const stores = new FakeStores()
  stores.spoolBytes = () => room
  stores.blockBytes = BLOCK_BYTES
  return { stores, ...setUp(stores, delayMs) }
}

/** Inserts of spools do not end, as where ClickHouse is slow, until what is returned is called. */
function holdSpools(stores: FakeStores): () => void {
  let goOn = () => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const tryOpenSpool = stores.tryOpenSpool.bind(stores)
  stores.tryOpenSpool = (streamId) => {
    const spool = tryOpenSpool(streamId)
    return spool && { ...spool, insert: (rows) => held.then(() => spool.insert(rows)) }
  }
  return goOn
}

/** Once inserts go on, what was dropped is read again; every segment is there once. */
async function assertRecovers(
  { stores, materializer, isLive }: ReturnType<typeof spooling>,
  goOn: () => void,
): Promise<void> {
  stores.blockBytes = 0
  goOn()
  await isLive()
  await materializer.stop(2_000)
  assertExactlyOnce(stores)
  assert.equal(stores.openSpools, 0)
}

test('from SPOOL_BYTES_MIN on, blocks are spooled and their buffers come back', async () => {
  const { stores, materializer, isLive, released } = spooling()
  materializer.start()
  await isLive()
  materializer.add({ segments: [stores.commit(1), stores.commit(2)] })
  assert.deepEqual([released.length, stores.openSpools], [0, 0])
  materializer.add({ segments: [stores.commit(1)] })
  assert.deepEqual([released.length, stores.openSpools], [2, 1])
  materializer.add({ segments: [stores.commit(1)] })
  assert.deepEqual([released.length, stores.openSpools], [2, 1], 'it waits for company')
  materializer.add({ segments: [stores.commit(1), stores.commit(1)] })
  assert.deepEqual([released.length, stores.openSpools], [4, 1])
  assert.equal(materializer.bufferBytes, 3 * SPOOL_BYTES_MIN)
  await materializer.stop(2_000)
  assertExactlyOnce(stores)
  assert.deepEqual([stores.inserts.sort(), stores.openSpools], [[1, 5], 0])
  assert.deepEqual([released.length, materializer.bufferBytes], [6, 0])
})

test('mixed blocks are not spooled', async () => {
  const { stores, materializer, isLive, released } = spooling()
  materializer.start()
  await isLive()
  for (let i = 0; i < 4; i++) materializer.add({ segments: [stores.commitMixed([[1, 1]])] })
  assert.deepEqual([released.length, stores.openSpools], [0, 0])
  await materializer.stop(2_000)
  assertExactlyOnce(stores)
})

test('a spool is inserted at SPOOL_INSERT_ROWS or SPOOL_INSERT_BYTES', async () => {
  for (const rows of [MATERIALIZE_INSERT_ROWS / 2, 1]) {
    const { stores, materializer, isLive } = spooling()
    materializer.start()
    await isLive()
    stores.rowsPerBlock = rows
    stores.blockBytes = rows === 1 ? SPOOL_INSERT_BYTES / 4 - 24 : SPOOL_BYTES_MIN
    const blocks = rows === 1 ? 4 : SPOOL_INSERT_ROWS / rows
    for (let i = 1; i < blocks; i++) materializer.add({ segments: [stores.commit(1)] })
    await new Promise((resolve) => setTimeout(resolve, 250))
    assert.deepEqual(stores.inserts, [])
    materializer.add({ segments: [stores.commit(1)] })
    await eventually('inserted', isComplete(stores))
    assert.deepEqual(stores.inserts, [blocks])
    await materializer.stop(2_000)
  }
})

test('past SPOOL_BYTES_MAX what waits is dropped and read again', async () => {
  const setup = spooling()
  const { stores, materializer, isLive, modes, released } = setup
  materializer.start()
  await isLive()
  const goOn = holdSpools(stores)
  const bytes = SPOOL_BYTES_MAX / 16
  stores.blockBytes = bytes - 24
  for (let i = 0; i < 16; i++) materializer.add({ segments: [stores.commit(1)] })
  assert.deepEqual([released.length, materializer.bufferBytes], [16, SPOOL_BYTES_MAX])
  assert.deepEqual(modes, ['live'])
  materializer.add({ segments: [stores.commit(1)] })
  assert.deepEqual(modes, ['live', 'catch-up'])
  assert.deepEqual([released.length, materializer.bufferBytes], [17, 0])
  await assertRecovers(setup, goOn)
})

test('blocks kept beside spools are bounded, over all streams', async () => {
  const setup = spooling()
  const { stores, materializer, isLive, modes } = setup
  materializer.start()
  await isLive()
  const goOn = holdSpools(stores)
  stores.blockBytes = 3_000_000
  let most = 0
  for (let i = 0; modes.length === 1 && i < 1_000; i++) {
    materializer.add({ segments: [stores.commit(1 + (i % 8))] })
    most = Math.max(most, materializer.bufferBytes)
  }
  assert.deepEqual(modes, ['live', 'catch-up'])
  assert.ok(most > SPOOL_BYTES_MAX * 0.9 && most <= SPOOL_BYTES_MAX + MATERIALIZE_BUFFER_BYTES_MAX)
  await assertRecovers(setup, goOn)
})

test('a spool without room: what waits is read again', async () => {
  const { stores, materializer, isLive, modes, errors } = spooling(3 * SPOOL_BYTES_MIN)
  materializer.start()
  await isLive()
  for (let i = 0; i < 6; i++) materializer.add({ segments: [stores.commit(1), stores.commit(2)] })
  assert.deepEqual(modes, ['live'])
  materializer.add({ segments: [stores.commit(1), stores.commit(1)] })
  assert.deepEqual(modes, ['live', 'catch-up'])
  const kept = 3 * SPOOL_BYTES_MIN // Of the other one.
  assert.deepEqual([stores.openSpools, materializer.bufferBytes, errors], [1, kept, [1]])
  stores.spoolBytes = () => Number.POSITIVE_INFINITY
  await isLive()
  await materializer.stop(2_000)
  assertExactlyOnce(stores)
})

test('a spool that has no room for the last blocks is not inserted', async () => {
  const { stores, materializer, isLive, modes } = spooling(SPOOL_BYTES_MIN)
  materializer.start()
  await isLive()
  for (let i = 0; i < 3; i++) materializer.add({ segments: [stores.commit(1)] })
  assert.deepEqual([stores.openSpools, modes.length], [1, 1])
  const stopped = materializer.stop(2_000)
  await eventually('the spool is given up', () => stores.openSpools === 0)
  await stopped
  assert.deepEqual(stores.inserts, [])
})

test('spools of random room, stores that fail at random: exactly once', async (t) => {
  const seed = testSeed()
  t.diagnostic(`SLUICE_TEST_SEED=${seed}`)
  const random = new Random(seed)
  const { stores, materializer } = spooling(0, 20)
  stores.spoolBytes = () => random.below(16 * SPOOL_BYTES_MIN)
  stores.fate = () => (random.chance(0.9) ? 'ok' : random.chance(0.5) ? 'lost' : 'fails')
  materializer.start()
  for (let i = 0; i < 60; i++) {
    materializer.add({ segments: [stores.commit(1), stores.commit(1 + random.below(2))] })
    await new Promise((resolve) => setTimeout(resolve, random.below(16)))
  }
  stores.fate = () => 'ok'
  await eventually('all are projected', isComplete(stores))
  await materializer.stop(2_000)
  assertExactlyOnce(stores)
  assert.equal(stores.openSpools, 0)
})
