/**
 * Goal: our client and a ClickHouse server understand each other as they do with the embedded
 * engine: statements of any size, failures with their numbers, cancelled queries that end, with the
 * rights that docs/operations.md names and no more, whatever the profile of its user says.
 * Method: the engine's own HTTP server, whose profile is an odd one; another user looks at it.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { tryReadWorkingDirectory } from '../../bench/e2e/procfs.ts'
import { isAlive } from '../../src/machine/processes.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { PROJECTION_COLUMNS } from '../../src/model/projection.ts'
import { makeSegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { ClickHouse, type EngineStats } from '../../src/store/clickhouse.ts'
import { MEMORY_LIMIT_EXCEEDED, UNKNOWN_TABLE } from '../../src/store/clickhouse-codes.ts'
import { ensureClickHouse } from '../../src/store/migrations/run.ts'
import { MixedParts } from '../../src/store/projection/mixed-parts.ts'
import { ProjectionParts } from '../../src/store/projection/projection-parts.ts'
import { ProjectionStore, projectionTable } from '../../src/store/projection/projection-store.ts'
import { querySettings } from '../../src/store/projection/query-bounds.ts'
import { TableKeeper } from '../../src/store/projection/table-keeper.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { noRealClickHouse, RealClickHouse } from '../support/real-clickhouse.ts'
import { eventually, removeDirectory } from './temporary.ts'

const skip = noRealClickHouse()
const DATABASES = ['sluice', 'other']
let server: RealClickHouse
let clickHouse: ClickHouse
let other: ClickHouse
let watcher: ClickHouse

before(async () => {
  if (skip) return
  server = await RealClickHouse.start({ databases: DATABASES })
  clickHouse = new ClickHouse({ url: server.url })
  other = new ClickHouse({ url: `${server.url}other` })
  watcher = new ClickHouse({ url: server.watcherUrl })
  for (const each of [clickHouse, other]) await ensureClickHouse(each)
})

after(async () => {
  for (const each of [clickHouse, other, watcher]) await each?.close()
  await server?.close()
})

async function running(text: string): Promise<number> {
  const rows = await watcher.query<{ n: number }>(
    `SELECT toUInt32(count()) AS n FROM system.processes
     WHERE position(query, {text:String}) > 0 AND user != currentUser()`,
    { text },
  )
  return rows[0]?.n ?? 0
}

/** The error that `work` is rejected with. */
async function errorOf(work: Promise<unknown>): Promise<StoreError> {
  const cause = await work.then(
    () => assert.fail('it was not refused'),
    (error: unknown) => error,
  )
  assert.ok(cause instanceof StoreError, String(cause))
  return cause
}

test('the client of the program itself may do nothing', { skip }, async () => {
  const { origin } = new URL(server.url)
  for (const body of [
    'SELECT * FROM system.processes',
    'CREATE TABLE sluice.t (n Int8) ENGINE = MergeTree ORDER BY n',
    'CREATE DATABASE x',
    'SYSTEM SHUTDOWN',
  ]) {
    const answer = await fetch(origin, { method: 'POST', body })
    assert.match(`${answer.status} ${await answer.text()}`, /ACCESS_DENIED/, body)
  }
})

test('the server ends with the process that started it, even if that is killed', {
  skip,
}, async () => {
  const module = JSON.stringify(new URL('../support/real-clickhouse.js', import.meta.url).href)
  const program = `const { RealClickHouse } = await import(${module})
    console.log((await RealClickHouse.start()).pid)`
  const args = ['--input-type=module', '--eval', program]
  const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(parent.stdout.setEncoding('utf8'), 'data')) as [string]
  const pid = Number(line)
  const directory = tryReadWorkingDirectory(pid) ?? ''
  assert.ok(isAlive(pid))
  parent.kill('SIGKILL')
  await eventually('it has ended', () => !isAlive(pid))
  removeDirectory(directory)
})

test('long statements with long parameters', { skip }, async () => {
  for (const chars of [10, 100_000, 130_000, 2_000_000]) {
    for (const length of [10, 5_000, 20_000]) {
      const texts = Array.from({ length: 5 }, (_, n) => `${n}é`.padEnd(length / 5, `'\\\t\n\r\0"`))
      const rows = await clickHouse.query<{ texts: string[] }>(
        `SELECT {texts:Array(String)} AS texts WHERE '${'x'.repeat(chars)}' != ''`,
        { texts },
        querySettings(10_000),
      )
      assert.deepEqual(rows, [{ texts }], `${chars} and ${length}`)
    }
  }
})

test('a large answer, with its statistics', { skip }, async () => {
  let stats: EngineStats | undefined
  const rows = await clickHouse.query<{ n: number; text: string }>(
    `SELECT number AS n, repeat('x', 1000) AS text FROM numbers(10000)`,
    {},
    querySettings(10_000),
    { onStats: (heard) => void (stats = heard) },
  )
  assert.deepEqual([rows.length, rows[9_999]?.n, rows[0]?.text.length], [10_000, 9_999, 1_000])
  assert.equal(stats?.rowsRead, 10_000)
})

