/**
 * Goal: a start finds what the projection has of its node number and PostgreSQL has not, removes
 * that and no more, records it, and gives out no id of it again; past an hour it refuses.
 * Method: real stores, with rows as a failover without the last commits leaves them.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { LOST_SPAN_MS_MAX, settleHistory } from '../../src/app/settle-history.ts'
import { makeSegmentId, SEGMENT_ID_MAX, type SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../src/store/migrations/run.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { LostSegments } from '../../src/store/projection/lost-segments.ts'
import { createTableSql, projectionTable } from '../../src/store/projection/projection-store.ts'
import { CheckpointStore } from '../../src/store/raw/checkpoint-store.ts'
import { LostHistoryStore } from '../../src/store/raw/lost-history-store.ts'
import { type RecordingLog, recordingLog } from '../store/temporary.ts'
import { openTestClickHouse, openTestPostgres, type TestStore } from '../support/stores.ts'

const NODE = 3
const STREAM = 5 as StreamId
const opened: TestStore[] = []
let postgres: Postgres
let clickhouse: ClickHouse
let log: RecordingLog
let startMs: number

beforeEach(async () => {
  opened.push(await openTestPostgres(), await openTestClickHouse())
  log = recordingLog()
  startMs = Date.now() - 60_000
  postgres = new Postgres({ url: opened[0]!.url, log })
  clickhouse = new ClickHouse({ url: opened[1]!.url })
  await ensureClickHouse(clickhouse)
  await clickhouse.command(createTableSql(clickhouse.database, STREAM))
})

afterEach(async () => {
  await postgres.end()
  await clickhouse.close()
  for (const store of opened.splice(0)) await store.close()
})

const idOf = (n: number, node = NODE) => makeSegmentId({ ms: startMs + n, node, counter: 0 })

/** A segment of two events. */
async function store(id: SegmentId): Promise<void> {
  await postgres.query(
    `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes,
       payload) VALUES ($1, $2, now(), 2, 1, 1, '\\x07')`,
    [STREAM, String(id)],
  )
}

async function project(id: SegmentId): Promise<void> {
  await clickhouse.command(
    `INSERT INTO ${projectionTable(clickhouse.database, STREAM)}
       (segment_id, ordinal, ingested_at, event_time)
     SELECT {id:UInt64}, number,
       fromUnixTimestamp64Milli(toInt64(bitShiftRight({id:UInt64}, 21)), 'UTC') AS at, at
     FROM numbers(2)`,
    { id: String(id) },
  )
}

function settle(): Promise<SegmentId> {
  const lease = { nodeId: NODE, epoch: 1n }
  const checkpoints = new CheckpointStore(postgres, lease)
  return settleHistory({ stores: { postgres, clickhouse }, log }, { lease, checkpoints })
}

async function projected(): Promise<SegmentId[]> {
  const all = { after: 0n as SegmentId, upTo: SEGMENT_ID_MAX as SegmentId }
  const found = await new LostSegments(clickhouse).list(NODE, all, 100)
  return found.map(({ segmentId }) => segmentId)
}

const summary = () => new LostHistoryStore(postgres).summarize(60_000)

test('where both agree nothing happens; what is not projected yet does not matter', async () => {
  assert.equal(await settle(), 0n)
  for (const n of [1, 2, 3]) await store(idOf(n))
  for (const n of [1, 2]) await project(idOf(n))
  assert.equal(await settle(), idOf(3))
  assert.deepEqual(await projected(), [idOf(1), idOf(2)])
  assert.deepEqual(await summary(), { newestId: 0, losses: 0, events: 0, recent: undefined })
})

test('what only the projection has is removed and told, its ids are passed over', async () => {
  for (const n of [1, 2]) await store(idOf(n))
  for (const n of [1, 2, 3, 4]) await project(idOf(n))
  await project(idOf(9, NODE + 1))
  assert.equal(await settle(), idOf(4))
  assert.deepEqual(await projected(), [idOf(1), idOf(2)])
  const { losses, events, recent } = await summary()
  assert.deepEqual([losses, events], [1, 4])
  assert.match(recent ?? '', /^node 3 at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)
  assert.match(log.lines.join('\n'), /PostgreSQL lost acknowledged events.*"segments":2/)
  const others = new LostSegments(clickhouse)
  const range = { after: 0n as SegmentId, upTo: SEGMENT_ID_MAX as SegmentId }
  assert.equal((await others.list(NODE + 1, range, 9)).length, 1, 'others see to their own')
  assert.equal(await settle(), idOf(4), 'and once only')
  assert.equal((await summary()).losses, 1)
})

test('what was removed by a mark is none of it', async () => {
  await store(idOf(1))
  for (const n of [1, 2]) await project(idOf(n))
  const sql = 'INSERT INTO stream_storage (stream_id, removed_before) VALUES ($1, $2)'
  await postgres.query(sql, [STREAM, String(idOf(3))])
  assert.equal(await settle(), idOf(1))
  assert.equal((await projected()).length, 2, 'retention removes it')
})

test('a loss that a process noted is settled, whatever was committed since', async () => {
  for (const n of [1, 5]) await store(idOf(n))
  for (const n of [1, 2, 3, 5]) await project(idOf(n))
  const loss = { what: 'segments', after: idOf(1), upTo: idOf(4), events: 6 } as const
  await new LostHistoryStore(postgres).record(NODE, loss, false)
  assert.equal(await settle(), idOf(5))
  assert.deepEqual(await projected(), [idOf(1), idOf(5)])
  assert.deepEqual(await new LostHistoryStore(postgres).readUnsettled(NODE), [])
})

test('a PostgreSQL restored to an earlier time is refused, and nothing removed', async () => {
  startMs -= 2 * LOST_SPAN_MS_MAX
  await store(idOf(1))
  for (const n of [1, 2, 3 + LOST_SPAN_MS_MAX]) await project(idOf(n))
  await assert.rejects(settle(), /events of node 3 from .* to .*: it was restored to an earlier/)
  assert.equal((await projected()).length, 3)
  assert.equal((await summary()).losses, 0)
})
