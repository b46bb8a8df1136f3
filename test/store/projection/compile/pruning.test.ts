/**
 * Goal: what a query becomes lets the engine's indexes do their work: it reads few granules where
 * they can tell, and no form hides a column from them.
 * Method: `EXPLAIN indexes = 1` of compiled queries over a real table of several parts, each of
 * several granules, with the indexes that tables have; and that the answer is right.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../../../src/language/parse.ts'
import { NO_TYPES, NOTHING_LEARNED } from '../../../../src/model/field-catalog.ts'
import { type SegmentId, segmentIdAt, segmentIdMs } from '../../../../src/model/segment-id.ts'
import type { StreamId } from '../../../../src/model/stream.ts'
import { rowSource } from '../../../../src/store/projection/compile/row-source.ts'
import { SqlParams } from '../../../../src/store/projection/compile/sql-params.ts'
import {
  createTableSql,
  projectionTable,
} from '../../../../src/store/projection/projection-store.ts'
import {
  idIndexExpression,
  TEXT_INDEX_TYPE,
  textIndexExpression,
} from '../../../../src/store/projection/text-index.ts'
import { ProjectionHarness } from '../../../block/projection-harness.ts'
import { learnedCatalog } from './test-catalog.ts'

const harness = new ProjectionHarness()

const GRANULE = 64
const PART_ROWS = 10 * GRANULE
const PARTS = 4
const ALL = PARTS * 10
const STREAM = 2 as StreamId
const ids: SegmentId[] = []

/** One insert a part, each part a second later than the one before. */
async function fillTable(): Promise<void> {
  const base = harness.newStream()
  assert.equal(harness.newStream(), STREAM)
  const made = createTableSql(harness.clickhouse.database, STREAM).replace(
    /index_granularity = [0-9]+/,
    `index_granularity = ${GRANULE}`,
  )
  assert.match(made, new RegExp(`index_granularity = ${GRANULE}`))
  const table = projectionTable(harness.clickhouse.database, STREAM)
  const { clickhouse } = harness
  await clickhouse.command(made)
  // Whichever indexes the tables come with: these are about what queries say.
  await clickhouse.command(
    `ALTER TABLE ${table}
       ADD INDEX t_message ${textIndexExpression('message')} TYPE ${TEXT_INDEX_TYPE},
       ADD INDEX s_shape shape TYPE set(256) GRANULARITY 1,
       ADD INDEX b_trace ${idIndexExpression('trace.id')} TYPE bloom_filter(0.001) GRANULARITY 1`,
  )
  await clickhouse.command(`SYSTEM STOP MERGES ${table}`)
  for (let part = 0; part < PARTS; part++) {
    const lines = Array.from({ length: PART_ROWS }, (_, n) => {
      const message = n === 70 ? `Timed OUT of part ${part}, word p${part}x` : `all is well ${n}`
      return JSON.stringify({ message, trace: { id: `id-${part}-${n}` }, n })
    })
    const [id] = await harness.insertLines(base, lines)
    const shifted = segmentIdAt(segmentIdMs(id!) + 1_000 * part)
    ids.push(shifted)
    await clickhouse.command(
      `INSERT INTO ${table} SELECT * REPLACE (
         toUInt64(${shifted}) AS segment_id,
         ingested_at + toIntervalSecond(${part}) AS ingested_at)
       FROM (SELECT * FROM ${projectionTable(harness.clickhouse.database, base)}
         WHERE segment_id = ${id})`,
    )
  }
}

const CATALOG = learnedCatalog(STREAM, ['message', 'msg', 'body'], {
  message: { scalars: ['String'] },
  'trace.id': { scalars: ['String'] },
  n: { scalars: ['Int64', 'UInt64'] },
})

interface Plan {
  /** Granules that are left behind each index, by its name. */
  readonly granules: Readonly<Record<string, number>>
  /** Granules that are read, whichever index left them. */
  readonly marks: number
  readonly rows: number
}

