/**
 * Goal: a process tells that PostgreSQL lacks what it saw committed, from what was removed, merged
 * or moved in the meantime, and says which segments are concerned.
 * Method: a real server; rows are deleted by hand, as a standby that never got them would have it.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { CommittedGroup } from '../../../src/model/batch/committed-group.ts'
import { MIXED_STREAM } from '../../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { Postgres } from '../../../src/store/postgres.ts'
import { findMissing, History, REMEMBERED_MAX } from '../../../src/store/raw/history.ts'
import { openTestPostgres, type TestStore } from '../../support/stores.ts'
import { recordingLog } from '../temporary.ts'

const NODE = { nodeId: 3, epoch: 7n }
const IDENTITY = '00000000-0000-4000-8000-00000000000A'
const STREAM = 5 as StreamId
let database: TestStore
let postgres: Postgres
let history: History
let startMs: number

beforeEach(async () => {
  database = await openTestPostgres()
  postgres = new Postgres({ url: database.url, log: recordingLog() })
  startMs = Date.now() - 1_000
  history = new History(NODE, IDENTITY)
  await postgres.query(
    `INSERT INTO nodes (node_id, identity, epoch, lease_until) VALUES (3, $1, 7, now())`,
    [IDENTITY],
  )
})

afterEach(async () => {
  await postgres.end()
  await database.close()
})

const idOf = (n: number) => makeSegmentId({ ms: startMs + n, node: NODE.nodeId, counter: 0 })

async function insert(streamId: number, n: number, last?: SegmentId): Promise<void> {
  await postgres.query(
    `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes,
       payload, last_segment_id) VALUES ($1, $2, now(), 2, 1, 1, '\\x07', $3)`,
    [streamId, String(idOf(n)), last === undefined ? null : String(last)],
  )
}

/** A transaction of one segment of two events. */
function group(n: number, streamId: StreamId = STREAM): CommittedGroup {
  const segment = { streamId, segmentId: idOf(n), eventCount: 2 }
  return { segments: [segment] } as unknown as CommittedGroup
}

async function commit(n: number): Promise<void> {
  await insert(STREAM, n)
  history.committed(group(n))
}

const lose = (n: number) =>
  postgres.query('DELETE FROM segments WHERE segment_id = $1', [String(idOf(n))])

test('what is there is no loss; what is missing is told with the segments it is in', async () => {
  for (const n of [1, 2, 3, 4]) await commit(n)
  assert.equal(await history.findLoss(postgres), undefined)
  for (const n of [3, 4]) await lose(n)
  assert.deepEqual(await history.findLoss(postgres), {
    what: 'segments',
    after: idOf(2),
    upTo: idOf(4),
    events: 4,
  })
})

test('what was removed on purpose, merged or moved is not missing', async () => {
  for (const n of [1, 2, 3, 4, 5]) await commit(n)
  // Rows 2 to 4 become one.
  for (const n of [2, 3, 4]) await lose(n)
  await insert(STREAM, 2, idOf(4))
  assert.equal(await history.findLoss(postgres), undefined)
  await lose(5)
  assert.equal((await history.findLoss(postgres))?.after, idOf(2))
  await postgres.query('INSERT INTO stream_storage (stream_id, removed_before) VALUES ($1, $2)', [
    STREAM,
    String(idOf(6)),
  ])
  assert.equal(await history.findLoss(postgres), undefined, 'below the mark of the stream')
})

test('a run of a mixed segment is there or missing as the row is', async () => {
  const runs = [STREAM, 6 as StreamId].map((streamId, index) => ({
    streamId,
    segmentId: idOf(1 + index),
    eventCount: 1,
  }))
  const segment = { streamId: MIXED_STREAM, segmentId: idOf(1), eventCount: 2, runs }
  history.committed({ segments: [segment] } as unknown as CommittedGroup)
  const missing = await history.findLoss(postgres)
  assert.deepEqual([missing?.upTo, missing?.events], [idOf(2), 2])
  await postgres.query(
    `INSERT INTO segment_runs (stream_id, segment_id, row_id, first_event, event_count, raw_bytes,
       sent_bytes, stored_bytes) VALUES ($1, $2, $2, 0, 1, 1, 1, 1)`,
    [STREAM, String(idOf(1))],
  )
  assert.equal(await history.findLoss(postgres), undefined)
  const all = runs.map(({ streamId, segmentId }) => ({ streamId, segmentId }))
  assert.deepEqual(await findMissing(postgres, all), [idOf(2)])
})

test('numbers that only rise must not be lower than they were seen', async () => {
  const upserts = {
    checkpoint: 'INSERT INTO checkpoints (node_id, segment_id) VALUES (3, $1)',
    catalog: 'INSERT INTO observe_checkpoints (node_id, segment_id) VALUES (3, $1)',
    control: 'UPDATE control_version SET version = $1',
  } as const
  for (const what of ['control', 'catalog', 'checkpoint'] as const) {
    const own = new History(NODE, IDENTITY)
    own.saw(what, 5n)
    own.saw(what, 4n)
    assert.equal((await own.findLoss(postgres))?.what, what)
    await postgres.query(upserts[what], [5])
    assert.equal(await own.findLoss(postgres), undefined)
  }
})

test('a number that was claimed is ours, or somebody took it over', async () => {
  assert.equal(await history.findLoss(postgres), undefined)
  await postgres.query('UPDATE nodes SET epoch = 6')
  assert.equal((await history.findLoss(postgres))?.what, 'lease', 'the claim was lost')
  await postgres.query('UPDATE nodes SET epoch = 7, identity = $1', [IDENTITY.replace('A', 'B')])
  assert.equal((await history.findLoss(postgres))?.what, 'lease', 'and another node made it again')
  await postgres.query('UPDATE nodes SET epoch = 8')
  assert.equal(await history.findLoss(postgres), undefined, 'the lease tells of that')
})

test('of many commits some are forgotten, never the newest', async () => {
  const last = 3 * REMEMBERED_MAX
  startMs -= last
  for (let n = 0; n <= last; n++) history.committed(group(n))
  const { upTo, events } = (await history.findLoss(postgres)) ?? assert.fail()
  assert.equal(upTo, idOf(last))
  assert.ok(events <= 2 * REMEMBERED_MAX && events > REMEMBERED_MAX, String(events))
})
