/**
 * Goal: large parts of a stream's table are left alone, until a day has too many.
 * Method: a real engine. Inserts that make a part each, with bounds small enough for them.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MERGE_BYTES_MAX, MERGE_CROWDED_BYTES_MAX } from '../../src/limits.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { MergeBounds } from '../../src/retain/merge-bounds.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ProjectionParts } from '../../src/store/projection/projection-parts.ts'
import {
  createTableSql,
  mergeSettings,
  projectionTable,
} from '../../src/store/projection/projection-store.ts'
import { openTestClickHouse, type TestStore } from '../support/stores.ts'

const tableOf = (streamId: StreamId) => projectionTable(clickhouse.database, streamId)

const NEVER = new AbortController().signal
const CROWDED = { day: 6, busyDay: 6, all: 9 }
const RELAXED = { day: 3, all: 5 }
const [BUSY, QUIET, OLD] = [1, 2, 3].map((id) => id as StreamId) as [StreamId, StreamId, StreamId]
let store: TestStore
let clickhouse: ClickHouse
let parts: ProjectionParts

before(async () => {
  store = await openTestClickHouse()
  clickhouse = new ClickHouse({ url: store.url })
  parts = new ProjectionParts(clickhouse)
  await clickhouse.command(`CREATE DATABASE ${clickhouse.database}`)
  for (const streamId of [BUSY, QUIET, OLD]) {
    await clickhouse.command(createTableSql(clickhouse.database, streamId))
    await clickhouse.command(`SYSTEM STOP MERGES ${tableOf(streamId)}`)
  }
})

after(async () => {
  await clickhouse?.close()
  await store?.close()
})

/** Inserts that make a part each, on one day. */
async function insert(streamId: StreamId, count: number, day = '2026-05-05'): Promise<void> {
  for (let i = 0; i < count; i++) {
    await clickhouse.command(
      `INSERT INTO ${tableOf(streamId)} (segment_id, ingested_at)
       SELECT ${i}, toDateTime64('${day} 10:00:00', 3, 'UTC')`,
    )
  }
}

/** Merges up to so many bytes. */
async function boundOf(streamId: StreamId): Promise<number> {
  const rows = await clickhouse.query<{ bytes: string }>(
    `SELECT extract(engine_full, 'merge_at_max_space_in_pool = ([0-9]+)') AS bytes,
       extract(engine_full, 'merge_at_min_space_in_pool = ([0-9]+)') AS least
     FROM system.tables WHERE concat(database, '.', name) = {table:String} AND bytes = least`,
    { table: tableOf(streamId) },
  )
  return Number(rows[0]?.bytes)
}

const bounds = (readEveryMs = 60_000) =>
  new MergeBounds({ parts, crowded: CROWDED, relaxed: RELAXED, readEveryMs })

test('a crowded day raises the bound, for the next process too, until it is relaxed', async () => {
  await insert(BUSY, CROWDED.day - 1)
  await insert(BUSY, 1, '2026-05-06') // Another day's parts do not crowd it.
  await insert(QUIET, 2)
  const first = bounds()
  await first.round(await parts.listTables(), NEVER)
  assert.deepEqual(await Promise.all([BUSY, QUIET].map(boundOf)), [
    MERGE_BYTES_MAX,
    MERGE_BYTES_MAX,
  ])

  await insert(BUSY, 1)
  const tables = await parts.listTables()
  assert.deepEqual(
    tables.map(({ streamId, parts: all, dayParts }) => [streamId, all, dayParts]).sort(),
    [
      [BUSY, CROWDED.day + 1, CROWDED.day],
      [QUIET, 2, 2],
      [OLD, 0, 0],
    ].sort(),
  )
  await first.round(tables, NEVER)
  const raised = [MERGE_CROWDED_BYTES_MAX, MERGE_BYTES_MAX]
  assert.deepEqual(await Promise.all([BUSY, QUIET].map(boundOf)), raised)

  // Merged by hand into as many as are neither crowded nor relaxed: nothing changes.
  const next = bounds()
  const halfway = tables.map((table) => ({ ...table, dayParts: RELAXED.day }))
  await next.round(halfway, NEVER)
  assert.deepEqual(await Promise.all([BUSY, QUIET].map(boundOf)), raised)
  await clickhouse.command(`SYSTEM START MERGES ${tableOf(BUSY)}`)
  await clickhouse.command(`OPTIMIZE TABLE ${tableOf(BUSY)} FINAL`)
  await next.round(await parts.listTables(), NEVER)
  assert.equal(await boundOf(BUSY), MERGE_BYTES_MAX)
})

test('a table that was made with another bound gets the present one', async () => {
  const settings = mergeSettings(1024 ** 3)
  await clickhouse.command(`ALTER TABLE ${tableOf(OLD)} MODIFY SETTING ${settings}`)
  assert.deepEqual(await parts.listOtherwiseMerged(), [OLD])
  await bounds().round(await parts.listTables(), NEVER)
  assert.equal(await boundOf(OLD), MERGE_BYTES_MAX)
  assert.deepEqual(await parts.listOtherwiseMerged(), [])
})

test('many parts crowd a table even when no day of it is; what others set is noticed', async () => {
  const crowded = [{ streamId: OLD, parts: CROWDED.all, dayParts: 1, narrowParts: 0 }]
  const [remembering, reading] = [bounds(), bounds(0)]
  await remembering.round(crowded, NEVER)
  assert.equal(await boundOf(OLD), MERGE_CROWDED_BYTES_MAX)
  await reading.round([{ ...crowded[0]!, parts: RELAXED.all }], NEVER)
  assert.equal(await boundOf(OLD), MERGE_CROWDED_BYTES_MAX, 'not relaxed yet')
  await reading.round([{ ...crowded[0]!, parts: RELAXED.all - 1 }], NEVER)
  assert.equal(await boundOf(OLD), MERGE_BYTES_MAX)
  // As another node would, behind its back.
  await parts.setMergeBytes(OLD, MERGE_CROWDED_BYTES_MAX)
  await reading.round([{ ...crowded[0]!, parts: 0 }], NEVER)
  assert.equal(await boundOf(OLD), MERGE_BYTES_MAX)
})

test('a table that cannot be altered keeps the others from nothing', async () => {
  const gone = { streamId: 99 as StreamId, parts: CROWDED.all, dayParts: 0, narrowParts: 0 }
  const busy = { ...gone, streamId: QUIET }
  await assert.rejects(bounds().round([gone, busy], NEVER), /events_99/)
  assert.equal(await boundOf(QUIET), MERGE_CROWDED_BYTES_MAX)
})
