/**
 * Goal: a step brings in what is absent and nothing else, also of mixed rows; one segment that
 * cannot be projected does not keep the others out.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestError } from '../../src/errors.ts'
import { MATERIALIZE_INSERT_ROWS } from '../../src/limits.ts'
import { CatchUp, SEGMENT_TRIES_MAX } from '../../src/materialize/catch-up.ts'
import { Failures } from '../../src/materialize/failures.ts'
import type { EncodedBlock } from '../../src/model/batch/encoded-block.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import type { SegmentPart } from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { AwayError, BadDataError, FakeStores, RefusedError } from './fake-stores.ts'

const START = 0n as SegmentId

/** Steps until one succeeds; returns how many failed before it. */
async function failuresBeforeStep(catchUp: CatchUp, triesMax = 100): Promise<number> {
  for (let tries = 0; tries < triesMax; tries++) {
    try {
      await catchUp.step(START)
      return tries
    } catch (cause) {
      assert(cause instanceof Error)
    }
  }
  return triesMax
}

test('a segment that cannot be rebuilt is set aside, the others go on', async () => {
  const stores = new FakeStores()
  for (let i = 0; i < 5; i++) stores.commit(1)
  const bad = stores.raw[2]!.segmentId
  const rebuild = stores.rebuild.bind(stores)
  stores.rebuild = async (segment, part): Promise<EncodedBlock> => {
    if (segment.segmentId === bad) throw new Error('damaged')
    return rebuild(segment, part)
  }
  const setAside: SegmentId[] = []
  const catchUp = new CatchUp(stores, { onSetAside: (segmentId) => setAside.push(segmentId) })
  assert.equal(await failuresBeforeStep(catchUp), 4)
  assert.deepEqual(setAside, [bad])
  const kept = { streamId: 1, segmentId: bad, reason: 'damaged', tries: SEGMENT_TRIES_MAX }
  assert.deepEqual([...stores.aside.values()], [kept])
  const ids = stores.projected.map(({ segmentId }) => segmentId)
  assert.deepEqual(
    ids,
    stores.raw.map(({ segmentId }) => segmentId).filter((id) => id !== bad),
  )
  // It is not tried again.
  assert.equal(await failuresBeforeStep(catchUp), 0)
  assert.deepEqual(setAside, [bad])
})

test('a damaged segment is no reason to say that the projection stands still', async () => {
  const stores = new FakeStores()
  stores.commit(1)
  stores.rebuild = () => Promise.reject(new IngestError('internal', 'it killed a worker'))
  const stalls: (string | undefined)[] = []
  const errors: unknown[] = []
  const failures = new Failures<string>({
    onError: (cause) => errors.push(cause),
    onStall: (reason) => stalls.push(reason),
  })
  const catchUp = new CatchUp(stores)
  for (let tries = 1; tries < SEGMENT_TRIES_MAX; tries++) {
    await catchUp.step(START).catch((cause: unknown) => failures.fail('all', cause))
  }
  assert.deepEqual([errors.length, stalls], [SEGMENT_TRIES_MAX - 1, []])
})

test('a block that ClickHouse refuses is found by smaller and smaller inserts', async () => {
  const stores = new FakeStores()
  stores.blockBytes = 1 << 20
  for (let i = 0; i < 20; i++) stores.commit(1)
  const bad = stores.raw[11]!.segmentId
  const insert = stores.insert.bind(stores)
  stores.insert = async (streamId: StreamId, blocks: readonly Uint8Array[]) => {
    const ids = blocks.map((block) => Buffer.from(block).readBigInt64LE(0))
    if (ids.includes(bad)) throw new BadDataError()
    return insert(streamId, blocks)
  }
  const setAside: SegmentId[] = []
  const catchUp = new CatchUp(stores, { onSetAside: (segmentId) => setAside.push(segmentId) })
  const failures = await failuresBeforeStep(catchUp)
  assert(failures < 20, `${failures} failures`)
  assert.deepEqual(setAside, [bad])
  const ids = stores.projected.map(({ segmentId }) => segmentId)
  assert.equal(new Set(ids).size, ids.length, 'inserted twice')
  assert.deepEqual(ids.length, stores.raw.length - 1)
})

