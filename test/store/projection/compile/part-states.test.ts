/**
 * Goal: every form of the language gives the same answers whatever state the parts of a table are
 * in: fresh and compact, wide, with an index and without, merged, before and after the stream's
 * text fields changed or a field appeared. The engine once failed for parts without an index (code
 * 349).
 * Method: a table of the real engine, changed by the code that changes tables; after each change
 * all queries are asked, as reads ask them, and compared with `test/language/naive.ts`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../../../src/language/parse.ts'
import { type FieldCatalog, NOTHING_LEARNED } from '../../../../src/model/field-catalog.ts'
import { decodeLeaf, type FieldType } from '../../../../src/model/schema.ts'
import type { SegmentId } from '../../../../src/model/segment-id.ts'
import type { TableNeeds } from '../../../../src/model/table-needs.ts'
import { TextNames } from '../../../../src/model/text-fields.ts'
import { textPathsOf } from '../../../../src/store/catalog/field-catalog-store.ts'
import { KnownFields } from '../../../../src/store/catalog/known-fields.ts'
import { mergeShapes, textlessOf } from '../../../../src/store/catalog/textless-shapes.ts'
import { rowSource } from '../../../../src/store/projection/compile/row-source.ts'
import { SqlParams } from '../../../../src/store/projection/compile/sql-params.ts'
import {
  createTableSql,
  projectionTable,
} from '../../../../src/store/projection/projection-store.ts'
import { NO_PROJECTIONS, querySettings } from '../../../../src/store/projection/query-bounds.ts'
import { TableKeeper } from '../../../../src/store/projection/table-keeper.ts'
import { IngestPipeline } from '../../../../workers/ingest.ts'
import { ProjectionHarness } from '../../../block/projection-harness.ts'
import { type NaiveEvent, naiveMatches } from '../../../language/naive.ts'
import { ONLY_LONG, testSeed } from '../../../support/fuzzing.ts'
import { batchOf } from '../../../workers/batch-of.ts'

const harness = new ProjectionHarness()

const PLAIN = (n: number) => ({ message: `request ${n} is Timed out`, host: `web-${n % 7}`, n })
const FAILED = (n: number) => ({
  message: `failed ${n}`,
  error: { message: `connection to db01 timed out after ${n} ms`, code: n },
})
const OTHERS = [
  { note: '请求timeout，重试3次', tags: ['Timed', 'x'] },
  { Level: 'Error', Message: '\u001b[31mtimed\u001b[0m out', n: '5' },
  { items: [{ name: 'timed', reason: 'Timed out' }, { name: 'x' }] },
  { message: 5, host: 'timed' },
  { message: 'deploy marker', detail: 'café timed' },
  { n: 5, ok: true },
  { message: '', host: 'web-1' },
]

/** In every form of the language. */
const QUERIES = [
  '',
  'timed',
  'TIMED',
  '"timed out"',
  'timeout',
  'db01',
  'nowhere',
  'café',
  '重试',
  'tim*',
  't?med',
  '*imed*',
  '/[Tt]imed/',
  '/café?/',
  'NOT timed',
  'timed NOT host:web-1',
  'timed OR n:5',
  'timed -failed',
  'message:timed',
  'message=timed',
  'error.message:"timed out"',
  'NOT error.message:timed',
  'Message:timed',
  'host:timed',
  'host:web*',
  'n:5',
  'n:>100',
  'n:(5 OR 6)',
  'error.code:[5 TO 100}',
  '_exists_:error.message',
  'message:*',
  'ok:true',
  'tags:Timed',
  'tags[]:x',
  'items[].name:timed',
  'items[].reason:timed',
  'items[]:{name:timed reason:timed}',
  'error.*:timed',
  '*:timed',
  '_level:error',
  '_service:*',
]

const SETTINGS: readonly (readonly string[])[] = [
  ['message', 'error', 'detail', 'reason'],
  ['host', 'message'],
]

/** As large inserts and merges make them. */
const NEEDS: TableNeeds = {
  isWide: true,
  fields: 9,
  textPaths: ['message', 'Message'],
  idPaths: [],
}

