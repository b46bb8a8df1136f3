/**
 * Goal: a range of event times reads what may be in it, also when old events were sent today; and
 * what is in whole units of it is counted without reading rows.
 * Method: the real engine; three parts of one day: live events, old ones, and some of both.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../../../src/language/parse.ts'
import { GRANULE_ROWS } from '../../../../src/model/projection.ts'
import type { SegmentId } from '../../../../src/model/segment-id.ts'
import { makeSegmentId, SEGMENT_ID_MAX } from '../../../../src/model/segment-id.ts'
import type { StreamId } from '../../../../src/model/stream.ts'
import { NO_NEEDS } from '../../../../src/model/table-needs.ts'
import { ProjectionTables } from '../../../../src/store/projection/compile/projection-tables.ts'
import {
  createTableSql,
  projectionTable,
} from '../../../../src/store/projection/projection-store.ts'
import {
  AggregateStore,
  type AggregateTask,
} from '../../../../src/store/projection/reads/aggregate-store.ts'
import { IdStore } from '../../../../src/store/projection/reads/id-store.ts'
import { TableKeeper } from '../../../../src/store/projection/table-keeper.ts'
import { ProjectionHarness } from '../../../block/projection-harness.ts'
import { learnedCatalog } from './test-catalog.ts'

const harness = new ProjectionHarness()
const STREAM = 1 as StreamId
const ROWS = 10 * GRANULE_ROWS
const NOW_MS = Date.parse('2026-03-08T12:00:00Z')
const OLD_MS = NOW_MS - 7 * 86_400_000
/** Events of a part are so far from one another. */
const STEP_MS = 10

let filled: Promise<void> | undefined

/** Once for all tests. */
function fill(): Promise<void> {
  filled ??= insertAll()
  return filled
}

async function insertAll(): Promise<void> {
  const { clickhouse } = harness
  await clickhouse.command(createTableSql(clickhouse.database, STREAM))
  const keeper = new TableKeeper(clickhouse)
  await keeper.alter((await keeper.listForms(STREAM))[0]!, NO_NEEDS)
  const table = projectionTable(clickhouse.database, STREAM)
  await clickhouse.command(`SYSTEM STOP MERGES ${table}`)
  const live = `${NOW_MS} + number * ${STEP_MS}`
  const old = `${OLD_MS} + number * ${STEP_MS}`
  for (const [part, eventMs] of [
    live,
    old,
    `if(number < ${ROWS / 2}, ${live}, ${old})`,
  ].entries()) {
    const segment = makeSegmentId({ ms: NOW_MS + part, node: 1, counter: 0 })
    const at = (ms: string | number) => `fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC')`
    await clickhouse.command(`INSERT INTO ${table}
      (segment_id, ordinal, ingested_at, event_time, shape, level, payload)
      SELECT ${segment}, number, ${at(NOW_MS + part)}, ${at(eventMs)}, 1, 'info', '{"a":1}'
      FROM numbers(${ROWS}) SETTINGS max_threads = 1, max_insert_threads = 1,
        max_block_size = 1000000, min_insert_block_size_rows = 1000000`)
  }
}

const STREAMS = [
  { streamId: STREAM, catalog: learnedCatalog(STREAM, [], {}), removedBefore: 0n as SegmentId },
]

async function count(fromMs: number, toMs: number, changes: Partial<AggregateTask> = {}) {
  const store = new AggregateStore(harness.clickhouse, new ProjectionTables(harness.clickhouse))
  const { total, stats } = await store.run({
    streams: STREAMS,
    query: parse(''),
    timeBasis: 'event_time',
    fromNs: BigInt(fromMs) * 1_000_000n,
    toNs: BigInt(toMs) * 1_000_000n,
    aggregates: [{ fn: 'count', field: undefined, query: undefined, name: 'count' }],
    keys: [],
    order: { of: 'aggregate', index: 0, isDescending: true },
    limit: 10,
    hasOthers: false,
    timeoutMs: 60_000,
    ...changes,
  })
  return { total: Number(total), rowsRead: stats.rowsRead }
}

test('a range of old event times reads the granules that may have some', async () => {
  await fill()
  // Half a second: it is not counted in whole seconds.
  const inPart = 50
  const at = OLD_MS + 100_003
  const few = await count(at, at + inPart * STEP_MS)
  assert.equal(few.total, inPart)
  assert(few.rowsRead <= 2 * GRANULE_ROWS, `${few.rowsRead} rows`)
  const live = await count(NOW_MS + 100_003, NOW_MS + 100_003 + inPart * STEP_MS)
  assert.equal(live.total, 2 * inPart)
  assert(live.rowsRead <= 4 * GRANULE_ROWS, `${live.rowsRead} rows`)
})

test('whole minutes are counted from a few rows, the rest from its granules', async () => {
  await fill()
  const all = await count(OLD_MS - 1, OLD_MS + ROWS * STEP_MS + 1)
  assert.equal(all.total, ROWS + ROWS / 2)
  assert(all.rowsRead <= 4 * GRANULE_ROWS + 10_000, `${all.rowsRead} rows`)
})

test('in the order of event times only those are read that may be on the page', async () => {
  await fill()
  const store = new IdStore(harness.clickhouse, new ProjectionTables(harness.clickhouse))
  const find = (newestFirst: boolean, limit: number) => {
    return store.findTimed(
      {
        streams: STREAMS,
        query: parse('_level:info'),
        eventTime: {
          fromNs: BigInt(OLD_MS) * 1_000_000n,
          toNs: BigInt(OLD_MS + 1_000_000) * 1_000_000n,
        },
        range: { start: 0n, end: SEGMENT_ID_MAX },
        before: undefined,
        after: undefined,
        newestFirst,
        limit,
        msMax: 60_000,
      },
      AbortSignal.timeout(60_000),
    )
  }
  const oldest = await find(false, 3)
  assert.deepEqual(
    oldest.map(({ timeNs, ordinal }) => [timeNs, ordinal]),
    [0, 1, 2].map((n) => [BigInt(OLD_MS + n * STEP_MS) * 1_000_000n, n]),
  )
  const newest = await find(true, 4)
  const times = newest.map(({ timeNs }) => Number(timeNs / 1_000_000n) - OLD_MS)
  assert.deepEqual(times, [999_990, 999_990, 999_980, 999_980])
  assert.deepEqual(
    newest.map(({ segmentId }) => segmentId > newest[1]!.segmentId),
    [true, false, true, false],
  )
})