async function explain(
  text: string,
  { catalog = CATALOG, fromNs = 0n }: Partial<Asked> = {},
): Promise<Plan> {
  const params = new SqlParams()
  const streams = [{ streamId: STREAM, catalog, removedBefore: 0n as SegmentId }]
  const range = { timeBasis: 'ingested_at', fromNs, toNs: 1n << 62n } as const
  const source = rowSource(
    { ...range, streams, query: parse(text), columns: () => 'ordinal' },
    harness.clickhouse.place,
    { own: new Set([STREAM]), hasShared: false },
    params,
  )
  const sql = `SELECT count() AS n FROM ${source}`
  const plan = await harness.clickhouse.query<{ explain: string }>(
    `EXPLAIN indexes = 1 ${sql}`,
    params.values,
  )
  const granules: Record<string, number> = {}
  let name = ''
  for (const { explain } of plan) {
    const line = explain.trim()
    name = /^Name: (\w+)/.exec(line)?.[1] ?? name
    const left = /^Granules: ([0-9]+)\/[0-9]+/.exec(line)?.[1]
    if (left !== undefined && name !== '') granules[name] = (granules[name] ?? 0) + Number(left)
  }
  const rows = await harness.clickhouse.query<{ n: number }>(sql, params.values)
  const estimate = await harness.clickhouse.query<{ marks: string }>(
    // A count alone could be told without reading.
    `EXPLAIN ESTIMATE SELECT sum(ordinal) FROM ${source}`,
    params.values,
  )
  const marks = estimate.reduce((sum, row) => sum + Number(row.marks), 0)
  return { granules, marks, rows: rows[0]!.n }
}

interface Asked {
  readonly catalog: typeof CATALOG
  readonly fromNs: bigint
}

test('the table', fillTable)

test('a word, a phrase, and what they are joined with, by the text index', async () => {
  for (const [text, rows, most] of [
    ['p2x', 1, 2],
    ['message:P2X', 1, 2],
    ['"timed out"', PARTS, 2 * PARTS],
    ['message:timed-out', PARTS, 2 * PARTS],
    ['p1x n:70', 1, 2],
    ['p1x NOT n:3', 1, 2],
    ['p1x message:/part/', 1, 2],
    ['nowhere', 0, 0],
  ] as const) {
    const { granules, rows: found } = await explain(text)
    assert.equal(found, rows, text)
    assert.ok(granules.t_message !== undefined, `${text}: ${JSON.stringify(granules)}`)
    assert.ok(granules.t_message <= most, `${text}: ${JSON.stringify(granules)}`)
  }
})

test('a word, where other events have no text, by the text index and by shapes', async () => {
  const textless = { shapes: [7n], doubtful: [], paths: [['host'], ['note']] }
  const host = { scalars: ['String'] as const }
  const types = (path: readonly string[]) => {
    return path[0] === 'host' || path[0] === 'note'
      ? { ...NO_TYPES, ...host }
      : CATALOG.typesOf(path)
  }
  const catalog = { ...CATALOG, textless, typesOf: types }
  for (const [text, rows, most] of [
    ['p2x', 1, 2],
    ['"timed out"', PARTS, 2 * PARTS],
    ['nowhere', 0, 0],
  ] as const) {
    const { marks, rows: found } = await explain(text, { catalog })
    assert.equal(found, rows, text)
    assert.ok(marks <= most, `${text}: ${marks}`)
  }
})

test('an id, by its bloom filter', async () => {
  for (const text of ['trace.id:id-1-333', 'trace.id="id-1-333"', 'well trace.id:id-1-333']) {
    const { granules, rows } = await explain(text)
    assert.equal(rows, 1, text)
    assert.ok(granules.b_trace! <= 3, `${text}: ${JSON.stringify(granules)}`)
  }
  const two = await explain('trace.id:(id-1-333 OR id-2-5)')
  assert.equal(two.rows, 2)
  assert.ok(two.granules.b_trace! <= 6, JSON.stringify(two.granules))
})

test('receipt and event id, by the primary key', async () => {
  const all = await explain('')
  assert.deepEqual([all.marks, all.rows], [ALL, PARTS * PART_ROWS])
  const last = new Date(segmentIdMs(ids.at(-1)!)).toISOString()
  for (const text of [`_ingested_at:>=${last}`, `_ingested_at:${last} n:>-1`]) {
    const { marks, rows } = await explain(text)
    assert.deepEqual([marks, rows], [10, PART_ROWS], text)
  }
  const fromNs = BigInt(segmentIdMs(ids[2]!)) * 1_000_000n
  assert.equal((await explain('n:>=0', { fromNs })).marks, 20)
  const { marks, rows } = await explain(`_id:${ids[1]}-70`)
  assert.equal(rows, 1)
  assert.ok(marks <= 2, String(marks))
})

test('rows that are not learned from are the last ones, by the primary key', async () => {
  const learned = { ...NOTHING_LEARNED, untilMs: segmentIdMs(ids.at(-1)!) }
  const { marks, rows } = await explain('n:5', { catalog: { ...CATALOG, learned } })
  assert.equal(rows, PARTS)
  assert.equal(marks, ALL, 'three parts for the one branch and one for the other')
})
