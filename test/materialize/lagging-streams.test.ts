/**
 * Goal: a stream that is behind keeps no other one out of the projection, and no segment of its own
 * is lost or there twice; what it lacks holds the checkpoint.
 * Method: stores in memory, some of whose streams do not get on until a script says so.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Random } from '../../bench/random.ts'
import { LAGGING_STREAMS_MAX } from '../../src/limits.ts'
import {
  CatchUp,
  REPLAY_AHEAD_SEGMENTS,
  REPLAY_INSERTS_MAX,
} from '../../src/materialize/catch-up.ts'
import type { CommittedSegment } from '../../src/model/batch/committed-group.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import { lastIdOf } from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { eventually } from '../store/temporary.ts'
import { testSeed } from '../support/fuzzing.ts'
import { FakeStores, RefusedError } from './fake-stores.ts'
import { assertExactlyOnce, isComplete, setUp } from './materializer-harness.ts'

const bare = (segment: CommittedSegment) => ({ ...segment, block: undefined })
const countOf = (stores: FakeStores, stream: number) => {
  return stores.projected.filter(({ streamId }) => streamId === stream).length
}

/** Rebuilding a stream's segments takes until what is returned is called. */
function hold(stores: FakeStores, stream: number): () => void {
  let goOn = () => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const rebuild = stores.rebuild.bind(stores)
  stores.rebuild = async (segment, part) => {
    if (segment.streamId === stream) await held
    return rebuild(segment, part)
  }
  return goOn
}

test('one stream is caught up while the others stay live', async () => {
  const stores = new FakeStores()
  const { materializer, isLive, modes } = setUp(stores, 0)
  materializer.start()
  await isLive()
  const goOn = hold(stores, 7)
  materializer.add({ segments: [stores.commit(1), bare(stores.commit(7)), stores.commit(2)] })
  for (let i = 0; i < 5; i++) {
    materializer.add({ segments: [stores.commit(1), stores.commit(7), stores.commit(2)] })
    await sleep(20)
  }
  await eventually('the others are there', () => countOf(stores, 1) + countOf(stores, 2) === 12)
  assert.deepEqual([countOf(stores, 7), materializer.lagging], [0, 1])
  const missing = stores.raw.find(({ streamId }) => streamId === 7)!.segmentId
  assert.ok(stores.checkpoints.every((id) => id < missing))
  goOn()
  await isLive()
  await eventually('all are there', isComplete(stores))
  const last = stores.raw.at(-1)?.segmentId
  await eventually('checkpoint', () => stores.checkpoints.at(-1) === last)
  assertExactlyOnce(stores)
  assert.deepEqual(modes, ['live', 'catch-up', 'live'])
  await materializer.stop(1_000)
})

test('in the shared table, one that is alone in its rows is caught up by itself', async () => {
  const stores = new FakeStores()
  const { materializer, isLive, released } = setUp(stores, 0)
  materializer.start()
  await isLive()
  const { rebuild } = stores
  let goOn = () => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  stores.rebuild = async (...all) => {
    await held
    return rebuild.apply(stores, all)
  }
  const alone = () => stores.commitMixed([[7, 3]])
  const missing = bare(alone())
  materializer.add({ segments: [missing, stores.commitMixed([[1, 1]])] })
  for (let i = 0; i < 5; i++) {
    const both: [number, number][] = [
      [7, 1],
      [2, 1],
    ]
    const segments = [alone(), stores.commitMixed(both), stores.commitMixed([[1, 1]])]
    materializer.add({ segments })
    await sleep(20)
  }
  await eventually('the others are there', () => countOf(stores, 1) + countOf(stores, 2) === 11)
  assert.deepEqual([countOf(stores, 7), materializer.lagging], [5, 1])
  assert.ok(stores.checkpoints.every((id) => id < missing.segmentId))
  const last = stores.raw.at(-1)!.segmentId
  await eventually('a live mark', () => stores.liveMarks.at(-1)?.segmentId === last)
  assert.deepEqual(stores.liveMarks.at(-1)?.behind, [7])
  assert.equal(materializer.projectedOf([1 as StreamId]), last)
  assert.ok(materializer.projectedOf([1 as StreamId, 7 as StreamId]) < missing.segmentId)
  goOn()
  await isLive()
  await eventually('all are there', isComplete(stores))
  await eventually('checkpoint', () => stores.checkpoints.at(-1) === last)
  assert.equal(stores.liveMarks.at(-1), undefined)
  assertExactlyOnce(stores)
  assert.equal(released.length, 16)
  await materializer.stop(1_000)
})

test('what waits beside it in one insert is not dropped with it', async () => {
  const stores = new FakeStores()
  const { materializer, isLive, released, replayed } = setUp(stores, 60_000)
  materializer.start()
  await isLive()
  const before = replayed()
  materializer.add({ segments: [stores.commitMixed([[1, 1]]), stores.commitMixed([[7, 1]])] })
  materializer.add({ segments: [bare(stores.commitMixed([[7, 1]]))] })
  assert.equal(released.length, 1)
  await isLive()
  assert.deepEqual([countOf(stores, 1), countOf(stores, 7), replayed() - before], [0, 2, 2])
  await materializer.stop(1_000)
  assert.equal(countOf(stores, 1), 1)
  assertExactlyOnce(stores)
})

