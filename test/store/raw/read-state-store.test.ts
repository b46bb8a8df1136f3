/**
 * Goal: a reader is told up to when the projection is complete, with and without what was set
 * aside.
 * Method: a real PostgreSQL with a checkpoint, segments past it, and segments set aside.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { makeSegmentId, type SegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { ReadStateStore } from '../../../src/store/raw/read-state-store.ts'
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
    `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes, payload)
     VALUES ($1, $2, now(), 1, 1, '')`,
    [streamId, String(segmentId)],
  )
}

test('complete until the first missing segment of the streams that are asked for', async () => {
  const states = new ReadStateStore(database.postgres, () => MS + 1_000)
  const read = async (streamId: StreamId) => {
    const { asOfMs, wholeUntilMs } = await states.read([streamId])
    return [asOfMs - MS, wholeUntilMs - MS]
  }
  await set(
    `INSERT INTO nodes (node_id, identity, epoch, lease_until)
     VALUES (0, gen_random_uuid(), 1, now())`,
    [],
  )
  await set('INSERT INTO checkpoints (node_id, segment_id) VALUES (0, $1)', [String(idAt(500))])
  await store(ONE, idAt(400))
  assert.deepEqual(await read(ONE), [1_000, 1_000])
  await store(ONE, idAt(700))
  assert.deepEqual(await read(ONE), [700, 700])
  assert.deepEqual(await read(TWO), [1_000, 1_000])
  await set(
    `INSERT INTO set_aside_segments (stream_id, segment_id, node_id, reason, tries)
     VALUES ($1, $2, 0, 'damaged', 5)`,
    [ONE, String(idAt(100))],
  )
  assert.deepEqual(await read(ONE), [700, 100], 'what is set aside may be brought in later')
  assert.deepEqual(await read(TWO), [1_000, 1_000])
})
