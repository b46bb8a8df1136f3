/**
 * Goal: a step brings in what is absent and nothing else, also of mixed rows; one segment that
 * cannot be projected does not keep the others out.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MATERIALIZE_INSERT_ROWS } from '../../src/limits.ts'
import { CatchUp, type SegmentPart } from '../../src/materialize/catch-up.ts'
import type { EncodedBlock } from '../../src/model/batch.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { AwayError, FakeStores } from './fake-stores.ts'

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
  const catchUp = new CatchUp(stores, (segmentId) => setAside.push(segmentId))
  assert.equal(await failuresBeforeStep(catchUp), 4)
  assert.deepEqual(setAside, [bad])
  const ids = stores.projected.map(({ segmentId }) => segmentId)
  assert.deepEqual(
    ids,
    stores.raw.map(({ segmentId }) => segmentId).filter((id) => id !== bad),
  )
  // It is not tried again.
  assert.equal(await failuresBeforeStep(catchUp), 0)
  assert.deepEqual(setAside, [bad])
})

test('a block that ClickHouse refuses is found by smaller and smaller inserts', async () => {
  const stores = new FakeStores()
  stores.blockBytes = 1 << 20
  for (let i = 0; i < 20; i++) stores.commit(1)
  const bad = stores.raw[11]!.segmentId
  const insert = stores.insert.bind(stores)
  stores.insert = async (streamId: StreamId, blocks: readonly Uint8Array[]) => {
    const ids = blocks.map((block) => Buffer.from(block).readBigInt64LE(0))
    if (ids.includes(bad)) throw new Error('cannot parse')
    return insert(streamId, blocks)
  }
  const setAside: SegmentId[] = []
  const catchUp = new CatchUp(stores, (segmentId) => setAside.push(segmentId))
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
    const catchUp = new CatchUp(stores, () => assert.fail('set aside'))
    assert.equal(await failuresBeforeStep(catchUp, 20), 20, operation)
    await assert.rejects(catchUp.step(START), AwayError)
  }
  stores.fate = () => 'ok'
  await new CatchUp(stores).step(START)
  assert.equal(stores.projected.length, 1)
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
    [absent.segmentId, { first: 0, counts: [2, 1] }],
    [partly.segmentId, { first: 0, counts: [1] }],
    [partly.segmentId, { first: 6, counts: [2, 3] }],
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
  const catchUp = new CatchUp(stores, (segmentId) => setAside.push(segmentId))
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