test('failures have their numbers', { skip }, async () => {
  const numbers = 'SELECT groupArray(repeat(toString(number), 10)) AS all FROM numbers(1000000)'
  const memory = await errorOf(clickHouse.query(numbers, {}, { max_memory_usage: '1000000' }))
  assert.deepEqual([memory.kind, memory.clickHouseCode], ['unavailable', 241])
  const slow = 'SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1'
  const late = await errorOf(clickHouse.query(slow, {}, querySettings(300)))
  assert.deepEqual([late.kind, late.clickHouseCode], ['unavailable', 159])
  const large = 'SELECT repeat(toString(number), 1000) AS text FROM numbers(100000)'
  const result = await errorOf(clickHouse.query(large, {}, querySettings(10_000)))
  assert.equal(result.clickHouseCode, 396)
  const denied = await errorOf(clickHouse.query('SELECT * FROM system.users'))
  assert.deepEqual([denied.kind, denied.clickHouseName], ['other', 'ACCESS_DENIED'])
  const password = new URL(server.url)
  password.password = 'wrong'
  const stranger = new ClickHouse({ url: password.href })
  const refused = await errorOf(stranger.ping())
  await stranger.close()
  assert.equal(refused.clickHouseCode, 516)
  assert.ok(!refused.message.includes('wrong'), refused.message)
})

test('a query that nobody waits for any more ends at the server', { skip }, async () => {
  const mark = 'nobody waits'
  const abort = new AbortController()
  const query = clickHouse.query(
    `SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1 -- ${mark}`,
    {},
    querySettings(60_000),
    { signal: abort.signal },
  )
  query.catch(() => undefined)
  await eventually('it runs', async () => (await running(mark)) === 1)
  abort.abort()
  assert.equal((await errorOf(query)).kind, 'unavailable')
  await eventually('it has ended', async () => (await running(mark)) === 0)
})

/** One column of long texts in so many Native blocks of a megabyte. */
function nativeTexts(blocks: number): Uint8Array[] {
  const text = Buffer.concat([Buffer.from([0xff, 0x7f]), Buffer.alloc(0x3fff, 'x')])
  const head = Buffer.from([1, 64, 4, ...Buffer.from('text'), 6, ...Buffer.from('String')])
  const block = Buffer.concat([head, ...Array.from({ length: 64 }, () => text)])
  return Array.from({ length: blocks }, () => block)
}

test('an insert that fails says why, however much of it was sent', { skip }, async () => {
  await clickHouse.command('CREATE TABLE sluice.texts (text String) ENGINE = MergeTree ORDER BY ()')
  const insert = (table: string, data: readonly Uint8Array[], settings = {}) => {
    const sql = `INSERT INTO sluice.${table} (text) FORMAT Native`
    return clickHouse.insertNative(sql, data, { settings })
  }
  await insert('texts', nativeTexts(2))
  for (const blocks of [1, 40]) {
    const data = nativeTexts(blocks)
    assert.equal((await errorOf(insert('gone', data))).clickHouseCode, UNKNOWN_TABLE)
    const little = { max_memory_usage: '1000000' }
    const memory = await errorOf(insert('texts', data, little))
    assert.equal(memory.clickHouseCode, MEMORY_LIMIT_EXCEEDED)
    // As if somebody had cut the data: not a fault of the values.
    const cut = await errorOf(insert('texts', [...data, data[0]!.subarray(0, 1_000)]))
    assert.deepEqual([cut.clickHouseCode, cut.kind], [33, 'other'])
  }
  const [found] = await clickHouse.query<{ n: number }>(
    'SELECT toUInt32(count()) AS n FROM sluice.texts',
  )
  assert.equal(found?.n, 128)
})

const [OWN, NODE] = [7 as StreamId, { nodeId: 1, epoch: 1n }]

/** Rows of the stream, whose segments were committed on these days. */
async function insertDays(streamId: StreamId, days: readonly number[]): Promise<void> {
  await new ProjectionStore(clickHouse, NODE).insert(streamId, [])
  const table = projectionTable('sluice', streamId)
  const shared = streamId === MIXED_STREAM ? ['stream_id, ', '7, '] : ['', '']
  for (const [counter, day] of days.entries()) {
    const ms = Date.UTC(2026, 0, day)
    await clickHouse.command(
      `INSERT INTO ${table} (${shared[0]}ingested_at, segment_id, ordinal)
       VALUES (${shared[1]}fromUnixTimestamp64Milli({ms:Int64}), {id:UInt64}, 0)`,
      { ms, id: String(makeSegmentId({ ms, node: 1, counter })) },
    )
  }
}

const before10th = makeSegmentId({ ms: Date.UTC(2026, 0, 10), node: 0, counter: 0 })

