/**
 * Goal: a reader is told up to when the projection is complete, with and without what was set
 * aside.
 * Method: a real PostgreSQL with a checkpoint, segments past it, and segments set aside.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MIXED_STREAM } from '../../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { CheckpointStore } from '../../../src/store/raw/checkpoint-store.ts'
import { PendingStore } from '../../../src/store/raw/pending-store.ts'
import { ReadStateStore } from '../../../src/store/raw/read-state-store.ts'
import { UsageStore } from '../../../src/store/raw/usage-store.ts'
import { startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'

const MS = Date.parse('2026-05-05T05:05:05Z')
const ONE = 1 as StreamId
const TWO = 2 as StreamId
let database: TestDatabase

before(async () => {
  database = await startDatabase()
})

after(async () => {
  await database?.close()
})

const idAt = (ms: number) => makeSegmentId({ ms: MS + ms, node: 0, counter: 1 })

async function set(sql: string, values: readonly unknown[]): Promise<void> {
  await database.postgres.query(sql, values)
}

async function store(streamId: StreamId, segmentId: SegmentId): Promise<void> {
  await set(
    `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes,
       payload) VALUES ($1, $2, now(), 1, 1, 1, '')`,
    [streamId, String(segmentId)],
  )
}

test('complete until the first missing segment of the streams that are asked for', async () => {
  const states = new ReadStateStore(database.postgres, () => MS + 1_000)
  const read = async (streamId: StreamId) => {
    return (await states.read([streamId])).asOfMs - MS
  }
  await set(
    `INSERT INTO nodes (node_id, identity, epoch, lease_until)
     VALUES (0, gen_random_uuid(), 1, now())`,
    [],
  )
  await set('INSERT INTO checkpoints (node_id, segment_id) VALUES (0, $1)', [String(idAt(500))])
  await store(ONE, idAt(400))
  assert.equal(await read(ONE), 1_000)
  await store(ONE, idAt(700))
  assert.equal(await read(ONE), 700)
  assert.equal(await read(TWO), 1_000)
  await set(
    `INSERT INTO set_aside_segments (stream_id, segment_id, node_id, reason, tries)
     VALUES ($1, $2, 0, 'damaged', 5)`,
    [ONE, String(idAt(100))],
  )
  assert.equal(await read(ONE), 700, 'what is set aside is not waited for')
  assert.equal(await read(TWO), 1_000)
})

test('a stream that is behind holds back itself, or all that share a table with it', async () => {
  await set('DELETE FROM segments', [])
  await set('DELETE FROM set_aside_segments', [])
  await set('DELETE FROM checkpoints', [])
  const checkpoints = new CheckpointStore(database.postgres, { nodeId: 0, epoch: 1n })
  const states = new ReadStateStore(database.postgres, () => MS + 1_000)
  const read = async (...streamIds: StreamId[]) => {
    const { asOfMs, projected } = await states.read(streamIds)
    return [asOfMs - MS, projected.get(0)]
  }
  const [behind, live] = [idAt(200), idAt(600)]
  await store(ONE, idAt(300))
  await store(TWO, idAt(400))
  await checkpoints.write(behind)
  assert.deepEqual(await read(TWO), [400, behind])
  await checkpoints.write(behind, { segmentId: live, behind: [ONE] })
  assert.deepEqual(await read(TWO), [1_000, live])
  assert.deepEqual(await read(ONE), [300, behind])
  assert.deepEqual(await read(ONE, TWO), [300, behind])
  const pending = new PendingStore(database.postgres)
  const range = { start: 0n, end: idAt(900), newestFirst: true, limit: 10 }
  const list = async (...streamIds: StreamId[]) => {
    const { segments, projected } = await pending.list({ ...range, streamIds })
    return [segments.map(({ segmentId }) => segmentId), projected.get(0)]
  }
  assert.deepEqual(await list(TWO), [[], live])
  assert.deepEqual(await list(ONE, TWO), [[idAt(400), idAt(300)], behind])
  const usage = new UsageStore(database.postgres)
  assert.equal((await usage.readProjectionLag(TWO)).segmentsBehind, 0)
  assert.equal((await usage.readProjectionLag(ONE)).segmentsBehind, 1)
  await checkpoints.write(behind, { segmentId: live, behind: [MIXED_STREAM] })
  assert.deepEqual(await read(TWO), [400, behind])
  await checkpoints.write(live)
  assert.deepEqual(await read(ONE), [1_000, live])
})