class Stored {
  readonly streamId = harness.newStream()
  readonly events: NaiveEvent[] = []
  readonly #types = new Map<string, Set<FieldType>>()
  readonly #shapes = new Map<string, [path: string, type: FieldType][]>()
  /** By setting and query, what the reference says of each event so far. */
  readonly #said = new Map<string, boolean[]>()

  async insert(events: readonly object[]): Promise<void> {
    const lines = events.map((event) => JSON.stringify(event))
    const batch = new IngestPipeline().run(batchOf(lines.join('\n')))
    for (const { shape, leaves = [] } of batch.segments.flatMap(({ delta }) => delta.shapes)) {
      const pairs = leaves.map((leaf): [string, FieldType] => {
        const { path, type } = decodeLeaf(leaf)
        this.#types.set(path, (this.#types.get(path) ?? new Set()).add(type))
        return [path, type]
      })
      if (!this.#shapes.has(shape)) this.#shapes.set(shape, pairs)
    }
    const ids = await harness.insert(this.streamId, batch)
    const rows = await harness.select<EventRow>(
      this.streamId,
      `concat(toString(segment_id), '-', toString(ordinal)) AS id, level, service`,
      `WHERE segment_id IN (${ids})`,
    )
    assert.equal(rows.length, lines.length)
    for (const [at, { id, level, service }] of rows.entries()) {
      const labels = { level: level || undefined, service: service || undefined }
      this.events.push({ json: lines[at]!, id, ...labels, shape: '', ...NO_TIMES })
    }
  }

  /** The ids of the events that the query is true for. */
  matching(text: string, textFields: readonly string[]): string[] {
    const key = JSON.stringify([text, textFields])
    const said = this.#said.get(key) ?? []
    this.#said.set(key, said)
    const query = parse(text)
    for (const event of this.events.slice(said.length)) {
      said.push(naiveMatches(query, event, textFields))
    }
    return this.events.flatMap(({ id }, at) => (said[at] ? [id] : []))
  }

  catalog(textFields: readonly string[]): FieldCatalog {
    const fields = [...this.#types].map(([path, types]) => ({ path, types: [...types] }))
    const known = new KnownFields(fields)
    const textNames = new TextNames(textFields)
    const looked = [...this.#shapes].map(([shape, leaves]) => {
      return [shape, textlessOf(leaves, textNames)] as const
    })
    return {
      streamId: this.streamId,
      textFields,
      textNames,
      textPaths: textPathsOf(known, textNames),
      textless: mergeShapes(new Map(looked)),
      isPartial: false,
      observed: new Map(),
      learned: { ...NOTHING_LEARNED, untilMs: 2 ** 42 },
      paths: known.paths,
      typesOf: (path) => known.typesOf(path),
    }
  }
}

const NO_TIMES = { ingestedAtNs: 0n, eventTimeNs: 0n }

interface EventRow {
  readonly id: string
  readonly level: string
  readonly service: string
}

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)
let states = 0

/** Of the queries one in three for a state, others for the next; the long run asks all of each. */
function queriesOf(state: number): readonly string[] {
  return QUERIES.filter((_, at) => !ONLY_LONG || (at + state + seed) % 3 === 0)
}

/** Ids, by a catalog that knows all, and `unlearned` by one that has learned of no row; counts. */
async function assertAnswers(stored: Stored, state: string, unlearned = false): Promise<void> {
  // The next state has the next setting; the long run has all of them in each.
  states++
  const settings = ONLY_LONG ? [SETTINGS[states % SETTINGS.length]!] : SETTINGS
  const queries = queriesOf(states)
  for (const textFields of settings) {
    const catalog = stored.catalog(textFields)
    const expected = queries.map((text) => stored.matching(text, textFields))
    for (const learned of unlearned ? [catalog.learned, NOTHING_LEARNED] : [catalog.learned]) {
      const found = await ask<{ q: number; id: string }>(
        stored,
        { ...catalog, learned },
        queries,
        ID,
      )
      const byQuery = queries.map((): string[] => [])
      for (const { q, id } of found) byQuery[q]!.push(id)
      for (const [q, text] of queries.entries()) {
        assert.deepEqual(
          byQuery[q]!.toSorted(),
          expected[q]!.toSorted(),
          `${text}, ${textFields}, ${state}`,
        )
      }
    }
    const counted = await ask<{ q: number; n: number }>(stored, catalog, queries, 'count() AS n')
    for (const { q, n } of counted) {
      assert.equal(Number(n), expected[q]!.length, `${queries[q]}, ${textFields}, ${state}`)
    }
  }
}

