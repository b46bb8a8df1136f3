/**
 * Goal: what streams no longer hold leaves the projection table that they share, without a row of
 * another stream, and what each has there counts as its own.
 * Method: real stores; rows as inserts would leave them, marks as retention would set them.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { projectionSizes } from '../../src/retain/projection-sizes.ts'
import { MixedParts } from '../../src/store/projection/mixed-parts.ts'
import { ProjectionParts } from '../../src/store/projection/projection-parts.ts'
import { createTableSql, projectionTable } from '../../src/store/projection/projection-store.ts'
import { insertProjected, type ProjectedSegment } from '../store/projection/projected-rows.ts'
import { eventually } from '../store/temporary.ts'
import { NEVER, RetainHarness } from './retain-harness.ts'

const tableOf = (streamId: StreamId) => projectionTable(harness.clickhouse!.database, streamId)

const DAY_MS = 86_400_000
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
/** The noon before last: no mark that is made of the present time lies in it. */
const NOON = TODAY - 2 * DAY_MS + DAY_MS / 2

let harness: RetainHarness

before(async () => {
  harness = await RetainHarness.start({ clickhouse: true })
})

afterEach(async () => {
  await harness.clickhouse!.command(`TRUNCATE TABLE IF EXISTS ${tableOf(MIXED_STREAM)} SYNC`)
  harness.observed.length = 0
})

after(async () => harness?.close())

const idAt = (ms: number, counter = 0) => makeSegmentId({ ms, node: 1, counter })
const trimmed = () => harness.observed.filter((line) => line.startsWith('trimmed'))

/** `count` segments of ten events each, a second apart. */
function segmentsOf(streamId: StreamId, ms: number, count: number): ProjectedSegment[] {
  const payloads = Array.from({ length: 10 }, (_, n) => `{"n":${n},"text":"${'ab'.repeat(20)}"}`)
  return Array.from({ length: count }, (_, i) => {
    return { streamId, segmentId: idAt(ms + i * 1_000, streamId % 4_096), payloads }
  })
}

async function insert(...segments: readonly ProjectedSegment[][]): Promise<void> {
  await insertProjected(harness.clickhouse!, 'mixed', segments.flat())
}

async function mark(streamId: StreamId, before: SegmentId): Promise<void> {
  await harness.postgres.query(
    `INSERT INTO stream_storage (stream_id, removed_before) VALUES ($1, $2)
     ON CONFLICT (stream_id) DO UPDATE SET removed_before = excluded.removed_before`,
    [streamId, String(before)],
  )
}

/** Rows of the shared table on disk, removed ones that are still there included. */
async function rowsLeft(streamId?: StreamId): Promise<number> {
  const rows = await harness.clickhouse!.query<{ n: number }>(
    `SELECT toFloat64(count()) AS n FROM ${tableOf(MIXED_STREAM)}
     WHERE {stream:UInt32} = 0 OR stream_id = {stream:UInt32}`,
    { stream: streamId ?? 0 },
  )
  return rows[0]!.n
}

async function mutations(): Promise<number> {
  const rows = await harness.clickhouse!.query<{ n: number }>(
    `SELECT toFloat64(count()) AS n FROM system.mutations WHERE table = 'events_0'`,
  )
  return rows[0]!.n
}

async function recorded(streamId: StreamId) {
  const { rows } = await harness.postgres.query<{ rows: number; bytes: number }>(
    `SELECT projection_rows::float8 AS rows, projection_bytes::float8 AS bytes
     FROM stream_storage WHERE stream_id = $1`,
    [streamId],
  )
  return rows[0]
}

test('without the table, or with an empty one, there is nothing to do', async () => {
  assert.deepEqual(await new MixedParts(harness.clickhouse!).listPartitions(), [])
  await harness.newTrimmer().round(NEVER)
  await harness.clickhouse!.command(createTableSql(harness.clickhouse!.database, MIXED_STREAM))
  await harness.newTrimmer().round(NEVER)
  assert.deepEqual(harness.observed, [])
  const tables = await new ProjectionParts(harness.clickhouse!).listTables()
  assert.deepEqual(tables, [], 'it is no table of a stream')
})

test('a day is dropped as a whole when no stream has a row of it any more', async () => {
  const [one, two] = [await harness.newStream(), await harness.newStream()]
  await insert(segmentsOf(one, NOON - DAY_MS, 3), segmentsOf(two, NOON - DAY_MS, 3))
  await insert(segmentsOf(one, NOON, 2), segmentsOf(two, NOON, 2))
  const trimmer = harness.newTrimmer(3_600_000)
  await mark(one, idAt(NOON - DAY_MS / 2))
  await trimmer.round(NEVER)
  await eventually('the one is out of it', async () => (await rowsLeft(one)) === 20)
  assert.equal(await rowsLeft(two), 50)
  assert.deepEqual(trimmed(), ['trimmed rows'])
  // As a whole: that needs no waiting for the next look.
  await mark(two, idAt(NOON - DAY_MS / 2))
  const before = await mutations()
  await eventually('dropped', async () => {
    await trimmer.round(NEVER)
    return (await rowsLeft()) === 40
  })
  assert.deepEqual(trimmed(), ['trimmed rows', 'trimmed partition'])
  assert.equal(await mutations(), before)
  assert.deepEqual([await harness.counted(one), await harness.counted(two)], [20, 20])
})

