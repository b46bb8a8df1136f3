/**
 * Goal: events that are counted in whole units of time are those that a scan counts, whatever the
 * conditions, the range and its clock, marks of retention, what the catalog has learned from, and
 * the state of the parts; and such a count reads no rows.
 * Method: random rows in the real engine's tables, own, shared, and made before there were counts;
 * inserted, merged, partly deleted; random queries against the same computed plainly.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../../../src/language/parse.ts'
import type { GroupKey } from '../../../../src/model/aggregates.ts'
import type { FieldCatalog } from '../../../../src/model/field-catalog.ts'
import { MIXED_STREAM } from '../../../../src/model/mixed-runs.ts'
import { CONTEXT_SERVICE_AT } from '../../../../src/model/projection.ts'
import { type SegmentId, segmentIdAt } from '../../../../src/model/segment-id.ts'
import type { StreamId } from '../../../../src/model/stream.ts'
import { NO_NEEDS } from '../../../../src/model/table-needs.ts'
import { ProjectionTables } from '../../../../src/store/projection/compile/projection-tables.ts'
import {
  COUNTS_BY_MINUTE,
  countsAlone,
  OWN_COUNTS,
} from '../../../../src/store/projection/counts.ts'
import {
  createTableSql,
  projectionTable,
} from '../../../../src/store/projection/projection-store.ts'
import { AggregateStore } from '../../../../src/store/projection/reads/aggregate-store.ts'
import { TableKeeper } from '../../../../src/store/projection/table-keeper.ts'
import { tableName } from '../../../../src/store/projection/table-names.ts'
import { ProjectionHarness } from '../../../block/projection-harness.ts'
import { fuzzMs } from '../../../support/fuzzing.ts'
import { createRandom } from '../../../support/random.ts'
import {
  type Asked,
  assertSame,
  bucketsFrom,
  everything,
  HOUR_MS,
  LEVELS,
  NS_PER_MS,
  OLD,
  OTHER,
  OWN,
  type Random,
  type Row,
  randomAsked,
  SERVICES,
  SHARED,
  SPAN_MS,
  START_MS,
  segmentIdOf,
} from './counted-asks.ts'
import { learnedCatalog } from './test-catalog.ts'

const harness = new ProjectionHarness()
const { next, seed } = createRandom()
console.log(`TEST_SEED=${seed}`)
const random: Random = {
  below: (end) => Math.floor(next() * end),
  pick: (values) => values[Math.floor(next() * values.length)]!,
}
let counter = 0

function randomRow(stream: StreamId): Row {
  const ms = START_MS + random.below(SPAN_MS)
  const label = random.pick(SERVICES)
  const eventMs = random.pick([ms, ms - random.below(90_000), START_MS - HOUR_MS, -5, 1])
  return {
    stream,
    ms,
    counter: counter++ % 4_000,
    eventNs: BigInt(eventMs) * NS_PER_MS + BigInt(random.below(3)),
    level: random.pick(LEVELS),
    service: label,
    own: random.below(4) > 0 ? label : random.pick([...SERVICES, undefined]),
  }
}

async function insert(table: StreamId, rows: readonly Row[]): Promise<void> {
  const isShared = table === MIXED_STREAM
  const lines = rows.map((row, ordinal) => {
    const { stream, ms, eventNs, level, service, own } = row
    const ownText = own ?? ''
    const context = ownText === service ? '' : contextOf(ownText)
    const payload = own === undefined || own === '' ? '{"a":1}' : JSON.stringify({ service: own })
    const times = [timeText(BigInt(ms) * NS_PER_MS).slice(0, -6), timeText(eventNs)]
    const all = [segmentIdOf(row), ordinal, ...times, 1, level, service, context, payload]
    return `${[...(isShared ? [stream] : []), ...all].join('\t')}\n`
  })
  const columns = 'segment_id, ordinal, ingested_at, event_time, shape, level, service, context'
  const into = projectionTable(harness.clickhouse.database, table)
  const all = `${isShared ? 'stream_id, ' : ''}${columns}, payload`
  const sql = `INSERT INTO ${into} (${all}) FORMAT TSV`
  await harness.clickhouse.insertNative(sql, [Buffer.from(lines.join(''))])
}

/** `2026-03-01 22:30:00.000000000` */
function timeText(ns: bigint): string {
  const rest = ((ns % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n
  const seconds = new Date(Number((ns - rest) / NS_PER_MS)).toISOString().slice(0, 19)
  return `${seconds.replace('T', ' ')}.${String(rest).padStart(9, '0')}`
}

function contextOf(own: string): string {
  return random.below(2) === 0 && own === '' ? ' ' : 'x'.repeat(CONTEXT_SERVICE_AT) + own
}

async function fill(): Promise<Row[]> {
  const { clickhouse } = harness
  const { database } = clickhouse
  const all: Row[] = []
  for (const table of [OWN, OLD, MIXED_STREAM]) {
    await clickhouse.command(createTableSql(database, table))
    const name = projectionTable(database, table)
    if (table === OLD) {
      for (const unit of OWN_COUNTS) {
        await clickhouse.command(`ALTER TABLE ${name} DROP PROJECTION ${unit.name}`)
      }
      await clickhouse.command(`ALTER TABLE ${name} ADD PROJECTION counts_old
        (SELECT level, count() GROUP BY level)`)
    }
    for (let part = 0; part < 6; part++) {
      if (table === OLD && part === 4) await addCounts()
      const streams = table === MIXED_STREAM ? [SHARED, OTHER] : [table]
      const rows = Array.from({ length: 400 }, () => randomRow(random.pick(streams)))
      await insert(table, rows)
      all.push(...rows)
      if (part === 3 && random.below(2) === 0) await clickhouse.command(`OPTIMIZE TABLE ${name}`)
    }
  }
  return all
}

/** As the service does it for a table that lacks them; parts that are there stay as they are. */
async function addCounts(): Promise<void> {
  const keeper = new TableKeeper(harness.clickhouse)
  const [form] = await keeper.listForms(OLD)
  assert(form !== undefined)
  assert.deepEqual(form.counts, ['counts_old'])
  assert(await keeper.alter(form, NO_NEEDS))
  const [altered] = await keeper.listForms(OLD)
  assert.deepEqual(altered?.counts.toSorted(), OWN_COUNTS.map(({ name }) => name).toSorted())
}

function catalogOf(stream: StreamId, untilMs: number): FieldCatalog {
  const types = { service: { scalars: ['String'] }, a: { scalars: ['Int64'] } } as const
  const catalog = learnedCatalog(stream, [], types)
  return { ...catalog, learned: { ...catalog.learned, untilMs } }
}

async function counted(store: AggregateStore, asked: Asked) {
  const { buckets, labels } = asked
  const keys: GroupKey[] = labels.map((label) => ({ kind: 'system', label, name: label }))
  if (buckets !== undefined) keys.push({ kind: 'bucket', name: 'bucket', buckets })
  const result = await store.run({
    ...asked,
    streams: asked.streams.map((streamId) => ({
      streamId,
      catalog: catalogOf(streamId, asked.learnedMs),
      removedBefore: asked.removedBefore.get(streamId) ?? (0n as SegmentId),
    })),
    query: parse(asked.text),
    aggregates: [{ fn: 'count', field: undefined, query: undefined, name: 'count' }],
    keys,
    order: { of: 'aggregate', index: 0, isDescending: true },
    limit: 1_000,
    hasOthers: false,
    timeoutMs: 60_000,
  })
  const rows = result.rows.filter(({ values }) => values[0] !== '0')
  const found = rows.map((row) => {
    const key = JSON.stringify([row.bucket, ...row.group.map(({ text }) => text)])
    return [key, Number(row.values[0])] as const
  })
  return { counts: new Map(found), stats: result.stats }
}

test('counts of whole units are those of the rows, in any state of the parts', async () => {
  const { clickhouse } = harness
  const { database } = clickhouse
  const tables = new ProjectionTables(clickhouse)
  const store = new AggregateStore(clickhouse, tables)
  let rows = await fill()
  // Counts are read by themselves, but for the table whose older parts lack them.
  const alone = async () => [...(await tables.counted.find([MIXED_STREAM, OWN, OLD]))]
  assert.deepEqual(await alone(), [MIXED_STREAM, OWN])
  const tryFor = async (ms: number) => {
    const endMs = performance.now() + fuzzMs(ms)
    let tries = 0
    do {
      const asked = randomAsked(random)
      // Another one knows nothing yet of the tables, such as whether services differ from labels.
      const isOther = random.below(4) === 0
      const other = () => new AggregateStore(clickhouse, new ProjectionTables(clickhouse))
      const { counts } = await counted(isOther ? other() : store, asked)
      assertSame(counts, rows, asked)
    } while (performance.now() < endMs || ++tries < 5)
  }
  await tryFor(4_000)
  // Where that had been refused, the store would have stopped to try.
  assert.deepEqual(await alone(), [MIXED_STREAM, OWN])
  // As retention and the keeper of tables change them.
  const cut = segmentIdAt(START_MS + HOUR_MS / 3)
  for (const table of [OWN, OLD, MIXED_STREAM]) {
    const name = projectionTable(database, table)
    await clickhouse.command(`ALTER TABLE ${name} DELETE WHERE segment_id < ${cut}
      SETTINGS mutations_sync = 1`)
  }
  rows = rows.filter((row) => segmentIdOf(row) >= cut)
  await tryFor(2_000)
  for (const table of [OWN, OLD, MIXED_STREAM]) {
    await clickhouse.command(`OPTIMIZE TABLE ${projectionTable(database, table)} FINAL`)
  }
  await tryFor(2_000)
})

test('the columns of the counts are called as we call them', async () => {
  const { clickhouse } = harness
  const { database } = clickhouse
  const stream = 8 as StreamId
  const table = tableName(stream)
  await clickhouse.command(createTableSql(database, stream))
  for (const unit of OWN_COUNTS) {
    const { from, key, events, any } = countsAlone(clickhouse.place, table, unit)
    const rows = await clickhouse.query<{ name: string }>(`DESCRIBE TABLE ${from}`)
    const names = rows.map(({ name }) => `\`${name}\``)
    const used = [...Object.values(key), events, any('level'), any('service')]
    assert.deepEqual(
      names,
      used.map((sql) => sql.slice(sql.indexOf('`'), sql.lastIndexOf('`') + 1)),
    )
  }
})

test('where counts cannot be read by themselves, the engine looks for them', async () => {
  const { clickhouse } = harness
  const { database } = clickhouse
  const stream = 7 as StreamId
  await clickhouse.command(createTableSql(database, stream))
  const ms = START_MS + 60_000
  const labels = { level: 'info', service: 'cart', own: 'cart' }
  const rows = [{ stream, ms, counter: 0, eventNs: BigInt(ms) * NS_PER_MS, ...labels }]
  await insert(stream, rows)
  const tables = new ProjectionTables(clickhouse)
  const store = new AggregateStore(clickhouse, tables)
  const asked = everything([stream])
  assertSame((await counted(store, asked)).counts, rows, asked)
  assert((await tables.counted.find([stream])).has(stream))
  // As after an older form of the table was put back.
  const name = projectionTable(database, stream)
  await clickhouse.command(`ALTER TABLE ${name} DROP PROJECTION ${COUNTS_BY_MINUTE.name}`)
  assertSame((await counted(store, asked)).counts, rows, asked)
  assert.deepEqual([...(await tables.counted.find([stream]))], [])
})

test('events with another service than their label are found when they come', async () => {
  const { clickhouse } = harness
  const stream = 6 as StreamId
  await clickhouse.command(createTableSql(clickhouse.database, stream))
  const rowAt = (ms: number, own: string): Row => {
    const labels = { level: 'info', service: 'cart', own }
    return { stream, ms, counter: 0, eventNs: BigInt(ms) * NS_PER_MS, ...labels }
  }
  const rows = [rowAt(START_MS + 60_000, 'cart')]
  await insert(stream, rows)
  const tables = new ProjectionTables(clickhouse)
  const store = new AggregateStore(clickhouse, tables)
  const asked = { ...everything([stream]), text: 'service:mail OR service:cart' }
  const others = () => [...tables.counted.otherServicesIn([stream])]
  assertSame((await counted(store, asked)).counts, rows, asked)
  assert.deepEqual(others(), [])
  rows.push(rowAt(START_MS + 61_000, 'mail'))
  await insert(stream, rows.slice(1))
  const label = { ...asked, text: '_service:cart' }
  assertSame((await counted(store, label)).counts, rows, label)
  assert.deepEqual(others(), [], 'labels alone do not ask for it')
  for (let times = 1; times <= 2; times++) {
    assertSame((await counted(store, asked)).counts, rows, asked)
    assert.deepEqual(others(), [stream])
  }
})

test('a count of whole units reads no rows', async () => {
  const { clickhouse } = harness
  const stream = 9 as StreamId
  await clickhouse.command(createTableSql(clickhouse.database, stream))
  const rows = Array.from({ length: 60_000 }, (_, at): Row => {
    const ms = START_MS + at * 10
    const labels = { level: 'info', service: 'cart', own: 'cart' }
    return { stream, ms, counter: 0, eventNs: BigInt(ms) * NS_PER_MS, ...labels }
  })
  await insert(stream, rows)
  const store = new AggregateStore(clickhouse, new ProjectionTables(clickhouse))
  const asked = everything([stream])
  for (const text of ['', '_level:info', 'service:cart']) {
    const matches = () => true
    const { counts, stats } = await counted(store, { ...asked, text, matches })
    assertSame(counts, rows, asked)
    assert(stats.rowsRead < rows.length / 10, `${text}: ${stats.rowsRead}`)
  }
  const { stats } = await counted(store, {
    ...asked,
    text: '_level:info',
    buckets: { ...bucketsFrom(START_MS - HOUR_MS, 1_500) },
  })
  assert(stats.rowsRead >= rows.length, `buckets of 1.5 s need the rows: ${stats.rowsRead}`)
})