test('a stream whose table refuses inserts stalls alone, and says so', async () => {
  const stores = new FakeStores()
  const { materializer, isLive, stalls, setAside } = setUp(stores, 0)
  materializer.start()
  await isLive()
  const { insert } = stores
  stores.insert = (streamId, blocks) => {
    if (streamId === 3) return Promise.reject(new RefusedError())
    return insert.call(stores, streamId, blocks)
  }
  const refused = stores.commit(3)
  materializer.add({ segments: [refused] })
  await eventually('it stands still', () => stalls.at(-1) === 'access_denied')
  materializer.add({ segments: [stores.commit(4)] })
  await eventually('the other one is there', () => countOf(stores, 4) === 1)
  assert.ok(stores.checkpoints.every((id) => id < refused.segmentId))
  stores.insert = insert
  await isLive()
  assertExactlyOnce(stores)
  assert.deepEqual([stalls.at(-1), setAside], [undefined, []])
  await materializer.stop(1_000)
})

test('when more than LAGGING_STREAMS_MAX are behind, all are, together', async () => {
  const stores = new FakeStores()
  const { materializer, isLive } = setUp(stores, 0)
  materializer.start()
  await isLive()
  const reads: unknown[] = []
  const readAfter = stores.readAfter.bind(stores)
  stores.readAfter = (after, limit, streamId, which) => {
    reads.push(streamId)
    return readAfter(after, limit, streamId, which)
  }
  const segments = Array.from({ length: LAGGING_STREAMS_MAX + 1 }, (_, i) => stores.commit(1 + i))
  materializer.add({ segments: segments.slice(1).map(bare) })
  assert.equal(materializer.lagging, LAGGING_STREAMS_MAX)
  materializer.add({ segments: [bare(stores.commit(900))] })
  assert.equal(materializer.lagging, 1)
  await isLive()
  await eventually('all are there', isComplete(stores))
  assert.ok(reads.includes(undefined) && !reads.includes(segments.at(-1)?.streamId))
  await materializer.stop(1_000)
  assertExactlyOnce(stores)
})

test('segments are rebuilt some at a time, while others are inserted', async () => {
  const stores = new FakeStores()
  stores.rowsPerBlock = 50_000
  for (let i = 0; i < 40; i++) stores.commit(1)
  const most = { rebuilding: 0, inserting: 0, both: 0 }
  const now = { rebuilding: 0, inserting: 0 }
  const watch = async <T>(what: 'rebuilding' | 'inserting', work: () => Promise<T>): Promise<T> => {
    now[what]++
    most[what] = Math.max(most[what], now[what])
    most.both = Math.max(most.both, Math.min(now.rebuilding, now.inserting))
    await sleep(2)
    return work().finally(() => now[what]--)
  }
  const { rebuild, insert } = stores
  stores.rebuild = (...all) => watch('rebuilding', () => rebuild.apply(stores, all))
  stores.insert = (...all) => watch('inserting', () => insert.apply(stores, all))
  const step = await new CatchUp(stores).step(0n as SegmentId)
  assert.equal(step?.events, 40 * 50_000)
  assertExactlyOnce(stores)
  assert.deepEqual([most.rebuilding, most.inserting], [REPLAY_AHEAD_SEGMENTS, REPLAY_INSERTS_MAX])
  assert.ok(most.both > 0, 'at the same time')
})

test('streams that fail at random, one by one: exactly once', async (t) => {
  const seed = testSeed()
  t.diagnostic(`SLUICE_TEST_SEED=${seed}`)
  const random = new Random(seed)
  const stores = new FakeStores()
  const { materializer } = setUp(stores, 1)
  const bad = new Set<number>()
  const { insert } = stores
  stores.insert = (streamId, blocks) => {
    if (bad.has(streamId)) return Promise.reject(new RefusedError())
    return insert.call(stores, streamId, blocks)
  }
  stores.fate = (operation) => {
    const passed = stores.checkpoints.at(-1) ?? 0n
    const missing = stores.committed.find(({ segmentId }) => {
      return segmentId <= passed && !stores.projected.some((is) => is.segmentId === segmentId)
    })
    assert.equal(missing, undefined, 'the checkpoint passed a segment')
    const live = stores.liveMarks.at(-1)
    const unmarked = stores.committed.find(({ streamId, segmentId }) => {
      const isMarked = live !== undefined && segmentId <= live.segmentId
      const isBehind = live?.behind.includes(streamId) || live?.behind.includes(MIXED_STREAM)
      if (!isMarked || isBehind) return false
      return !stores.projected.some((is) => is.segmentId === segmentId)
    })
    assert.equal(unmarked, undefined, 'the live mark passed a segment')
    if (operation !== 'insert' || random.chance(0.8)) return 'ok'
    return random.chance(0.5) ? 'lost' : 'fails'
  }
  materializer.start()
  for (let i = 0; i < 150; i++) {
    if (random.chance(0.1)) bad.add(random.below(5))
    if (random.chance(0.3)) bad.clear()
    const segments = Array.from({ length: 1 + random.below(4) }, () => {
      const mixed: [number, number][] = [
        [1, 1],
        [3, 2],
      ]
      const segment = random.chance(0.4)
        ? stores.commitMixed(random.chance(0.5) ? mixed : [[1 + random.below(4), 1]])
        : stores.commit(1 + random.below(4))
      return random.chance(0.1) ? bare(segment) : segment
    })
    if (random.chance(0.02)) materializer.mustCatchUp()
    else materializer.add({ segments })
    await sleep(random.below(6))
  }
  bad.clear()
  stores.fate = () => 'ok'
  await eventually('all are there', isComplete(stores), 30_000)
  await materializer.stop(2_000)
  assertExactlyOnce(stores)
  assert.equal(stores.checkpoints.at(-1), lastIdOf(stores.raw.at(-1)!))
})
