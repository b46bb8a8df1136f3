/**
 * Goal: tables of an earlier version get the columns that they lack, whether they are there at the
 * start or appear later; their rows say that they have no pattern, new rows have theirs.
 * Method: a real engine, tables without the column, and the workers' blocks.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { stampBlock } from '../../../src/materialize/stamp.ts'
import { MIXED_STREAM } from '../../../src/model/mixed-runs.ts'
import { tryReadTemplate } from '../../../src/model/patterns/pattern-template.ts'
import { makeSegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../../src/store/migrations/run.ts'
import { addLaterColumns } from '../../../src/store/projection/later-columns.ts'
import {
  createTableSql,
  ProjectionStore,
  projectionTable,
} from '../../../src/store/projection/projection-store.ts'
import { IngestPipeline } from '../../../workers/ingest.ts'
import { openTestClickHouse, type TestStore } from '../../support/stores.ts'
import { batchOf } from '../../workers/batch-of.ts'

const RECEIVED_MS = 1_767_323_045_000
const OLD = 7_001 as StreamId
const LATE = 7_002 as StreamId

let store: TestStore
let clickHouse: ClickHouse

before(async () => {
  store = await openTestClickHouse()
  clickHouse = new ClickHouse({ url: store.url })
  await ensureClickHouse(clickHouse)
})

after(async () => {
  await clickHouse?.close()
  await store?.close()
})

const tableOf = (streamId: StreamId) => projectionTable(clickHouse.database, streamId)

/** A table as it was before there were patterns, with a row. */
async function makeOld(streamId: StreamId): Promise<void> {
  await clickHouse.command(createTableSql(clickHouse.database, streamId))
  const table = tableOf(streamId)
  await clickHouse.command(`ALTER TABLE ${table} DROP COLUMN pattern`)
  await clickHouse.command(
    `INSERT INTO ${table} (segment_id, ingested_at, payload) VALUES
     (1, fromUnixTimestamp64Milli(${RECEIVED_MS}), '{"message":"user 1"}')`,
  )
}

async function insert(streamId: StreamId): Promise<void> {
  const batch = batchOf('{"message":"user 12"}\n{"n":1}')
  const owners = [{ streamId: 5 as StreamId, parts: 1 }]
  const given = streamId === MIXED_STREAM ? { ...batch, streamId: MIXED_STREAM, owners } : batch
  const { block } = new IngestPipeline().run(given).segments[0]!
  stampBlock(block, makeSegmentId({ ms: RECEIVED_MS, node: 1, counter: 1 + (streamId % 100) }))
  const projection = new ProjectionStore(clickHouse, { nodeId: 1, epoch: 1n })
  await projection.insert(streamId, [block.bytes], 2)
}

async function patternsOf(streamId: StreamId): Promise<string[]> {
  const rows = await clickHouse.query<{ id: string }>(
    `SELECT leftPad(lower(hex(pattern)), 16, '0') AS id FROM ${tableOf(streamId)}
     ORDER BY segment_id, ordinal`,
  )
  return rows.map(({ id }) => id)
}

test('tables that lack columns get them, and old rows have no pattern', async () => {
  await makeOld(OLD)
  await makeOld(MIXED_STREAM)
  assert.equal(await addLaterColumns(clickHouse), 2)
  assert.equal(await addLaterColumns(clickHouse), 0)
  // Made by a node of the earlier version after this one has started.
  await makeOld(LATE)
  const { id } = tryReadTemplate('user 12')!
  const none = '0'.repeat(16)
  for (const streamId of [OLD, MIXED_STREAM, LATE]) {
    await insert(streamId)
    assert.deepEqual(await patternsOf(streamId), [none, id, none])
  }
})
