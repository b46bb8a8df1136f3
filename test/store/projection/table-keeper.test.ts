/**
 * Goal: a stream's table gets the parts and indexes that its fields ask for, new or old, whatever
 * changes; queries then use them, and answer the same all the while.
 * Method: a real engine and the workers' blocks of a few fields, a hundred thousand rows at a time.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { loadCorpus } from '../../../bench/corpus.ts'
import {
  BARE_PART_BYTES_MIN,
  INDEXED_INSERT_BYTES_MIN,
  MERGE_BYTES_MAX,
  WIDE_ROWS_MIN,
} from '../../../src/limits.ts'
import { stampBlock } from '../../../src/materialize/stamp.ts'
import { makeSegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import type { TableNeeds } from '../../../src/model/table-needs.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { MemoryFiles } from '../../../src/store/memory-files.ts'
import { ensureClickHouse } from '../../../src/store/migrations/run.ts'
import { ProjectionParts } from '../../../src/store/projection/projection-parts.ts'
import {
  createTableSql,
  ProjectionStore,
  projectionTable,
  SPOOL_INSERT_CELLS_MAX,
  SPOOL_INSERT_ROWS,
  tableName,
} from '../../../src/store/projection/projection-store.ts'
import {
  ID_INDEXES_MAX,
  MERGE_AGE_S,
  MERGE_PARTS_AT_ONCE_MAX,
  TEXT_INDEXES_MAX,
  wantedIndexes,
} from '../../../src/store/projection/table-form.ts'
import { TableKeeper } from '../../../src/store/projection/table-keeper.ts'
import { textIndexExpression } from '../../../src/store/projection/text-index.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { IngestPipeline } from '../../../workers/ingest.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { openTestClickHouse, type TestStore } from '../../support/stores.ts'
import { batchOf } from '../../workers/batch-of.ts'
import { eventually } from '../temporary.ts'

const tableOf = (streamId: StreamId) => projectionTable(clickHouse.database, streamId)

const NEEDS: TableNeeds = {
  isWide: true,
  fields: 3,
  textPaths: ['message'],
  idPaths: ['trace.id'],
}
const BLOCK_ROWS = 2_000
/** Hundreds of thousands of rows, or megabytes of a few. */
const LONG = { skip: ONLY_LONG }

let store: TestStore
let clickHouse: ClickHouse
let keeper: TableKeeper
let streams = 0
let segments = 0

before(async () => {
  store = await openTestClickHouse()
  clickHouse = new ClickHouse({ url: store.url })
  keeper = new TableKeeper(clickHouse)
  await ensureClickHouse(clickHouse)
})

after(async () => {
  await clickHouse?.close()
  await store?.close()
})

const newStream = () => ++streams as StreamId

function storeWith(needs: TableNeeds): ProjectionStore {
  return new ProjectionStore(clickHouse, { nodeId: 1, epoch: 1n }, { readNeeds: async () => needs })
}

/** The first row of each block has the words `needle` and `Haystack`. */
function plainEvent(row: number): object {
  const n = row % BLOCK_ROWS
  const message = n === 0 ? 'a needle in the Haystack' : `row ${row} is plain`
  return { message, note: message, trace: { id: `t${segments}-${n}` } }
}

function blocksOf(rows: number, eventAt: (row: number) => object = plainEvent): Uint8Array[] {
  const blocks: Uint8Array[] = []
  for (let done = 0; done < rows; done += BLOCK_ROWS) {
    const lines = Array.from({ length: Math.min(BLOCK_ROWS, rows - done) }, (_, n) => {
      return JSON.stringify(eventAt(done + n))
    })
    const { block } = new IngestPipeline().run(batchOf(lines.join('\n'))).segments[0]!
    stampBlock(block, makeSegmentId({ ms: 1_767_323_045_000, node: 1, counter: segments++ }))
    blocks.push(block.bytes)
  }
  return blocks
}

function bytesOf(blocks: readonly Uint8Array[]): number {
  return blocks.reduce((sum, { byteLength }) => sum + byteLength, 0)
}

async function insert(projection: ProjectionStore, streamId: StreamId, rows: number) {
  await projection.insert(streamId, blocksOf(rows), rows)
}

interface Part {
  readonly type: string
  readonly rows: number
  readonly hasIndexes: boolean
}

async function partsOf(streamId: StreamId): Promise<Part[]> {
  return await clickHouse.query<Part>(
    `SELECT part_type AS type, toFloat64(rows) AS rows,
       secondary_indices_compressed_bytes > 0 AS hasIndexes FROM system.parts
     WHERE database = {database:String} AND table = {table:String} AND active ORDER BY name`,
    { database: clickHouse.database, table: tableName(streamId) },
  )
}

