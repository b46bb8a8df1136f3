/**
 * Goal: a query and statistics see all rows of their stream, in its own table, in the shared one or
 * in both, and never a row of another stream, whichever tables are there, whenever they are made.
 * Method: the real engine, its tables made and filled as inserts would; every request is recorded.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { parse } from '../../src/language/parse.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../src/store/migrations/run.ts'
import { ProjectionTables } from '../../src/store/projection/compile/projection-tables.ts'
import { projectionTable } from '../../src/store/projection/projection-store.ts'
import {
  AggregateStore,
  type AggregateTask,
} from '../../src/store/projection/reads/aggregate-store.ts'
import {
  projectionBytesReader,
  type ReadProjectionBytes,
} from '../../src/store/projection/reads/projection-bytes.ts'
import { ALL_EVENTS_QUERY } from '../store/projection/all-events-query.ts'
import { unknownCatalog } from '../store/projection/compile/test-catalog.ts'
import { insertProjected } from '../store/projection/projected-rows.ts'
import { openTestClickHouse, type TestStore } from '../support/stores.ts'

const tableOf = (streamId: StreamId) => projectionTable(clickhouse.database, streamId)

const [ONE, OTHER] = [41 as StreamId, 42 as StreamId]
const MS = Date.UTC(2026, 4, 5, 12)

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

let engine: TestStore
let clickhouse: Watched
let store: AggregateStore
let readBytes: ReadProjectionBytes
let removedBefore: SegmentId

before(async () => {
  engine = await openTestClickHouse()
  clickhouse = new Watched({ url: engine.url })
  await ensureClickHouse(clickhouse)
})

beforeEach(async () => {
  for (const streamId of [ONE, OTHER, MIXED_STREAM]) {
    await clickhouse.command(`DROP TABLE IF EXISTS ${tableOf(streamId)} SYNC`)
  }
  removedBefore = 0n as SegmentId
  const tables = new ProjectionTables(clickhouse)
  store = new AggregateStore(clickhouse, tables)
  readBytes = projectionBytesReader(clickhouse, tables)
  clickhouse.takeSeen()
})

after(async () => {
  await clickhouse?.close()
  await engine?.close()
})

let counter = 0

function segment(streamId: StreamId, payloads: readonly string[], ms = MS) {
  return { streamId, segmentId: makeSegmentId({ ms, node: 1, counter: ++counter }), payloads }
}

async function insert(table: 'own' | 'mixed', ...segments: ReturnType<typeof segment>[]) {
  await insertProjected(clickhouse, table, segments)
}

async function count(streamId: StreamId, more: Partial<AggregateTask> = {}) {
  const streams = [{ streamId, catalog: unknownCatalog(streamId, []), removedBefore }]
  const { rows, total, stats } = await store.run({ ...ALL_EVENTS_QUERY, streams, ...more })
  return { rows, total: Number(total), rowsRead: stats.rowsRead }
}

const BY_V = { keys: [{ kind: 'path', path: 'v', name: 'v' }] } as const

test('rows of both tables count, by any type, and no row of another stream', async () => {
  await insert('own', segment(ONE, ['{"v":1}', '{"v":"x"}', '{"w":1}']))
  await insert('own', segment(OTHER, ['{"v":1}']))
  // The same path has other types in the neighbour's rows.
  const neighbours = ['{"v":1}', '{"v":"x"}', '{"v":[1]}', '{"v":{"deep":1}}', '{"w":2.5}']
  const mine = ['{"v":1}', '{"v":1.5}', '{"v":true}', '{"v":"x"}']
  await insert('mixed', segment(OTHER, neighbours), segment(ONE, mine), segment(ONE, ['{"v":1}']))

  const all = await count(ONE, BY_V)
  const groups = all.rows.map(({ group: [value], values }) => {
    return `${value?.kind} ${value?.text} ${values[0]}`
  })
  const expected = ['boolean true 1', 'null  1', 'number 1 3', 'number 1.5 1', 'string x 2']
  assert.deepEqual(groups.sort(), expected)
  assert.equal(all.total, 8)
  assert.ok(all.rowsRead >= 8, `${all.rowsRead}: its own and neighbours'`)
  const ones = await count(ONE, { query: parse('v:[1 TO 1]') })
  assert.equal(ones.total, 3)
  assert.ok(ones.rowsRead >= 8)
  assert.equal((await count(OTHER)).total, 6)
  assert.equal(
    (await count(OTHER, { query: parse('v:[1 TO 1]') })).total,
    3,
    'of arrays any element',
  )
})

test('in one table only, whichever; nothing where other streams have all the rows', async () => {
  await insert('own', segment(ONE, ['{"v":1}', '{"v":2}']))
  assert.equal((await count(ONE)).total, 2)
  assert.equal((await count(OTHER)).total, 0, 'there is neither')
  await insert('mixed', segment(ONE, ['{"v":1}']))
  assert.deepEqual((await count(OTHER, BY_V)).rows, [])
  await insert('mixed', segment(OTHER, ['{"v":7}']))
  assert.equal((await count(OTHER)).total, 1)
  assert.deepEqual((await count(OTHER, BY_V)).rows[0]?.group, [{ kind: 'number', text: '7' }])
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
  removedBefore = kept[1]!.segmentId
  assert.equal((await count(ONE)).total, 1)
})

test('a table that is made later is seen at once', async () => {
  for (const [first, second] of [
    ['own', 'mixed'],
    ['mixed', 'own'],
  ] as const) {
    const streamId = first === 'own' ? ONE : OTHER
    if (first === 'mixed') await clickhouse.command(`DROP TABLE ${tableOf(MIXED_STREAM)}`)
    const counted = async () => (await count(streamId)).total
    assert.equal(await counted(), 0)
    await insert(first, segment(streamId, ['{}']))
    assert.equal(await counted(), 1)
    await insert(second, segment(streamId, ['{}', '{}']))
    assert.equal(await counted(), 3)
    await clickhouse.command(`DROP TABLE ${tableOf(streamId)} SYNC`)
    assert.equal(await counted(), first === 'own' ? 2 : 1)
  }
})

test('nobody looks for tables while nothing was projected', async () => {
  await insert('mixed', segment(ONE, ['{}']))
  const marked = async (counter: number) => {
    const projected = new Map([[1, makeSegmentId({ ms: MS, node: 1, counter })]])
    const streams = [{ streamId: ONE, catalog: unknownCatalog(ONE, []), removedBefore, projected }]
    const { total } = await store.run({ ...ALL_EVENTS_QUERY, streams })
    return [Number(total), ...clickhouse.takeSeen()]
  }
  clickhouse.takeSeen()
  assert.deepEqual(await marked(5), [1, 'look', 'query', 'query refused'])
  assert.deepEqual(await marked(5), [1, 'query'])
  await insert('own', segment(ONE, ['{}', '{}']))
  clickhouse.takeSeen()
  assert.deepEqual(await marked(4), [1, 'query'], 'rows beyond the marks need not count')
  assert.deepEqual(await marked(6), [3, 'look', 'query', 'query'], 'made since')
  assert.deepEqual(await marked(7), [3, 'query'])
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
  await clickhouse.command(`DROP TABLE ${tableOf(MIXED_STREAM)} SYNC`)
  assert.deepEqual(await again(), ['look', 'query'])
})

test('the bytes of a stream are its table and its share of the other one', async () => {
  assert.equal(await readBytes(ONE), 0)
  const bytesOf = async (streamId: StreamId) => {
    const sql = `SELECT toFloat64(sum(bytes_on_disk)) AS bytes FROM system.parts
      WHERE database = '${clickhouse.database}' AND table = {table:String} AND active`
    const rows = await clickhouse.query<{ bytes: number }>(sql, { table: `events_${streamId}` })
    return rows[0]!.bytes
  }
  const payloads = Array.from({ length: 30 }, (_, i) => `{"v":${i}}`)
  await insert('mixed', segment(ONE, payloads), segment(OTHER, payloads.slice(0, 10)))
  const mixed = await bytesOf(MIXED_STREAM)
  // A half may be rounded either way.
  assert.ok(Math.abs(Number(await readBytes(ONE)) - mixed * 0.75) <= 0.5)
  assert.ok(Math.abs(Number(await readBytes(OTHER)) - mixed * 0.25) <= 0.5)
  await insert('own', segment(ONE, payloads))
  const own = await bytesOf(ONE)
  assert.ok(own > 0)
  assert.ok(Math.abs(Number(await readBytes(ONE)) - own - mixed * 0.75) <= 0.5)
  await clickhouse.command(`TRUNCATE TABLE ${tableOf(MIXED_STREAM)}`)
  assert.equal(await readBytes(ONE), own)
  assert.equal(await readBytes(OTHER), 0)
})