test('a store that is away costs no segment its place', async () => {
  const stores = new FakeStores()
  stores.commit(1)
  for (const operation of ['insert', 'rebuild', 'findPresent', 'readAfter'] as const) {
    stores.fate = (each) => (each === operation ? 'fails' : 'ok')
    const catchUp = new CatchUp(stores, { onSetAside: () => assert.fail('set aside') })
    assert.equal(await failuresBeforeStep(catchUp, 20), 20, operation)
    await assert.rejects(catchUp.step(START), AwayError)
  }
  stores.fate = () => 'ok'
  await new CatchUp(stores).step(START)
  assert.equal(stores.projected.length, 1)
})

test('what the store refuses for other reasons than the data is never passed', async () => {
  const stores = new FakeStores()
  stores.commit(1)
  const insert = stores.insert.bind(stores)
  stores.insert = () => Promise.reject(new RefusedError())
  const catchUp = new CatchUp(stores, { onSetAside: () => assert.fail('set aside') })
  assert.equal(await failuresBeforeStep(catchUp, 20), 20)
  await assert.rejects(catchUp.step(START), RefusedError)
  stores.insert = insert
  await catchUp.step(START)
  assert.deepEqual([stores.projected.length, stores.aside.size], [1, 0])
})

test('a full pool is not the fault of a segment', async () => {
  const stores = new FakeStores()
  stores.commit(1)
  stores.rebuild = () => Promise.reject(new IngestError('overloaded', 'batches are waiting'))
  const catchUp = new CatchUp(stores, { onSetAside: () => assert.fail('set aside') })
  assert.equal(await failuresBeforeStep(catchUp, 20), 20)
})

test('nothing is passed that could not be recorded as set aside', async () => {
  const stores = new FakeStores()
  const { segmentId } = stores.commit(1)
  stores.insert = () => Promise.reject(new BadDataError())
  stores.fate = (operation) => (operation === 'setAside' ? 'fails' : 'ok')
  const catchUp = new CatchUp(stores)
  assert.equal(await failuresBeforeStep(catchUp, 20), 20)
  assert.equal(stores.aside.size, 0)
  stores.fate = () => 'ok'
  assert.equal(await failuresBeforeStep(catchUp), 0)
  assert.equal(stores.aside.get(segmentId)?.reason, 'incorrect_data')
})

test('a segment set aside is tried again on request, and is there once', async () => {
  const stores = new FakeStores()
  const row = stores.commitMixed([
    [1, 2],
    [2, 3],
    [3, 1],
  ])
  const [first, second, third] = row.runs!
  stores.projected.push(first!)
  const { rebuild } = stores
  stores.rebuild = () => Promise.reject(new Error('damaged'))
  assert.equal(await failuresBeforeStep(new CatchUp(stores)), SEGMENT_TRIES_MAX - 1)
  assert.deepEqual([...stores.aside.keys()], [second!.segmentId, third!.segmentId])
  const retries = new CatchUp(stores, { triesMax: 1 })
  assert.equal(await retries.retry(), 0, 'nobody asked')
  stores.retries.add(second!.segmentId).add(third!.segmentId)
  assert.equal(await retries.retry(), 2)
  assert.deepEqual([stores.aside.size, stores.retries.size], [2, 0], 'it failed once more')
  stores.rebuild = rebuild
  stores.retries.add(second!.segmentId)
  const asked = watchRebuilds(stores)
  assert.equal(await retries.retry(), 1)
  assert.deepEqual(asked, [[second!.segmentId, { first: 2, counts: [3] }]])
  stores.retries.add(third!.segmentId)
  stores.projected.push(third!) // It got in, and the answer was lost.
  assert.equal(await retries.retry(), 1)
  assert.equal(stores.aside.size, 0)
  const ids = stores.projected.map(({ segmentId }) => segmentId)
  assert.deepEqual(
    ids.sort(),
    row.runs!.map(({ segmentId }) => segmentId),
  )
})