test('within a day all streams lose theirs in one go, once a quarter is removed', async () => {
  const streams: StreamId[] = []
  for (let i = 0; i < 5; i++) streams.push(await harness.newStream())
  const [kept, ...losing] = streams as [StreamId, ...StreamId[]]
  await insert(...streams.map((streamId) => segmentsOf(streamId, NOON, 20)))
  const trimmer = harness.newTrimmer()
  const markAll = async (index: number) => {
    for (const [i, id] of losing.entries()) await mark(id, idAt(NOON + (index + i) * 1_000))
  }
  await markAll(2) // 2, 3, 4 and 5 segments of 100.
  const before = await mutations()
  await trimmer.round(NEVER)
  assert.equal(await rowsLeft(), 1_000, 'a seventh waits')
  assert.equal(await harness.counted(losing[1]!), 170, 'unseen')
  await markAll(10)
  await trimmer.round(NEVER)
  await eventually('deleted', async () => (await rowsLeft()) === 1_000 - 460)
  for (const [i, id] of losing.entries()) assert.equal(await rowsLeft(id), 100 - i * 10)
  assert.equal(await rowsLeft(kept), 200)
  assert.equal(await mutations(), before + 1)
  assert.deepEqual(trimmed(), ['trimmed rows'])
  // What a node inserts late is unseen, and goes as the rest did.
  await insert(segmentsOf(losing[0]!, NOON, 10), segmentsOf(losing[1]!, NOON, 11))
  assert.equal(await harness.counted(losing[1]!), 90)
  await eventually('deleted again', async () => {
    await trimmer.round(NEVER)
    return (await rowsLeft()) === 1_000 - 460
  })
})

test('less than a quarter goes, too, when nothing more will come of it', async () => {
  const [one, two] = [await harness.newStream(), await harness.newStream()]
  await insert(segmentsOf(one, NOON, 1), segmentsOf(two, NOON, 99))
  const trimmer = harness.newTrimmer()
  await mark(one, idAt(NOON + DAY_MS / 2 - 1))
  await trimmer.round(NEVER)
  assert.equal(await rowsLeft(one), 10, 'its day is not over')
  await mark(one, idAt(NOON + DAY_MS / 2))
  await mark(two, idAt(NOON + 1_000)) // One more that is removed, of a stream that goes on.
  await trimmer.round(NEVER)
  assert.equal(await rowsLeft(), 1_000)
  await mark(two, idAt(NOON))
  await trimmer.round(NEVER)
  await eventually('deleted', async () => (await rowsLeft(one)) === 0)
  assert.equal(await rowsLeft(two), 990)
})

test('a deleted stream goes at once, today too; unknown ones are left alone', async () => {
  const [gone, kept] = [await harness.newStream(), await harness.newStream()]
  const stranger = 999_999 as StreamId
  await insert(segmentsOf(gone, TODAY, 1), segmentsOf(kept, TODAY, 50))
  await insert(segmentsOf(gone, NOON, 5), segmentsOf(stranger, NOON, 5))
  await insert(segmentsOf(gone, NOON - DAY_MS, 2))
  await harness.control.deleteStream(gone)
  await mark(kept, idAt(TODAY + 1_000)) // By itself that would wait.
  const trimmer = harness.newTrimmer()
  await eventually('it is gone', async () => {
    await trimmer.round(NEVER)
    return (await rowsLeft(gone)) === 0
  })
  assert.deepEqual([await rowsLeft(kept), await rowsLeft(stranger)], [490, 50])
  assert.deepEqual(trimmed().sort(), ['trimmed partition', 'trimmed rows', 'trimmed rows'])
})

test('a deleted stream is not gone while the raw store has a run of it', async () => {
  const streamId = await harness.newStream()
  await harness.control.deleteStream(streamId)
  const size = { streamId, rows: 1, bytes: 1 }
  const state = async () => (await harness.storage.recordProjection([size])).get(streamId)!
  await harness.postgres.query(
    `INSERT INTO segment_runs (stream_id, segment_id, row_id, first_event, event_count,
       raw_bytes, sent_bytes, stored_bytes) VALUES ($1, 5, 5, 0, 1, 1, 1, 1)`,
    [streamId],
  )
  const held = await state()
  assert.deepEqual([held.isDeleted, held.isGone, held.removedBefore], [true, false, 0n])
  await harness.postgres.query('DELETE FROM segment_runs WHERE stream_id = $1', [streamId])
  assert.equal((await state()).isGone, true)
})

