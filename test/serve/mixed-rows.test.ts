/**
 * Goal: a query and statistics see all rows of their stream, in its own table, in the shared one or
 * in both, and never a row of another stream, whichever tables are there, whenever they are made.
 * Method: the real engine, its tables made and filled as inserts would; every request is recorded.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import type { EmbeddedStore } from '../../src/embedded/supervisor.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../src/store/migrations/run.ts'
import { FieldStatsStore } from '../../src/store/projection/field-stats-store.ts'
import { selectLegs } from '../../src/store/projection/projection-legs.ts'
import {
  PROJECTION_DATABASE,
  projectionTable,
} from '../../src/store/projection/projection-store.ts'
import { type CountQuery, fieldColumn, QueryStore } from '../../src/store/projection/query-store.ts'
import { insertProjected } from '../store/projection/projected-rows.ts'
import { makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'

const [ONE, OTHER] = [41 as StreamId, 42 as StreamId]
const MS = Date.UTC(2026, 4, 5, 12)
const ALL = { timeBasis: 'ingested_at', fromNs: 0n, toNs: 1n << 62n } as const

/** Notes which requests are made, and which of them are refused. */
class Watched extends ClickHouse {
  seen: string[] = []

  override async query<Row>(...args: Parameters<ClickHouse['query']>) {
    const [sql] = args
    const what = /FROM system\.tables/.test(sql) ? 'look' : 'query'
    try {
      const rows = await super.query<Row>(...args)
      this.seen.push(what)
      return rows
    } catch (cause) {
      this.seen.push(`${what} refused`)
      throw cause
    }
  }

  takeSeen(): string[] {
    return this.seen.splice(0).sort()
  }
}

const dataDir = makeDirectory()
let engine: EmbeddedStore
let clickhouse: Watched
let store: QueryStore
let stats: FieldStatsStore
let removedBefore: SegmentId

before(async () => {
  engine = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  clickhouse = new Watched({ url: engine.url })
  await ensureClickHouse(clickhouse, PROJECTION_DATABASE)
})

beforeEach(async () => {
  for (const streamId of [ONE, OTHER, MIXED_STREAM]) {
    await clickhouse.command(`DROP TABLE IF EXISTS ${projectionTable(streamId)} SYNC`)
  }
  removedBefore = 0n as SegmentId
  store = new QueryStore(clickhouse, PROJECTION_DATABASE, async () => removedBefore)
  stats = new FieldStatsStore(clickhouse, PROJECTION_DATABASE, async () => removedBefore)
  clickhouse.takeSeen()
})

after(async () => {
  await clickhouse?.close()
  await engine?.stop()
  removeDirectory(dataDir)
})

let counter = 0

function segment(streamId: StreamId, payloads: readonly string[], ms = MS) {
  return { streamId, segmentId: makeSegmentId({ ms, node: 1, counter: ++counter }), payloads }
}

async function insert(table: 'own' | 'mixed', ...segments: ReturnType<typeof segment>[]) {
  await insertProjected(clickhouse, table, segments)
}

function count(streamId: StreamId, more: Partial<CountQuery> = {}) {
  const rest = { filter: undefined, groupBy: undefined, limit: 10 }
  return store.count({ streamId, ...ALL, ...rest, ...more })
}

const readStats = (streamId: StreamId, path = 'v') =>
  stats.read({ streamId, path, ...ALL, top: 10 })

test('rows of both tables count, by any type, and no row of another stream', async () => {
  await insert('own', segment(ONE, ['{"v":1}', '{"v":"x"}', '{"w":1}']))
  await insert('own', segment(OTHER, ['{"v":1}']))
  // The same path has other types in the neighbour's rows.
  const neighbours = ['{"v":1}', '{"v":"x"}', '{"v":[1]}', '{"v":{"deep":1}}', '{"w":2.5}']
  const mine = ['{"v":1}', '{"v":1.5}', '{"v":true}', '{"v":"x"}']
  await insert('mixed', segment(OTHER, neighbours), segment(ONE, mine), segment(ONE, ['{"v":1}']))

  const all = await count(ONE, { groupBy: 'v' })
  const groups = all.groups.map(({ kind, text, count: n }) => `${kind} ${text} ${n}`)
  const expected = ['boolean true 1', 'null  1', 'number 1 3', 'number 1.5 1', 'string x 2']
  assert.deepEqual(groups.sort(), expected)
  assert.equal(all.total, 8)
  assert.ok(all.rowsRead >= 8, `${all.rowsRead}: its own and neighbours'`)
  const filter = { field: 'v', equals: { kind: 'number', text: '1' } } as const
  const ones = await count(ONE, { filter })
  assert.equal(ones.total, 3)
  assert.ok(ones.rowsRead >= 8)
  assert.equal((await count(OTHER)).total, 6)
  assert.equal((await count(OTHER, { filter })).total, 2)

  const { events, count: values, numbers, top } = await readStats(ONE)
  assert.deepEqual([events, values, numbers?.count, numbers?.max], [8, 7, 4, 1.5])
  assert.deepEqual(top[0], { kind: 'number', text: '1', count: 3 })
  assert.equal((await readStats(OTHER)).events, 6)
})

test('in one table only, whichever; nothing where other streams have all the rows', async () => {
  await insert('own', segment(ONE, ['{"v":1}', '{"v":2}']))
  assert.equal((await count(ONE)).total, 2)
  assert.equal((await readStats(ONE)).events, 2)
  assert.equal((await count(OTHER)).total, 0, 'there is neither')
  assert.equal((await readStats(OTHER)).events, 0)
  await insert('mixed', segment(ONE, ['{"v":1}']))
  assert.equal((await count(OTHER, { groupBy: 'v' })).total, 0)
  assert.deepEqual(await readStats(OTHER), {
    ...{ events: 0, count: 0, distinct: 0 },
    ...{ numbers: undefined, top: [] },
  })
  await insert('mixed', segment(OTHER, ['{"v":7}']))
  assert.equal((await count(OTHER)).total, 1)
  assert.deepEqual((await readStats(OTHER)).top, [{ kind: 'number', text: '7', count: 1 }])
})

