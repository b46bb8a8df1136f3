/**
 * Goal: what was set aside is kept by segment, is found again wherever its events are by then, and
 * goes with its segment. The error numbers that count against data bear the names we think.
 * Method: real stores; rows as commit, compaction and retention leave them.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MIXED_STREAM } from '../../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../../src/model/segment-id.ts'
import { encodeMembers } from '../../../src/model/stored-row.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { BAD_DATA_CODES } from '../../../src/store/clickhouse-codes.ts'
import { ControlDirectory } from '../../../src/store/control/control-directory.ts'
import { ensureClickHouse } from '../../../src/store/migrations/run.ts'
import { RetentionStore } from '../../../src/store/raw/retention-store.ts'
import { SetAsideStore } from '../../../src/store/raw/set-aside-store.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import type { NodeIdentity } from '../../../src/store/under-lease.ts'
import { startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'
import { openTestClickHouse } from '../../support/stores.ts'
import { holdNumber } from './hold-number.ts'

const NODE = 3
const MS = Date.parse('2026-05-05T05:05:05Z')
let database: TestDatabase
let store: SetAsideStore
let held: NodeIdentity

before(async () => {
  database = await startDatabase()
  store = new SetAsideStore(database.postgres)
  held = await holdNumber(database.postgres, NODE)
})

after(async () => {
  await database?.close()
})

const idAt = (n: number, node = NODE) => makeSegmentId({ ms: MS + n, node, counter: 0 })
const aside = (streamId: number, segmentId: SegmentId, tries = 5) => {
  return { streamId: streamId as StreamId, segmentId, reason: 'damaged', tries }
}

async function insertRow(
  streamId: number,
  segmentId: SegmentId,
  events: number,
  members?: readonly [last: SegmentId, bytes: Uint8Array],
): Promise<void> {
  await database.postgres.query(
    `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes,
       payload, last_segment_id, members) VALUES ($1, $2, now(), $3, 1, 1, '\\x07', $4, $5)`,
    [streamId, String(segmentId), events, members && String(members[0]), members?.[1]],
  )
}

const kept = async (streamId: number) => {
  const { rows } = await database.postgres.query<{ segment_id: string; tries: number }>(
    'SELECT segment_id, tries FROM set_aside_segments WHERE stream_id = $1 ORDER BY segment_id',
    [streamId],
  )
  return rows.map((row) => [BigInt(row.segment_id), row.tries])
}

test('a segment is found by itself, in a merged row and in a mixed one', async () => {
  const ids = [0, 1, 2, 3, 4].map((n) => idAt(n))
  await insertRow(11, ids[0]!, 4)
  const members = [1, 2].map((n) => {
    return { streamId: 11 as StreamId, segmentId: ids[n]!, eventCount: 10 * n }
  })
  await insertRow(11, ids[1]!, 30, [ids[2]!, encodeMembers(11 as StreamId, members)])
  const runs = [3, 4].map((n) => ({
    streamId: n as StreamId,
    segmentId: ids[n]!,
    eventCount: n,
    rawBytes: 1,
    sentBytes: 1,
    storedBytes: 1,
  }))
  await insertRow(0, ids[3]!, 7, [ids[4]!, encodeMembers(MIXED_STREAM, runs)])
  await database.postgres.query(
    'INSERT INTO segment_runs VALUES (3, $1, $1, 0, 3, 1, 1, 1), (4, $2, $1, 3, 4, 1, 1, 1)',
    [String(ids[3]), String(ids[4])],
  )
  await store.record(held, [aside(11, ids[0]!), aside(11, ids[2]!), aside(4, ids[4]!)])
  await store.record(held, [aside(11, ids[0]!, 1)])
  assert.deepEqual(await store.readRetries(NODE), [], 'nobody asked')
  assert.deepEqual(
    [await store.askToRetry(11 as StreamId), await store.askToRetry(4 as StreamId)],
    [2, 1],
  )
  assert.deepEqual(await store.readRetries(NODE + 1), [], "another node's")
  const payload = Buffer.of(7)
  const retried = (await store.readRetries(NODE)).map(({ streamId, segmentId, ...row }) => {
    const [{ firstEvent, eventCount } = {}, ...others] = row.segments
    assert.deepEqual([row.payload, others], [payload, []])
    return [streamId, segmentId, firstEvent, eventCount]
  })
  assert.deepEqual(retried, [
    [11, ids[0], 0, 4],
    [11, ids[2], 10, 20],
    [4, ids[4], 3, 4],
  ])
  assert.deepEqual(await store.count(NODE), { segments: 3, retries: 3 })
  // It failed once more.
  await store.record(held, [aside(11, ids[0]!, 1)])
  assert.deepEqual(await store.count(NODE), { segments: 3, retries: 2 })
  await store.remove([aside(11, ids[2]!), aside(4, ids[4]!)])
  assert.deepEqual(await kept(11), [[ids[0], 7]])
  await store.forgetAfter(held, idAt(-1))
  assert.deepEqual(await kept(11), [])
})

test('it goes with its segment: by age, by a stream that is deleted, or unnoticed', async () => {
  const ids = [10, 11, 12].map((n) => idAt(n))
  for (const id of ids) await insertRow(12, id, 1)
  await store.record(held, [...ids.map((id) => aside(12, id)), aside(12, idAt(13))])
  const retention = new RetentionStore(database.postgres, new ControlDirectory(database.postgres))
  await retention.mark(12 as StreamId, ids[1]!)
  await store.record(held, [aside(12, ids[0]!)])
  assert.deepEqual(await store.readReasons(12 as StreamId).then(([first]) => first?.count), 3)
  await retention.removeRows(12 as StreamId, 100)
  assert.deepEqual(
    (await kept(12)).map(([id]) => id),
    [ids[1], ids[2], idAt(13)],
  )
  await store.record(held, [aside(12, ids[0]!)])
  assert.equal((await kept(12)).length, 3, 'removed segments are not set aside')
  // Asked for, and no row holds it.
  await store.askToRetry(12 as StreamId)
  assert.equal((await store.readRetries(NODE)).length, 2)
  assert.equal((await kept(12)).length, 2)
  await database.postgres.query('DELETE FROM segments WHERE stream_id = 12')
  await database.postgres.query(
    `INSERT INTO streams (stream_id, name, owner, retention_ms, parse_user_agents,
       redact_sensitive, redact_fields, text_fields, otlp_context, field_soft_cap, field_hard_cap,
       shape_soft_cap, shape_hard_cap, deleted_at) OVERRIDING SYSTEM VALUE
     VALUES (12, 'x', 'y', 1, false, false, '{}', '{}', 'drop', 1, 1, 1, 1,
       now() - interval '1 day')`,
  )
  assert.equal(await retention.purgeDeleted(), 1)
  assert.deepEqual(await kept(12), [])
})

test('the numbers of the allow-list bear these names, and values give one of them', async () => {
  const engine = await openTestClickHouse()
  const clickHouse = new ClickHouse({ url: engine.url })
  try {
    const numbers = [...BAD_DATA_CODES.keys()]
    const rows = await clickHouse.query<{ number: number; name: string }>(
      `SELECT arrayJoin({numbers:Array(Int32)}) AS number, errorCodeToName(number) AS name`,
      { numbers },
    )
    assert.deepEqual(new Map(rows.map(({ number, name }) => [number, name])), BAD_DATA_CODES)
    await ensureClickHouse(clickHouse)
    const table = `${clickHouse.database}.t`
    await clickHouse.command(`CREATE TABLE ${table} (at DateTime) ENGINE = Memory`)
    const secret = 'not-a-time-4711'
    const csv = clickHouse.insertNative(`INSERT INTO ${table} FORMAT CSV`, [
      Buffer.from(`"${secret}"\n`),
    ])
    const error = await csv.then(
      () => assert.fail('inserted'),
      (cause: unknown) => cause,
    )
    assert.ok(error instanceof StoreError)
    assert.equal(error.kind, 'bad_data')
    assert.ok(!error.message.includes('4711'), error.message)
    const missing = clickHouse.insertNative(`INSERT INTO ${table} (other) FORMAT CSV`, [
      Buffer.of(10),
    ])
    await assert.rejects(missing, { kind: 'other', clickHouseName: 'NO_SUCH_COLUMN_IN_TABLE' })
  } finally {
    await clickHouse.close()
    await engine.close()
  }
})