test('the rights: what removes rows of a table', { skip }, async () => {
  const parts = new ProjectionParts(clickHouse)
  await insertDays(OWN, [])
  assert.deepEqual(
    (await parts.listTables()).map(({ rows, parts }) => [rows, parts]),
    [[0, 0]],
  )
  await insertDays(OWN, [1, 9, 9, 10])
  const days = async () => {
    const listed = await parts.listPartitions(OWN, Date.now())
    return listed.map(({ id, rows }) => `${id} ${rows}`)
  }
  assert.deepEqual(await days(), ['20260101 1', '20260109 2', '20260110 1'])
  assert.equal(await parts.countBefore(OWN, '20260109', before10th), 2)
  await parts.dropPartition(OWN, '20260101')
  await parts.startDelete(OWN, '20260109', before10th)
  await eventually('the rows are gone', async () => !(await parts.isDeleting()))
  assert.deepEqual(await days(), ['20260110 1'])
  await parts.setMergeBytes(OWN, 1_000_000)
  assert.deepEqual(await parts.listOtherwiseMerged(), [OWN])
  await parts.dropTable(OWN)
  assert.deepEqual(await parts.listTables(), [])
})

test('the rights: what removes rows of the table that streams share', { skip }, async () => {
  await insertDays(MIXED_STREAM, [1, 9, 10])
  const parts = new MixedParts(clickHouse)
  // As many as are told in one statement, whose parameters are in the URL.
  const marks = Array.from({ length: 256 }, (_, n) => [(n + 1) as StreamId, before10th] as const)
  assert.equal((await parts.listPartitions()).length, 3)
  assert.equal(await parts.countBefore('20260109', marks), 1)
  await parts.dropPartition('20260101')
  await parts.startDelete('20260109', marks)
  await eventually('it is gone', async () => (await parts.countRows('20260109')) === 0)
  assert.deepEqual(
    (await parts.listPartitions()).map(({ id }) => id),
    ['20260110'],
  )
})

test('the rights: what gives a table its form, and ends what fails', { skip }, async () => {
  await insertDays(OWN, [9])
  const keeper = new TableKeeper(clickHouse)
  const needs = { isWide: true, fields: 3, textPaths: ['message'], idPaths: ['trace_id'] }
  for (const form of await keeper.listForms(OWN)) assert.ok(await keeper.alter(form, needs))
  const [form] = await keeper.listForms(OWN)
  assert.deepEqual(
    form?.indexes.map(({ key }) => key.split('_')[0]),
    ['shape', 'time', 'text', 'id'],
  )
  assert.deepEqual(form?.counts, ['counts_by_second', 'counts_minute'])
  const [day] = await keeper.listPartitions([form!])
  await keeper.startIndexing(form!, day!)
  await eventually('the indexes are made', async () => !(await keeper.isChanging()))
  assert.equal(await keeper.readReadyShare(OWN), 1)
  const table = projectionTable('sluice', OWN)
  await clickHouse.command(`ALTER TABLE ${table} ADD INDEX bad throwIf(ordinal = 0) TYPE minmax`)
  const settings = { mutations_sync: '0' } as const
  await clickHouse.command(`ALTER TABLE ${table} MATERIALIZE INDEX bad`, {}, { settings })
  await eventually('it fails', async () => (await keeper.endFailing()).length > 0)
  await eventually('nothing is left', async () => !(await keeper.isChanging()))
})

test('nodes of another Sluice on the same server are others', { skip }, async () => {
  await new ProjectionStore(clickHouse, NODE).insert(OWN, [])
  await watcher.command(
    `CREATE MATERIALIZED VIEW sluice.slow ENGINE = Null AS
     SELECT sleepEachRow(1) AS slept FROM ${projectionTable('sluice', OWN)}`,
  )
  const [ours, theirs] = [clickHouse, other].map((each) => new ProjectionStore(each, NODE))
  const row = await oneRow(projectionTable('sluice', OWN))
  const inserting = ours!.insert(OWN, [row])
  inserting.catch(() => undefined) // It may be rejected long before it is awaited.
  await eventually('our insert runs', async () => (await running('INSERT INTO sluice')) === 1)
  await theirs!.insert(OWN, [row])
  await theirs!.settleInserts()
  assert.equal(await running('INSERT INTO sluice'), 1, 'they waited for ours')
  await new ProjectionStore(clickHouse, { ...NODE, epoch: 2n }).settleInserts()
  assert.equal(await running('INSERT INTO sluice'), 0)
  await inserting
})

/** A row of the table as an insert sends it. */
async function oneRow(table: string): Promise<Uint8Array> {
  const columns = PROJECTION_COLUMNS.map(([name]) => name).join(', ')
  const { origin, username, password } = new URL(server.watcherUrl)
  const answer = await fetch(origin, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa(`${username}:${password}`)}` },
    body: `SELECT ${columns} FROM ${table} LIMIT 1 FORMAT Native`,
  })
  assert.equal(answer.status, 200)
  return new Uint8Array(await answer.arrayBuffer())
}
