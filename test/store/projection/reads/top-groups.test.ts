/**
 * Goal: the groups with the most events are found among more than there is memory for, with exact
 * counts; and how large a missing one may be is said truly.
 * Method: the real engine; more groups than may be built, some of them large; the same computed
 * plainly.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../../../src/language/parse.ts'
import type { GroupKey } from '../../../../src/model/aggregates.ts'
import type { SegmentId } from '../../../../src/model/segment-id.ts'
import type { StreamId } from '../../../../src/model/stream.ts'
import { ProjectionTables } from '../../../../src/store/projection/compile/projection-tables.ts'
import {
  createTableSql,
  projectionTable,
} from '../../../../src/store/projection/projection-store.ts'
import {
  AggregateStore,
  type AggregateTask,
} from '../../../../src/store/projection/reads/aggregate-store.ts'
import { ProjectionHarness } from '../../../block/projection-harness.ts'
import { learnedCatalog } from '../compile/test-catalog.ts'

const harness = new ProjectionHarness()
const STREAM = 1 as StreamId
const SMALL = 300_000
const GROUPS_MAX = 100_000
/** Group `big3` has 400 events; every other one event. */
const BIG = 20
const bigCount = (index: number) => 100 * (index + 1)
const START_MS = Date.parse('2026-03-01T12:00:00Z')
const EVENTS = SMALL + Array.from({ length: BIG }, (_, n) => bigCount(n)).reduce((a, b) => a + b)

async function fill(): Promise<void> {
  const { clickhouse } = harness
  await clickhouse.command(createTableSql(clickhouse.database, STREAM))
  const table = projectionTable(clickhouse.database, STREAM)
  const bigs = Array.from({ length: BIG }, (_, n) => `arrayWithConstant(${bigCount(n)}, ${n})`)
  const insert = `INSERT INTO ${table}
    (segment_id, ordinal, ingested_at, event_time, shape, level, payload)`
  const at = `fromUnixTimestamp64Milli(${START_MS} + toInt64(n), 'UTC')`
  await clickhouse.command(`${insert} SELECT 1, number, ${at.replace('n)', 'number)')}, now64(9), 0,
    if(number % 2 = 0, 'error', ''), concat('{"user":"u', toString(number), '","ms":1}')
    FROM numbers(${SMALL})`)
  await clickhouse.command(`${insert} SELECT 2, rowNumberInAllBlocks(), ${at}, now64(9), 0, 'info',
    concat('{"user":"big', toString(big), '","ms":', toString(big), '}')
    FROM (SELECT arrayJoin(arrayConcat(${bigs.join(', ')})) AS big, 1000 AS n)`)
}

const USER: GroupKey = { kind: 'path', path: 'user', name: 'user' }
const COUNT = { fn: 'count', field: undefined, query: undefined, name: 'count' } as const

async function run(changes: Partial<AggregateTask>) {
  const store = new AggregateStore(harness.clickhouse, new ProjectionTables(harness.clickhouse), {
    groupsMax: GROUPS_MAX,
  })
  const types = { user: { scalars: ['String'] }, ms: { scalars: ['Int64'] } } as const
  const catalog = learnedCatalog(STREAM, [], types)
  return store.run({
    streams: [{ streamId: STREAM, catalog, removedBefore: 0n as SegmentId }],
    query: parse(''),
    timeBasis: 'ingested_at',
    fromNs: BigInt(START_MS) * 1_000_000n,
    toNs: BigInt(START_MS + 10_000_000) * 1_000_000n,
    aggregates: [COUNT],
    keys: [USER],
    order: { of: 'aggregate', index: 0, isDescending: true },
    limit: 10,
    hasOthers: false,
    timeoutMs: 60_000,
    ...changes,
  })
}

const largest = (count: number) => {
  return Array.from({ length: count }, (_, n) => {
    return [`big${BIG - 1 - n}`, String(bigCount(BIG - 1 - n))]
  })
}

test('the largest of more groups than may be built', async () => {
  await fill()
  const top = await run({})
  assert.deepEqual(
    top.rows.map(({ group, values }) => [group[0]!.text, values[0]]),
    largest(10),
  )
  assert.deepEqual([top.total, top.isEstimated, top.missedMax], [BigInt(EVENTS), true, undefined])
  assert(Math.abs(top.groups - SMALL - BIG) < SMALL / 50, `${top.groups} groups`)

  const ms = { kind: 'path', path: 'ms' } as const
  const withMore = await run({
    aggregates: [
      { fn: 'sum', field: ms, query: undefined, name: 'sum' },
      { ...COUNT, fn: 'rate' },
    ],
    order: { of: 'aggregate', index: 1, isDescending: true },
    keys: [USER, { kind: 'system', label: '_level', name: '_level' }],
    limit: 2,
    hasOthers: true,
  })
  const sum = EVENTS - (EVENTS - SMALL) + bigSum(BIG) - bigSum(2, BIG - 2)
  assert.deepEqual(
    withMore.rows.map(({ group, isOthers, values }) => {
      return [isOthers, ...group.map(({ text }) => text), ...values]
    }),
    [
      [false, 'big19', 'info', String(19 * bigCount(19)), '2000'],
      [false, 'big18', 'info', String(18 * bigCount(18)), '1900'],
      [true, String(sum), String(EVENTS - 2_000 - 1_900)],
    ],
  )
})

/** Of the values `ms` of so many large groups. */
function bigSum(count: number, from = 0): number {
  return Array.from({ length: count }, (_, n) => (from + n) * bigCount(from + n)).reduce(
    (a, b) => a + b,
  )
}

test('in buckets of time, each group is counted in each', async () => {
  const stepMs = 200_000
  const buckets = { startMs: START_MS, stepMs, count: 10, step: '200s', timeZone: 'UTC' }
  const { rows } = await run({
    keys: [USER, { kind: 'bucket', name: '_bucket', buckets }],
    limit: 1,
    hasOthers: true,
  })
  assert.deepEqual(
    rows.map(({ isOthers, bucket, values }) => [isOthers, bucket, values[0]]),
    [
      [false, 0, '2000'],
      [true, 0, String(stepMs + EVENTS - SMALL - 2_000)],
      [true, 1, String(SMALL - stepMs)],
    ],
  )
})

test('where groups may be missing, it says how large those can be', async () => {
  const { rows, missedMax } = await run({ limit: BIG + 5 })
  assert.equal(rows.length, BIG + 5)
  assert.deepEqual(
    rows.slice(0, BIG).map(({ group, values }) => [group[0]!.text, values[0]]),
    largest(BIG),
  )
  assert(missedMax !== undefined && missedMax >= 1 && missedMax < 150, String(missedMax))
})

test('other orders than by events are refused past that many groups', async () => {
  const byKey = run({ order: { of: 'key', index: 0, isDescending: false } })
  await assert.rejects(byKey, /more groups than QUERY_DISTINCT_MAX/)
})
