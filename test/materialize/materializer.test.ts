/**
 * Goal: every committed segment reaches the projection exactly once, and the checkpoint never
 * passes one that has not, whatever the stores do.
 * Method: stores in memory that fail by script or at random, inserts of unknown outcome included.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import {
  MATERIALIZE_BUFFER_BYTES_MAX,
  MATERIALIZE_INSERT_BYTES,
  MATERIALIZE_INSERT_ROWS,
  REPLAY_SEGMENTS_MAX,
} from '../../src/limits.ts'
import { Materializer } from '../../src/materialize/materializer.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import { eventually } from '../store/temporary.ts'
import { testSeed } from '../support/fuzzing.ts'
import { FakeStores, type Fate } from './fake-stores.ts'
import { assertExactlyOnce, isComplete, setUp } from './materializer-harness.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

test('it starts by catching up, REPLAY_SEGMENTS_MAX at a time, and then goes live', async () => {
  const stores = new FakeStores()
  for (let i = 0; i < 2 * REPLAY_SEGMENTS_MAX + 5; i++) stores.commit(1 + (i % 3))
  const { materializer, isLive, replayed } = setUp(stores)
  assert.equal(materializer.oldestPendingMs, undefined)
  materializer.start()
  await isLive()
  assertExactlyOnce(stores)
  assert.equal(replayed(), stores.raw.length)
  assert.equal(stores.inserts.length, 3, 'one insert a stream')
  await materializer.stop(1_000)
  assert.equal(stores.checkpoints.at(-1), stores.raw.at(-1)?.segmentId)
})

test('catching up inserts only missing segments', async () => {
  const stores = new FakeStores()
  for (let i = 0; i < 10; i++) stores.commit(1)
  stores.projected.push(...stores.raw.slice(0, 4), ...stores.raw.slice(6, 8))
  const { materializer, isLive, replayed } = setUp(stores)
  materializer.start()
  await isLive()
  assertExactlyOnce(stores)
  assert.equal(replayed(), 4)
  await materializer.stop(1_000)
})

test('live: blocks of a stream wait, share one insert, and come back', async () => {
  const stores = new FakeStores()
  const { materializer, isLive, released, modes } = setUp(stores, 150)
  materializer.start()
  await isLive()
  for (let i = 0; i < 6; i++) materializer.add({ segments: [stores.commit(1), stores.commit(2)] })
  assert.equal(materializer.bufferBytes, 12 * 24)
  assert.equal(materializer.oldestPendingMs, 1_000)
  await eventually('inserted', isComplete(stores))
  assert.deepEqual(stores.inserts, [6, 6])
  await eventually('released', () => released.length === 12)
  assert.deepEqual([materializer.bufferBytes, materializer.oldestPendingMs], [0, undefined])
  await eventually('checkpoint', () => stores.checkpoints.at(-1) === stores.raw.at(-1)?.segmentId)
  assert.deepEqual(modes, ['live'])
  assertExactlyOnce(stores)
  await materializer.stop(1_000)
})

test('what is inserted is known at once, before the checkpoint is recorded', async () => {
  const stores = new FakeStores()
  const { materializer, isLive } = setUp(stores, 150)
  materializer.start()
  await isLive()
  stores.fate = (operation) => (operation === 'writeCheckpoint' ? 'fails' : 'ok')
  const segments = [stores.commit(1), stores.commit(2), stores.commit(1)]
  const before = materializer.projected
  materializer.add({ segments })
  assert.equal(materializer.projected, before)
  await eventually('inserted', () => materializer.projected === segments[2]!.segmentId)
  assert.equal(stores.projected.length, 3)
  assert.ok((stores.checkpoints.at(-1) ?? 0n) < segments[2]!.segmentId)
  await materializer.stop(300)
})

for (const [name, rows, bytes, blocks] of [
  ['MATERIALIZE_INSERT_ROWS', MATERIALIZE_INSERT_ROWS / 2, 0, 2],
  ['MATERIALIZE_INSERT_BYTES', 1, MATERIALIZE_INSERT_BYTES / 4, 4],
] as const) {
  test(`${name} in one stream are inserted before their time`, async () => {
    const stores = new FakeStores()
    const { materializer, isLive } = setUp(stores, 60_000)
    materializer.start()
    await isLive()
    stores.rowsPerBlock = rows
    stores.blockBytes = bytes
    materializer.add({ segments: [stores.commit(2)] })
    for (let i = 0; i < blocks; i++) materializer.add({ segments: [stores.commit(1)] })
    await eventually('the full one is inserted', () => stores.projected.length === blocks, 5_000)
    assert(stores.projected.every(({ streamId }) => streamId === 1))
    await materializer.stop(1_000)
    assertExactlyOnce(stores)
  })
}

test('past MATERIALIZE_BUFFER_BYTES_MAX the largest stream is dropped and read again', async () => {
  const stores = new FakeStores()
  const { materializer, isLive, modes, released } = setUp(stores, 60_000)
  materializer.start()
  await isLive()
  stores.blockBytes = MATERIALIZE_BUFFER_BYTES_MAX / 4 - 24
  for (const stream of [1, 2, 3, 2]) materializer.add({ segments: [stores.commit(stream)] })
  assert.equal(materializer.bufferBytes, MATERIALIZE_BUFFER_BYTES_MAX)
  stores.blockBytes = 0
  materializer.add({ segments: [stores.commit(5), stores.commit(6), stores.commit(2)] })
  assert.deepEqual([materializer.lagging, modes.at(-1)], [1, 'catch-up'])
  assert.equal(materializer.bufferBytes, MATERIALIZE_BUFFER_BYTES_MAX / 2 + 2 * 24)
  assert.equal(released.length, 3)
  await isLive()
  await materializer.stop(1_000)
  assertExactlyOnce(stores)
})

test('a segment without a block is read from the raw store, and the lag shows it', async () => {
  const stores = new FakeStores()
  const { materializer, isLive, modes, released, replayed } = setUp(stores, 60_000)
  stores.commit(1, 1_000)
  materializer.start()
  await isLive()
  const [live, bare, later] = [5_000, 6_000, 7_000].map((ms) => stores.commit(1, ms))
  materializer.add({ segments: [live!] })
  materializer.add({ segments: [{ ...bare!, block: undefined }, later!] })
  assert.deepEqual([materializer.bufferBytes, modes.at(-1)], [0, 'catch-up'])
  assert.equal(materializer.oldestPendingMs, 5_000, 'not since the checkpoint')
  assert.equal(released.length, 2)
  assert.ok(stores.checkpoints.every((id) => id < live!.segmentId))
  materializer.add({ segments: [{ ...stores.commit(1, 8_000), block: undefined }] })
  assert.equal(materializer.oldestPendingMs, 5_000)
  await isLive()
  await eventually('all are there', isComplete(stores))
  assertExactlyOnce(stores)
  assert.equal(replayed(), 5)
  assert.equal(materializer.oldestPendingMs, undefined)
  materializer.add({ segments: [{ ...stores.commit(1, 9_000), block: undefined }] })
  assert.equal(materializer.oldestPendingMs, 9_000, 'though nothing came for a second before it')
  await materializer.stop(1_000)
  assertExactlyOnce(stores)
})

test('an insert whose outcome is unknown is looked up, not repeated', async () => {
  const stores = new FakeStores()
  const { materializer, isLive, modes, errors, released } = setUp(stores)
  materializer.start()
  await isLive()
  let fates: Fate[] = ['lost']
  stores.fate = (operation) => (operation === 'insert' ? (fates.shift() ?? 'ok') : 'ok')
  materializer.add({ segments: [stores.commit(1), stores.commit(1)] })
  await eventually('back to live', () => modes.join() === 'live,catch-up,live')
  assertExactlyOnce(stores)
  assert.deepEqual([errors, stores.inserts], [[1], [2]])
  assert.equal(released.length, 0, 'nobody knows who still reads them')
  fates = ['fails', 'fails']
  materializer.add({ segments: [stores.commit(1)] })
  await eventually('inserted', isComplete(stores))
  assertExactlyOnce(stores)
  assert.deepEqual(errors, [1, 1, 2])
  await materializer.stop(1_000)
})

test('while a store is away it tells so, and goes on by itself', async () => {
  const stores = new FakeStores()
  const { materializer, isLive, errors } = setUp(stores)
  materializer.start()
  await isLive()
  stores.fate = (operation) => (operation === 'writeCheckpoint' ? 'ok' : 'fails')
  materializer.add({ segments: [stores.commit(1, 5_000)] })
  await eventually('three failures', () => errors.length >= 3)
  assert.deepEqual(errors.slice(0, 3), [1, 2, 3])
  assert.notEqual(materializer.oldestPendingMs, undefined)
  stores.fate = () => 'ok'
  await isLive()
  assertExactlyOnce(stores)
  assert.equal(materializer.oldestPendingMs, undefined)
  await materializer.stop(1_000)
})

test('a commit that was not handed on is found by catch-up', async () => {
  const stores = new FakeStores()
  const { materializer, isLive } = setUp(stores)
  materializer.start()
  await isLive()
  stores.commit(1)
  materializer.mustCatchUp()
  materializer.add({ segments: [stores.commit(2)] })
  await eventually('both are there', isComplete(stores))
  assertExactlyOnce(stores)
  await materializer.stop(1_000)
})

test('a call for catch-up that comes while catch-up looks is not forgotten', async () => {
  const stores = new FakeStores()
  const { materializer } = setUp(stores)
  const readAfter = stores.readAfter.bind(stores)
  let isFirst = true
  stores.readAfter = async (after, limit) => {
    const found = await readAfter(after, limit)
    if (isFirst) {
      isFirst = false
      stores.commit(1) // Not in what was found, and not handed on.
      materializer.mustCatchUp()
    }
    return found
  }
  materializer.start()
  await eventually('it is there', () => stores.projected.length === 1)
  assertExactlyOnce(stores)
  await materializer.stop(1_000)
})

test('stop inserts what waits and records the checkpoint', async () => {
  const stores = new FakeStores()
  const { materializer, isLive } = setUp(stores, 60_000)
  materializer.start()
  await isLive()
  const segments = [stores.commit(1), stores.commit(2), stores.commit(1)]
  materializer.add({ segments })
  await materializer.stop(2_000)
  assertExactlyOnce(stores)
  assert.equal(stores.checkpoints.at(-1), segments.at(-1)?.segmentId)
})

test('stop does not wait longer than it may', async () => {
  const stores = new FakeStores()
  const { materializer, isLive } = setUp(stores, 60_000)
  materializer.start()
  await isLive()
  stores.insert = () => new Promise(() => undefined)
  materializer.add({ segments: [stores.commit(1)] })
  const startedAt = performance.now()
  const keepAlive = setTimeout(() => undefined, 20_000)
  await materializer.stop(100)
  clearTimeout(keepAlive)
  assert(performance.now() - startedAt < 20_000)
})

/** One life of the service: commits at random until `until`, stores fail at random. */
async function live(stores: FakeStores, random: Random, checkpoint: SegmentId): Promise<void> {
  const observer = {
    onInsert: () => undefined,
    onReplayed: () => undefined,
    onError: () => undefined,
    onModeChange: () => undefined,
  }
  const failing = random.unit() * 0.3
  stores.fate = (operation) => {
    const hasPassed = stores.checkpoints.at(-1) ?? 0n
    const behind = stores.committed.find(({ segmentId }) => {
      return (
        segmentId <= hasPassed && !stores.projected.some((each) => each.segmentId === segmentId)
      )
    })
    assert.equal(behind, undefined, `the checkpoint passed a segment (${operation})`)
    if (!random.chance(failing)) return 'ok'
    return random.chance(0.5) ? 'lost' : 'fails'
  }
  const materializer = new Materializer({ stores, observer, checkpoint, delayMs: 1 })
  materializer.start()
  for (let i = 0; i < 40; i++) {
    const segments = Array.from({ length: 1 + random.below(3) }, () => {
      const segment = random.chance(0.3)
        ? stores.commitMixed(
            [1, 2, 3, 9].slice(random.below(3)).map((stream) => [stream, 1 + random.below(4)]),
          )
        : stores.commit(1 + random.below(16))
      return random.chance(0.05) ? { ...segment, block: undefined } : segment
    })
    // Now and then commit does not hand on what it made durable.
    if (random.chance(0.05)) materializer.mustCatchUp()
    else materializer.add({ segments })
    await new Promise((resolve) => setTimeout(resolve, random.below(8)))
  }
  stores.fate = () => 'ok'
  if (random.chance(0.5)) await materializer.stop(2_000)
  else await eventually('all are projected', isComplete(stores))
  await materializer.stop(2_000)
}

test('random failures and restarts: exactly once, and the checkpoint passes nothing', async () => {
  const lives = Array.from({ length: 6 }, async (_, i) => {
    const random = new Random(seed + i)
    const stores = new FakeStores()
    await live(stores, random, 0n as SegmentId)
    await live(stores, random, stores.checkpoints.at(-1) ?? (0n as SegmentId))
    const last = new Materializer({
      stores,
      observer: {
        onInsert: () => undefined,
        onReplayed: () => undefined,
        onError: assert.fail,
        onModeChange: () => undefined,
      },
      checkpoint: stores.checkpoints.at(-1) ?? (0n as SegmentId),
      delayMs: 1,
    })
    last.start()
    await eventually('all are projected', isComplete(stores))
    await last.stop(2_000)
    assertExactlyOnce(stores)
    const rising = stores.checkpoints.every((id, n) => n === 0 || id >= stores.checkpoints[n - 1]!)
    assert(rising, 'the checkpoint moved back')
  })
  await Promise.all(lives)
})
