/** Goal: one segment that cannot be projected does not keep the others out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CatchUp } from '../../src/materialize/catch-up.ts'
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
  stores.rebuild = async (segment?: { segmentId: SegmentId }): Promise<EncodedBlock> => {
    if (segment?.segmentId === bad) throw new Error('damaged')
    return rebuild()
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