async function keysOf(streamId: StreamId): Promise<string[]> {
  const [form] = await keeper.listForms(streamId)
  return form!.indexes.map(({ key }) => key).sort()
}

const wantedKeys = (needs: TableNeeds) => {
  return wantedIndexes(needs)
    .map(({ key }) => key)
    .sort()
}

/** Granules that a search for the word reads, and rows that it finds. */
async function search(streamId: StreamId, path: string, word: string) {
  const from = `FROM ${tableOf(streamId)}
    WHERE hasAllTokens(${textIndexExpression(path)}, [{word:String}])`
  const plan = await clickHouse.query<{ explain: string }>(`EXPLAIN indexes = 1 SELECT 1 ${from}`, {
    word,
  })
  const text = plan.map(({ explain }) => explain).join('\n')
  const counted = await clickHouse.query<{ n: number }>(`SELECT toFloat64(count()) AS n ${from}`, {
    word,
  })
  return { usesIndex: text.includes('Name: text_'), rows: counted[0]!.n, text }
}

async function alter(streamId: StreamId, needs: TableNeeds): Promise<boolean> {
  const [form] = await keeper.listForms(streamId)
  return await keeper.alter(form!, needs)
}

/** Makes indexes day by day, as the reconciler does, until none is missing. */
async function reindex(streamId: StreamId): Promise<void> {
  for (let round = 0; round < 20; round++) {
    const [form] = await keeper.listForms(streamId)
    const next = (await keeper.listPartitions([form!])).find(({ unindexedRows: n }) => n > 0)
    if (next === undefined) return
    await keeper.startIndexing(form!, next)
    await eventually('it is indexed', async () => !(await keeper.isChanging()), 20_000)
  }
  assert.fail('it does not end')
}

test('large inserts are wide parts with indexes, small ones compact without', async () => {
  const streamId = newStream()
  const projection = storeWith(NEEDS)
  await insert(projection, streamId, WIDE_ROWS_MIN)
  await insert(projection, streamId, BLOCK_ROWS)
  assert.deepEqual(await partsOf(streamId), [
    { type: 'Wide', rows: WIDE_ROWS_MIN, hasIndexes: 1 },
    { type: 'Compact', rows: BLOCK_ROWS, hasIndexes: 0 },
  ])
  assert.deepEqual(await keysOf(streamId), wantedKeys(NEEDS))
  const found = await search(streamId, 'message', 'haystack')
  assert.ok(found.usesIndex, found.text)
  assert.equal(found.rows, (WIDE_ROWS_MIN + BLOCK_ROWS) / BLOCK_ROWS)
  assert.equal(await keeper.readReadyShare(streamId), 1)

  // Merging makes what the small insert left out.
  await clickHouse.command(`OPTIMIZE TABLE ${tableOf(streamId)} FINAL`)
  assert.deepEqual(await partsOf(streamId), [
    { type: 'Wide', rows: WIDE_ROWS_MIN + BLOCK_ROWS, hasIndexes: 1 },
  ])
})

/** Rows of 16 KB that are hard to compress. */
function largeEvent(row: number): object {
  return { ...plainEvent(row), pad: randomBytes(12_000).toString('base64') }
}

test(
  'few rows of large events have indexes, as they are too large to be merged',
  LONG,
  async () => {
    const streamId = newStream()
    const rows = 2 * BLOCK_ROWS
    const blocks = blocksOf(rows, largeEvent)
    assert.ok(bytesOf(blocks) >= INDEXED_INSERT_BYTES_MIN, `${bytesOf(blocks)} B`)
    await storeWith(NEEDS).insert(streamId, blocks, rows)
    assert.deepEqual(await partsOf(streamId), [{ type: 'Compact', rows, hasIndexes: 1 }])
    assert.equal(await keeper.readReadyShare(streamId), 1)
    assert.ok((await search(streamId, 'message', 'needle')).usesIndex)
  },
)

