/**
 * Goal: a read of the embedded engine makes few threads: making one costs more than most of the
 * tasks that the engine would make it for.
 * Method: the real engine's own count of the threads that its pool made, over reads of a table of
 * many wide parts with a column of JSON.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import type { EmbeddedStore } from '../../src/embedded/supervisor.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'

const PARTS = 12
const READS = 5
/** One for the pipeline, and one for each of its two threads. */
const THREADS_MAX = 3

const dataDir = makeDirectory()
let store: EmbeddedStore
let clickHouse: ClickHouse

before(async () => {
  store = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  clickHouse = new ClickHouse({ url: store.url, lane: 'read' })
  await clickHouse.command(
    `CREATE TABLE wide (n UInt32, payload JSON) ENGINE = MergeTree ORDER BY n
       SETTINGS min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0`,
  )
  await clickHouse.command('SYSTEM STOP MERGES wide')
  for (let part = 0; part < PARTS; part++) {
    await clickHouse.command(
      `INSERT INTO wide SELECT number, '{"a":"x","b":' || number || '}' FROM numbers(1000)`,
    )
  }
})

after(async () => {
  await clickHouse?.close()
  await store?.stop()
  removeDirectory(dataDir)
})

async function threadsMade(): Promise<number> {
  const rows = await clickHouse.query<{ value: number }>(
    `SELECT value FROM system.events WHERE event = 'GlobalThreadPoolExpansions'`,
  )
  return Number(rows[0]?.value ?? 0)
}

const READ = {
  'a part of the key': 'SELECT count() AS c FROM wide WHERE n < 10',
  'values of a path': 'SELECT countIf(payload.a.:String = {x:String}) AS c FROM wide',
  'whole events': 'SELECT payload FROM wide ORDER BY n LIMIT 3',
} as const

for (const [name, sql] of Object.entries(READ)) {
  test(`${name}: few threads, however many parts`, async () => {
    const params = sql.includes('{x:String}') ? { x: 'x' } : {}
    await clickHouse.query(sql, params)
    const before = await threadsMade()
    for (let i = 0; i < READS; i++) await clickHouse.query(sql, params)
    const ofLooking = THREADS_MAX
    const made = (await threadsMade()) - before
    assert.ok(made <= READS * THREADS_MAX + ofLooking, `${made / READS} threads a read`)
  })
}