/** What `rebuild` was asked for, row by row. */
function watchRebuilds(stores: FakeStores): [rowId: SegmentId, part: SegmentPart | undefined][] {
  const asked: [SegmentId, SegmentPart | undefined][] = []
  const rebuild = stores.rebuild.bind(stores)
  stores.rebuild = (segment, part) => {
    asked.push([segment.segmentId, part])
    return rebuild(segment, part)
  }
  return asked
}

test('of a mixed row the absent runs are brought in, neighbours as one block', async () => {
  const stores = new FakeStores()
  const absent = stores.commitMixed([
    [1, 2],
    [2, 1],
  ])
  const partly = stores.commitMixed([
    [1, 1],
    [2, 5],
    [3, 2],
    [4, 3],
    [5, 4],
  ])
  const present = stores.commitMixed([
    [2, 1],
    [3, 1],
  ])
  stores.projected.push(partly.runs![1]!, partly.runs![4]!, ...present.runs!)
  const before = new Set(stores.projected)
  const asked = watchRebuilds(stores)
  const step = await new CatchUp(stores).step(START)
  assert.equal(step?.last, present.runs![1]!.segmentId, 'the last run, not the row')
  assert.equal(step?.replayed, 3)
  assert.deepEqual(asked, [
    [absent.segmentId, { first: 0, counts: [2, 1], streamIds: [1, 2] }],
    [partly.segmentId, { first: 0, counts: [1], streamIds: [1] }],
    [partly.segmentId, { first: 6, counts: [2, 3], streamIds: [3, 4] }],
  ])
  const inserted = stores.projected.filter((each) => !before.has(each))
  const runs = [...absent.runs!, ...[0, 2, 3].map((i) => partly.runs![i]!)]
  const expected = runs.map(({ streamId, segmentId }) => ({ streamId, segmentId }))
  assert.deepEqual(inserted, expected)
  assert.deepEqual([stores.inserts, stores.sharedInserts], [[], [3]])
})

test('a mixed row that cannot be rebuilt is set aside, whole', async () => {
  const stores = new FakeStores()
  const bad = stores.commitMixed([
    [1, 1],
    [2, 1],
  ])
  const good = stores.commit(1)
  const rebuild = stores.rebuild.bind(stores)
  stores.rebuild = async (segment, part) => {
    if (segment.segmentId === bad.segmentId) throw new Error('damaged')
    return rebuild(segment, part)
  }
  const setAside: SegmentId[] = []
  const catchUp = new CatchUp(stores, { onSetAside: (segmentId) => setAside.push(segmentId) })
  assert.equal(await failuresBeforeStep(catchUp), 4)
  assert.deepEqual(setAside, [bad.segmentId])
  assert.deepEqual(
    stores.projected.map(({ segmentId }) => segmentId),
    [good.segmentId],
  )
})

test('mixed rows share an insert, other rows have one a stream', async () => {
  const stores = new FakeStores()
  stores.commit(1)
  for (let i = 0; i < 3; i++) {
    stores.commitMixed([
      [1, 1],
      [2, 2],
    ])
  }
  stores.commit(2)
  stores.commit(1)
  await new CatchUp(stores).step(START)
  assert.deepEqual([stores.inserts, stores.sharedInserts], [[2, 1], [3]])
})

test('an insert is bounded', async () => {
  const stores = new FakeStores()
  stores.rowsPerBlock = MATERIALIZE_INSERT_ROWS / 2
  for (let i = 0; i < 5; i++) stores.commit(1)
  await new CatchUp(stores).step(START)
  assert.deepEqual(stores.inserts, [2, 2, 1])
})