test('large parts that came without indexes count as waiting, and get them', LONG, async () => {
  const streamId = newStream()
  const projection = storeWith(NEEDS)
  await insert(projection, streamId, WIDE_ROWS_MIN)
  // An insert that is below the bound, but does not compress.
  const rows = BLOCK_ROWS
  const blocks = blocksOf(rows, largeEvent)
  assert.ok(bytesOf(blocks) < INDEXED_INSERT_BYTES_MIN, `${bytesOf(blocks)} B`)
  assert.ok(bytesOf(blocks) > 2 * BARE_PART_BYTES_MIN)
  await projection.insert(streamId, blocks, rows)
  const states = async () => (await partsOf(streamId)).map(({ hasIndexes }) => hasIndexes)
  assert.deepEqual(await states(), [1, 0])
  const [form] = await keeper.listForms(streamId)
  const [day] = await keeper.listPartitions([form!])
  assert.deepEqual([day!.unindexedRows, day!.bareRows, day!.waitingRows], [rows, rows, rows])
  assert.ok((await keeper.readReadyShare(streamId)) < 1)
  await reindex(streamId)
  assert.deepEqual(await states(), [1, 1])
  assert.equal(await keeper.readReadyShare(streamId), 1)
  const words = (WIDE_ROWS_MIN + rows) / BLOCK_ROWS
  assert.equal((await search(streamId, 'message', 'needle')).rows, words)
})

// Merging them costs more than inserting them did, and makes no query faster.
test('two of the largest inserts are not merged, even of plain text', LONG, async () => {
  const streamId = newStream()
  const lines = loadCorpus({ kind: 'text', count: SPOOL_INSERT_ROWS })
  const blocks = blocksOf(lines.length, (row) => ({ message: lines[row] }))
  await storeWith({ ...NEEDS, fields: 1 }).insert(streamId, blocks, lines.length)
  assert.deepEqual(await partsOf(streamId), [{ type: 'Wide', rows: lines.length, hasIndexes: 1 }])
  const tables = await new ProjectionParts(clickHouse).listTables()
  const table = tables.find((each) => each.streamId === streamId)
  assert.ok(2 * table!.bytes > MERGE_BYTES_MAX * 1.2, `${table!.bytes} B`)
})

test('a stream of very many paths has compact parts, with indexes', async () => {
  const streamId = newStream()
  await insert(storeWith({ ...NEEDS, isWide: false }), streamId, WIDE_ROWS_MIN)
  const compact = { type: 'Compact', rows: WIDE_ROWS_MIN, hasIndexes: 1 }
  assert.deepEqual(await partsOf(streamId), [compact])
  assert.equal(await keeper.readReadyShare(streamId), 1, 'that is its form')
})

test('an old table is altered, its parts are indexed, and merging makes them wide', async () => {
  const streamId = newStream()
  await clickHouse.command(createTableSql(clickHouse.database, streamId))
  const old = new ProjectionStore(clickHouse, { nodeId: 1, epoch: 1n })
  await insert(old, streamId, WIDE_ROWS_MIN)
  await insert(old, streamId, BLOCK_ROWS)
  assert.ok(await alter(streamId, NEEDS))
  assert.equal(await alter(streamId, NEEDS), false, 'nothing is left to be altered')
  const before = await search(streamId, 'message', 'needle')

  const [form] = await keeper.listForms(streamId)
  const [day] = await keeper.listPartitions([form!])
  const rows = WIDE_ROWS_MIN + BLOCK_ROWS
  const indexing = { unindexedRows: rows, bareRows: 0, isOver: true }
  const counts = { parts: 2, rows, firstBlock: 1n, ...indexing, narrowParts: 1 }
  assert.deepEqual({ ...day, id: '' }, { streamId, id: '', ...counts, waitingRows: rows })
  assert.equal(await keeper.readReadyShare(streamId), 0)
  const listed = await new ProjectionParts(clickHouse).listTables()
  assert.equal(listed.find((table) => table.streamId === streamId)!.narrowParts, 1)
  await reindex(streamId)
  assert.deepEqual(
    (await partsOf(streamId)).map(({ type, hasIndexes }) => [type, hasIndexes]),
    [
      ['Compact', 1],
      ['Compact', 1],
    ],
  )
  const left = (await keeper.listPartitions([form!]))[0]!
  assert.deepEqual([left.unindexedRows, left.waitingRows], [0, WIDE_ROWS_MIN])
  await clickHouse.command(`OPTIMIZE TABLE ${tableOf(streamId)} FINAL`)
  assert.equal((await partsOf(streamId))[0]!.type, 'Wide')
  assert.equal(await keeper.readReadyShare(streamId), 1)
  assert.equal((await search(streamId, 'message', 'needle')).rows, before.rows)
})