test('time ranges and removed rows hold for both', async () => {
  const old = [segment(ONE, ['{"v":1}']), segment(ONE, ['{"v":1}'])] as const
  const kept = [segment(ONE, ['{"v":1}'], MS + 60_000), segment(ONE, ['{"v":1}'], MS + 60_000)]
  await insert('own', old[0], kept[0]!)
  await insert('mixed', old[1], kept[1]!)
  const toNs = BigInt(MS + 1) * 1_000_000n
  assert.equal((await count(ONE, { toNs })).total, 2)
  assert.equal((await count(ONE, { toNs, timeBasis: 'event_time' })).total, 2)
  removedBefore = kept[0]!.segmentId
  const left = await count(ONE)
  assert.equal(left.total, 2)
  assert.equal((await count(ONE, { toNs })).total, 0)
  assert.equal((await readStats(ONE)).events, 2)
  removedBefore = kept[1]!.segmentId
  assert.equal((await count(ONE)).total, 1)
})

test('a table that is made later is seen at once', async () => {
  for (const [first, second] of [
    ['own', 'mixed'],
    ['mixed', 'own'],
  ] as const) {
    const streamId = first === 'own' ? ONE : OTHER
    if (first === 'mixed') await clickhouse.command(`DROP TABLE ${projectionTable(MIXED_STREAM)}`)
    const counts = async () => [(await count(streamId)).total, (await readStats(streamId)).events]
    assert.deepEqual(await counts(), [0, 0])
    await insert(first, segment(streamId, ['{}']))
    assert.deepEqual(await counts(), [1, 1])
    await insert(second, segment(streamId, ['{}', '{}']))
    assert.deepEqual(await counts(), [3, 3])
    await clickhouse.command(`DROP TABLE ${projectionTable(streamId)} SYNC`)
    assert.deepEqual(await counts(), first === 'own' ? [2, 2] : [1, 1])
  }
})

test('one round trip, whichever table there is', async () => {
  const again = async () => {
    await count(ONE)
    clickhouse.takeSeen()
    await count(ONE)
    return clickhouse.takeSeen()
  }
  await count(ONE)
  assert.deepEqual(clickhouse.takeSeen(), ['look', 'look', 'query refused'])
  assert.deepEqual(await again(), ['look'])
  await insert('mixed', segment(ONE, ['{}']))
  assert.deepEqual(await again(), ['look', 'query'])
  await insert('own', segment(ONE, ['{}']))
  assert.deepEqual(await again(), ['query'])
  await clickhouse.command(`DROP TABLE ${projectionTable(MIXED_STREAM)} SYNC`)
  assert.deepEqual(await again(), ['look', 'query'])
})

test('each table is read by its key, and only the columns that are needed', async () => {
  const payload = `{"level":"info","big":"${'x'.repeat(500)}"}`
  await insert('own', segment(ONE, [payload]))
  await insert('mixed', segment(ONE, [payload]), segment(OTHER, [payload]))
  const columns = `toString(${fieldColumn('level')}) AS text`
  const legs = selectLegs(['own', 'mixed'], columns, `ingested_at >= toDateTime64(1, 3, 'UTC')`)
  const params = {
    ...{ database: PROJECTION_DATABASE, table: `events_${ONE}`, mixed: 'events_0' },
    stream: String(ONE),
  }
  const sql = `EXPLAIN indexes = 1, header = 1 SELECT count() FROM (${legs}) GROUP BY text`
  const rows = await clickhouse.query<{ explain: string }>(sql, params)
  const plan = rows.map(({ explain }) => explain).join('\n')
  assert.match(plan, /Condition: .*stream_id in \[41, 41\]/)
  assert.equal(plan.match(/PrimaryKey/g)?.length, 2, plan)
  assert.match(plan, /payload\.level/)
  assert.doesNotMatch(plan, /payload JSON|payload\.big/)
})

test('the bytes of a stream are its table and its share of the other one', async () => {
  assert.equal(await store.readProjectionBytes(ONE), 0)
  const bytesOf = async (streamId: StreamId) => {
    const sql = `SELECT toFloat64(sum(bytes_on_disk)) AS bytes FROM system.parts
      WHERE database = 'sluice' AND table = {table:String} AND active`
    const rows = await clickhouse.query<{ bytes: number }>(sql, { table: `events_${streamId}` })
    return rows[0]!.bytes
  }
  const payloads = Array.from({ length: 30 }, (_, i) => `{"v":${i}}`)
  await insert('mixed', segment(ONE, payloads), segment(OTHER, payloads.slice(0, 10)))
  const mixed = await bytesOf(MIXED_STREAM)
  assert.equal(await store.readProjectionBytes(ONE), Math.round(mixed * 0.75))
  assert.equal(await store.readProjectionBytes(OTHER), Math.round(mixed * 0.25))
  await insert('own', segment(ONE, payloads))
  const own = await bytesOf(ONE)
  assert.ok(own > 0)
  assert.equal(await store.readProjectionBytes(ONE), own + Math.round(mixed * 0.75))
  await clickhouse.command(`TRUNCATE TABLE ${projectionTable(MIXED_STREAM)}`)
  assert.equal(await store.readProjectionBytes(ONE), own)
  assert.equal(await store.readProjectionBytes(OTHER), 0)
})