const ID = `concat(toString(segment_id), '-', toString(ordinal)) AS id`

/** Each query has a SELECT of its own, whose WHERE the engine plans; all are in one statement. */
async function ask<Row>(
  stored: Stored,
  catalog: FieldCatalog,
  queries: readonly string[],
  columns: string,
): Promise<Row[]> {
  const params = new SqlParams()
  const streams = [{ ...stored, catalog, removedBefore: 0n as SegmentId }]
  const selects = queries.map((text, q) => {
    const isCount = columns.startsWith('count')
    const source = rowSource(
      {
        ...{ streams, query: parse(text), columns: () => (isCount ? '1 AS one' : columns) },
        ...{ timeBasis: 'ingested_at', fromNs: 0n, toNs: 1n << 62n },
      },
      harness.clickhouse.place,
      { own: new Set([stored.streamId]), hasShared: false },
      params,
    )!
    return `SELECT ${q} AS q, ${isCount ? columns : 'id'} FROM ${source}`
  })
  const sql = `${selects.join(' UNION ALL ')} ${NO_PROJECTIONS}`
  return harness.clickhouse.query<Row>(sql, params.values, querySettings(60_000))
}

test('every form of the language, whatever state the parts are in', async () => {
  const { clickhouse } = harness
  const keeper = new TableKeeper(clickhouse)
  const stored = new Stored()
  const table = projectionTable(harness.clickhouse.database, stored.streamId)
  const made = createTableSql(harness.clickhouse.database, stored.streamId).replace(
    /index_granularity = [0-9]+/,
    'index_granularity = 16',
  )
  await clickhouse.command(made)
  const mergeUpTo = (bytes: number) => {
    const setting = `max_bytes_to_merge_at_max_space_in_pool = ${bytes}`
    return clickhouse.command(`ALTER TABLE ${table} MODIFY SETTING ${setting}`)
  }
  await mergeUpTo(1)
  const change = async (needs: TableNeeds) => {
    const [form] = await keeper.listForms(stored.streamId)
    await keeper.alter(form!, needs)
    // Of this size inserts make wide parts with their indexes, as of WIDE_ROWS_MIN in a service.
    await clickhouse.command(`ALTER TABLE ${table} MODIFY SETTING min_rows_for_wide_part = 50`)
  }
  const large = (make: (n: number) => object) => Array.from({ length: 60 }, (_, n) => make(n))

  await stored.insert(OTHERS)
  await stored.insert(large(PLAIN).slice(0, 20))
  await assertAnswers(stored, 'compact parts without indexes', true)

  await change(NEEDS)
  await stored.insert(large(PLAIN))
  await stored.insert(OTHERS)
  await assertAnswers(stored, 'a wide part with an index, compact ones without')

  await stored.insert(large(FAILED).slice(0, 10))
  await assertAnswers(stored, 'a field appeared, in a compact part')

  await change({ ...NEEDS, textPaths: [...NEEDS.textPaths, 'error.message', 'detail'] })
  await assertAnswers(stored, 'an index that no part has')
  await stored.insert(large((n) => (n % 20 === 0 ? FAILED(n) : PLAIN(n))))
  await stored.insert(OTHERS)
  await assertAnswers(stored, 'an index that only the last wide part has')

  await change({ ...NEEDS, textPaths: ['host', 'message'] })
  await stored.insert(large(PLAIN))
  await assertAnswers(stored, 'other text fields: an index is gone, one is new')

  await mergeUpTo(2 ** 30)
  await clickhouse.command(`OPTIMIZE TABLE ${table} FINAL`)
  await assertAnswers(stored, 'merged')
  await stored.insert(OTHERS)
  await assertAnswers(stored, 'merged, and a fresh one', true)
})