test('changed text fields change the indexes, of old parts too; answers stay right', async () => {
  const streamId = newStream()
  const projection = storeWith(NEEDS)
  await insert(projection, streamId, WIDE_ROWS_MIN)
  const rows = WIDE_ROWS_MIN / BLOCK_ROWS
  const changed = { ...NEEDS, textPaths: ['note'] }
  assert.ok(await alter(streamId, changed))
  await eventually('the old index is gone', async () => !(await keeper.isChanging()), 20_000)
  assert.deepEqual(await keysOf(streamId), wantedKeys(changed))
  assert.equal((await search(streamId, 'note', 'needle')).rows, rows)
  assert.equal((await search(streamId, 'message', 'needle')).rows, rows)
  assert.equal(await keeper.readReadyShare(streamId), 0)
  await insert(projection, streamId, WIDE_ROWS_MIN)
  assert.equal(await keeper.readReadyShare(streamId), 0.5, 'new parts have the new index')
  await reindex(streamId)
  assert.equal(await keeper.readReadyShare(streamId), 1)
  const found = await search(streamId, 'note', 'needle')
  assert.deepEqual([found.usesIndex, found.rows], [true, 2 * rows])
})

test('the table has what was asked for: parts of an age, some at a time', async () => {
  const streamId = newStream()
  await insert(storeWith(NEEDS), streamId, BLOCK_ROWS)
  const [form] = await keeper.listForms(streamId)
  assert.match(form!.engineFull, new RegExp(`min_age_to_force_merge_seconds = ${MERGE_AGE_S},`))
  const atOnce = new RegExp(`parts_to_merge_at_once = ${MERGE_PARTS_AT_ONCE_MAX}(?![0-9])`)
  assert.match(form!.engineFull, atOnce)
  assert.equal(await alter(streamId, NEEDS), false)
  assert.equal(await alter(streamId, { ...NEEDS, isWide: false }), true)
  assert.equal(await alter(streamId, { ...NEEDS, isWide: false }), false)
})

test('a table has a bounded number of indexes', () => {
  const many = Array.from({ length: 100 }, (_, n) => `f${n}`)
  const indexes = wantedIndexes({ ...NEEDS, textPaths: many, idPaths: many })
  assert.equal(indexes.length, 2 + TEXT_INDEXES_MAX + ID_INDEXES_MAX)
  assert.ok(indexes.length <= 17)
})

test('too little memory for a wide part: the next is compact', async () => {
  const streamId = newStream()
  await insert(storeWith(NEEDS), streamId, BLOCK_ROWS)
  const failing = new Proxy(clickHouse, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (name !== 'insertNative') return member.bind(target)
      const options = { clickHouseCode: 241 }
      return async () => Promise.reject(new StoreError('unavailable', 'no memory', options))
    },
  })
  const poor = new ProjectionStore(failing, { nodeId: 1, epoch: 2n })
  await assert.rejects(insert(poor, streamId, BLOCK_ROWS), /no memory/)
  const isWide = async () => (await keeper.listForms(streamId))[0]!.engineFull.includes('= 100000,')
  assert.equal(await isWide(), false)
  await insert(storeWith(NEEDS), streamId, WIDE_ROWS_MIN)
  assert.ok(await isWide(), 'a new process tries again')
})

test('rows of many paths are inserted fewer at a time', async (t) => {
  const dataFiles = MemoryFiles.tryOpenShared()
  if (dataFiles === undefined) return t.skip('no room in /dev/shm, or no Linux')
  const sharing = new ClickHouse({ url: store.url, dataFiles })
  t.after(() => sharing.close())
  const rowsMax = async (fields: number) => {
    const streamId = newStream()
    const readNeeds = async () => ({ ...NEEDS, fields })
    const projection = new ProjectionStore(sharing, { nodeId: 1, epoch: 3n }, { readNeeds })
    await insert(projection, streamId, BLOCK_ROWS)
    const spool = projection.tryOpenSpool(streamId)!
    spool.release()
    return spool.rowsMax
  }
  assert.equal(await rowsMax(22), SPOOL_INSERT_ROWS)
  assert.equal(await rowsMax(1_000), SPOOL_INSERT_CELLS_MAX / 1_000)
})

test('a table that cannot be brought into its form takes rows all the same', async () => {
  const streamId = newStream()
  const told: unknown[] = []
  const projection = new ProjectionStore(
    clickHouse,
    { nodeId: 1, epoch: 1n },
    {
      readNeeds: async () => Promise.reject(new Error('the catalog is away')),
      onFormError: (stream, cause) => told.push([stream, String(cause)]),
    },
  )
  await insert(projection, streamId, BLOCK_ROWS)
  assert.deepEqual(told, [[streamId, 'Error: the catalog is away']])
  assert.equal((await partsOf(streamId)).length, 1)
})
