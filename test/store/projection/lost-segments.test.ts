/**
 * Goal: a node's newest segments are found in all projection tables, and some are removed exactly.
 * Method: real tables of a stream and of those that share one, filled by hand.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MIXED_STREAM } from '../../../src/model/mixed-runs.ts'
import { makeSegmentId, SEGMENT_ID_MAX, type SegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../../src/store/migrations/run.ts'
import { LostSegments } from '../../../src/store/projection/lost-segments.ts'
import { createTableSql, projectionTable } from '../../../src/store/projection/projection-store.ts'
import { openTestClickHouse, type TestStore } from '../../support/stores.ts'

const MS = Date.parse('2026-05-05T23:59:59.990Z')
const OWN = 4 as StreamId
let store: TestStore
let clickhouse: ClickHouse
let segments: LostSegments

const idOf = (n: number, node = 3) => makeSegmentId({ ms: MS + 5 * n, node, counter: n })

async function insert(table: StreamId, streamId: number, segmentId: SegmentId, events: number) {
  const stream = table === MIXED_STREAM ? 'stream_id, ' : ''
  await clickhouse.command(
    `INSERT INTO ${projectionTable(clickhouse.database, table)}
       (${stream}segment_id, ordinal, ingested_at, event_time)
     SELECT ${stream === '' ? '' : `${streamId}, `}{id:UInt64}, number,
       fromUnixTimestamp64Milli(toInt64(bitShiftRight({id:UInt64}, 21)), 'UTC') AS at, at
     FROM numbers({events:UInt32})`,
    { id: String(segmentId), events },
  )
}

before(async () => {
  store = await openTestClickHouse()
  clickhouse = new ClickHouse({ url: store.url })
  segments = new LostSegments(clickhouse)
  await ensureClickHouse(clickhouse)
  for (const table of [OWN, MIXED_STREAM]) {
    await clickhouse.command(createTableSql(clickhouse.database, table))
  }
  // Over midnight, so in two partitions.
  for (const n of [1, 2, 3]) await insert(OWN, OWN, idOf(n), n)
  await insert(OWN, OWN, idOf(3, 9), 1)
  await insert(MIXED_STREAM, 7, idOf(4), 2)
  await insert(MIXED_STREAM, 8, idOf(5), 3)
})

after(async () => {
  await clickhouse?.close()
  await store?.close()
})

const list = async (
  after: SegmentId,
  upTo: SegmentId = SEGMENT_ID_MAX as SegmentId,
  limit = 100,
) => {
  const found = await segments.list(3, { after, upTo }, limit)
  return found.map(({ tableOf, streamId, segmentId, events }) => {
    return [tableOf, streamId, segmentId, events]
  })
}

test('a range of a node is found in all tables', async () => {
  assert.deepEqual(await list(idOf(1)), [
    [MIXED_STREAM, 7, idOf(4), 2],
    [MIXED_STREAM, 8, idOf(5), 3],
    [OWN, OWN, idOf(2), 2],
    [OWN, OWN, idOf(3), 3],
  ])
  assert.deepEqual(await list(idOf(1), idOf(2)), [[OWN, OWN, idOf(2), 2]])
  assert.deepEqual(await list(idOf(5)), [])
  assert.equal((await list(idOf(1), idOf(9), 1)).length, 2, 'at most so many of a table')
})

test('those named are removed when it returns, and no others', async () => {
  const found = await segments.list(3, { after: idOf(2), upTo: idOf(4) }, 100)
  assert.equal(found.length, 2)
  await segments.remove(found)
  assert.deepEqual(await list(0n as SegmentId), [
    [MIXED_STREAM, 8, idOf(5), 3],
    [OWN, OWN, idOf(1), 1],
    [OWN, OWN, idOf(2), 2],
  ])
  const others = await segments.list(9, { after: 0n as SegmentId, upTo: idOf(9, 9) }, 100)
  assert.equal(others.length, 1, 'of another node')
})
