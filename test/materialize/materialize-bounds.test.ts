/**
 * Goal: inserts and catch-up take as much at a time as their limits say, and not more.
 * Method: stores in memory that count; each limit just met and passed.
 */
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import {
  MATERIALIZE_INSERTS_MAX,
  MATERIALIZE_SMALL_BYTES_MAX,
  REPLAY_SEGMENTS_MAX,
  REPLAY_TURN_MS,
  SET_ASIDE_POLL_MS,
} from '../../src/limits.ts'
import {
  CatchUp,
  REPLAY_AHEAD_EVENTS,
  REPLAY_AHEAD_SEGMENTS_MAX,
  REPLAY_INSERT_BYTES,
  REPLAY_READS_MAX,
} from '../../src/materialize/catch-up.ts'
import { LiveBuffers } from '../../src/materialize/live-buffers.ts'
import type { Outstanding } from '../../src/materialize/progress.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { someBlock } from '../commit/some-segments.ts'
import { settle, virtualTime } from '../support/virtual-time.ts'
import { FakeStores } from './fake-stores.ts'
import { setUp } from './materializer-harness.ts'

const START = 0n as SegmentId
const ROW_BYTES = someBlock().bytes.length

/** How many streams' blocks of these sizes are inserted at a time. */
function takenTogether(sizes: readonly number[]): number {
  const buffers = new LiveBuffers({ tryOpenSpool: () => undefined, release: () => undefined })
  for (const [index, bytes] of sizes.entries()) {
    const source = (index + 1) as StreamId
    const entry = { source, segmentId: BigInt(index) } as unknown as Outstanding
    buffers.add(someBlock(1, bytes - ROW_BYTES), entry, [entry.segmentId])
  }
  return buffers.takeDue(0).length
}

test('MATERIALIZE_INSERTS_MAX small inserts go together', () => {
  const small = (count: number) => Array.from({ length: count }, () => ROW_BYTES)
  assert.equal(takenTogether(small(MATERIALIZE_INSERTS_MAX)), MATERIALIZE_INSERTS_MAX)
  assert.equal(takenTogether(small(MATERIALIZE_INSERTS_MAX + 1)), MATERIALIZE_INSERTS_MAX)
})

test('up to MATERIALIZE_SMALL_BYTES_MAX; a larger one goes alone', () => {
  const half = MATERIALIZE_SMALL_BYTES_MAX / 2
  assert.equal(takenTogether([half, half]), 2)
  assert.equal(takenTogether([half, half + 1]), 1)
  assert.equal(takenTogether([MATERIALIZE_SMALL_BYTES_MAX + 1]), 1)
})

test('a step reads REPLAY_READS_MAX times at most', async () => {
  for (const reads of [REPLAY_READS_MAX - 1, REPLAY_READS_MAX, REPLAY_READS_MAX + 1]) {
    const stores = new FakeStores()
    for (let i = 0; i < reads * REPLAY_SEGMENTS_MAX; i++) stores.commit(1)
    const step = await new CatchUp(stores).step(START)
    const most = Math.min(reads, REPLAY_READS_MAX) * REPLAY_SEGMENTS_MAX
    assert.deepEqual([step?.replayed, stores.projected.length], [most, most])
  }
})

/** How often each stream is read in a row, when reading takes so long. */
async function readsInARow(streams: number, readMs: number): Promise<number> {
  const stores = new FakeStores()
  const { materializer, isLive } = setUp(stores)
  materializer.start()
  await isLive()
  const segments = Array.from({ length: streams * 3 * REPLAY_SEGMENTS_MAX }, (_, i) => {
    return { ...stores.commit(1 + (i % streams)), block: undefined }
  })
  const now = mock.method(performance, 'now')
  const { readAfter } = stores
  const inARow: number[] = []
  let last: unknown
  let passedMs = 0
  // Whole, so that differences are what they are: a fraction may round to less than a turn.
  const start = Math.ceil(performance.now())
  now.mock.mockImplementation(() => start + passedMs)
  stores.readAfter = (...asked) => {
    if (asked[2] === last) inARow.push(inARow.pop()! + 1)
    else inARow.push(1)
    last = asked[2]
    passedMs += readMs
    return readAfter.apply(stores, asked)
  }
  materializer.add({ segments })
  await isLive()
  now.mock.restore()
  await materializer.stop(1_000)
  return Math.max(...inARow)
}

test('while others are behind a stream is read for REPLAY_TURN_MS at a time', async () => {
  // The next ones may be read ahead.
  assert.ok((await readsInARow(2, REPLAY_TURN_MS)) <= 2)
  assert.ok((await readsInARow(2, REPLAY_TURN_MS / 10)) > 2)
  assert.ok((await readsInARow(1, REPLAY_TURN_MS)) > 2)
})

/** How many segments of so many events are rebuilt at a time, at most. */
async function rebuiltTogether(eventCount: number): Promise<number> {
  const stores = new FakeStores()
  for (let i = 0; i < REPLAY_SEGMENTS_MAX; i++) {
    stores.commit(1)
    Object.assign(stores.raw.at(-1)!, { eventCount })
  }
  const rebuild = stores.rebuild.bind(stores)
  let now = 0
  let most = 0
  stores.rebuild = async (segment, part) => {
    most = Math.max(most, ++now)
    await settle()
    return rebuild(segment, part).finally(() => now--)
  }
  await new CatchUp(stores).step(START)
  assert.equal(stores.projected.length, REPLAY_SEGMENTS_MAX)
  return most
}

test('REPLAY_AHEAD_SEGMENTS_MAX small segments are rebuilt ahead', async () => {
  assert.ok(REPLAY_AHEAD_SEGMENTS_MAX < REPLAY_SEGMENTS_MAX)
  assert.equal(await rebuiltTogether(1), REPLAY_AHEAD_SEGMENTS_MAX)
})

test('of larger ones, until they have REPLAY_AHEAD_EVENTS', async () => {
  assert.equal(await rebuiltTogether(REPLAY_AHEAD_EVENTS / 8), 8)
  assert.equal(await rebuiltTogether(REPLAY_AHEAD_EVENTS / 8 - 1), 9)
})

test('an insert of catch-up has REPLAY_INSERT_BYTES at most', async () => {
  for (const [more, expected] of [
    [0, [2, 1]],
    [1, [1, 1, 1]],
  ] as const) {
    const stores = new FakeStores()
    stores.blockBytes = REPLAY_INSERT_BYTES / 2 - ROW_BYTES + more
    for (let i = 0; i < 3; i++) stores.commit(1)
    await new CatchUp(stores).step(START)
    assert.deepEqual(stores.inserts, expected)
  }
})

test('segments set aside are asked for every SET_ASIDE_POLL_MS', async (t) => {
  const time = virtualTime(t)
  const stores = new FakeStores()
  const asked: number[] = []
  stores.readRetries = async () => {
    asked.push(time.nowMs)
    return []
  }
  const { materializer } = setUp(stores)
  materializer.start()
  await time.pass(5 * SET_ASIDE_POLL_MS)
  const stopped = materializer.stop(1_000)
  await time.pass(2_000)
  await stopped
  assert.ok(asked.length >= 4, `asked ${asked.length} times`)
  for (const [index, at] of asked.slice(1).entries()) {
    const ms = at - asked[index]!
    assert.ok(ms >= SET_ASIDE_POLL_MS && ms <= 1.5 * SET_ASIDE_POLL_MS, `after ${ms} ms`)
  }
})