test('a day is looked into once in a while only', async () => {
  const [one, two] = [await harness.newStream(), await harness.newStream()]
  await insert(segmentsOf(one, NOON, 10), segmentsOf(two, NOON, 10))
  const trimmer = harness.newTrimmer(3_600_000)
  await mark(one, idAt(NOON + 1_000))
  await trimmer.round(NEVER)
  await mark(one, idAt(NOON + 9_000))
  await trimmer.round(NEVER)
  assert.deepEqual(trimmed(), [], 'not again so soon')
  await harness.newTrimmer(3_600_000).round(NEVER)
  await eventually('deleted', async () => (await rowsLeft()) === 110)
})

test('a thousand streams with marks of their own fit into requests', async () => {
  const mixed = new MixedParts(harness.clickhouse!)
  const streams = Array.from({ length: 1_000 }, (_, i) => (2_000_000_000 + i) as StreamId)
  const payloads = ['{"n":1}']
  await insert(
    streams.flatMap((streamId) => [
      { streamId, segmentId: idAt(NOON), payloads },
      { streamId, segmentId: idAt(NOON, 1), payloads },
    ]),
  )
  const marks = streams.slice(1).map((streamId) => [streamId, idAt(NOON, 1)] as const)
  const [partition] = await mixed.listPartitions()
  assert.equal(partition!.shares.size, 1_000)
  assert.deepEqual(partition!.shares.get(streams[7]!), { rows: 2, oldestMs: NOON })
  assert.equal(await mixed.countBefore(partition!.id, marks), 999)
  await mixed.startDelete(partition!.id, marks)
  await eventually('deleted', async () => (await rowsLeft()) === 1_001)
  assert.equal(await rowsLeft(streams[0]), 2)
})

test('what a stream has is its table and its share of the common one', async () => {
  const [small, both] = [await harness.newStream(), await harness.newStream()]
  await insert(segmentsOf(small, NOON, 30), segmentsOf(both, NOON, 5))
  await insert(segmentsOf(both, NOON + DAY_MS, 5))
  await insertProjected(harness.clickhouse!, 'own', segmentsOf(both, NOON, 2))
  const tables = await new ProjectionParts(harness.clickhouse!).listTables()
  const own = tables.find(({ streamId }) => streamId === both)!
  const mixed = new MixedParts(harness.clickhouse!)
  const partitions = await mixed.listPartitions()
  const [first = 0, second = 0] = partitions.map((partition) => partition.bytes)
  const sizes = projectionSizes(tables, partitions, new Map())
  const share = { rows: 300, bytes: Math.round((first * 300) / 350) }
  assert.deepEqual(sizes.get(small), { streamId: small, ...share })
  const total = { rows: 120, bytes: Math.round(own.bytes + (first * 50) / 350 + second) }
  assert.deepEqual(sizes.get(both), { streamId: both, ...total })
  assert.ok(own.bytes > 0 && share.bytes > 0)

  // Who sends large events does not fill the caps of those who send small ones.
  const means = new Map([
    [small, 10],
    [both, 10_000],
  ])
  const weighed = projectionSizes(tables, partitions, means)
  const smallBytes = weighed.get(small)?.bytes ?? 0
  const expected = (first * 300 * 50) / (300 * 50 + 50 * 10_040)
  assert.ok(Math.abs(smallBytes - expected) <= 1, `${smallBytes}, not ${expected}`)
  const all = (weighed.get(both)?.bytes ?? 0) + smallBytes
  assert.ok(Math.abs(all - own.bytes - first - second) <= 2, 'no byte is lost')

  const trimmer = harness.newTrimmer()
  await trimmer.round(NEVER)
  assert.deepEqual(await recorded(small), share)
  assert.deepEqual(await recorded(both), total)
  await mark(small, idAt(NOON + DAY_MS))
  await trimmer.round(NEVER)
  await eventually('deleted', async () => (await rowsLeft(small)) === 0)
  await eventually('it is recorded', async () => {
    await trimmer.round(NEVER)
    return (await recorded(small))?.rows === 0
  })
  assert.deepEqual(await recorded(small), { rows: 0, bytes: 0 })
  assert.equal((await recorded(both))?.rows, 120)
})

test('a day is counted again when its parts are others, and not too often', async () => {
  const streamId = await harness.newStream()
  await insert(segmentsOf(streamId, NOON, 1))
  const asked: string[] = []
  const { clickhouse } = harness
  const recording = Object.create(clickhouse!, {
    query: {
      value: async (sql: string, ...rest: []) => {
        if (/groupArray/.test(sql)) {
          asked.push(sql)
          await sleep(100) // A count that takes this long is done every two seconds.
        }
        return clickhouse!.query(sql, ...rest)
      },
    },
  })
  const mixed = new MixedParts(recording)
  const rows = async () => (await mixed.listPartitions())[0]!.shares.get(streamId)?.rows
  assert.equal(await rows(), 10)
  assert.equal(await rows(), 10)
  assert.equal(asked.length, 1)
  await insert(segmentsOf(streamId, NOON, 1))
  assert.equal(await rows(), 10, 'so soon it is the old count')
  await eventually('counted', async () => (await rows()) === 20)
  assert.equal(asked.length, 2)
})
