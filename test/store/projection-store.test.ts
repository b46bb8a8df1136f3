/**
 * Goal: whoever asks for it finds out whether inserts of a node still run, also in the embedded
 * engine, which gives queries ids of its own.
 * Method: the real engine; a materialized view that sleeps makes an insert of ours take long.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { PROJECTION_COLUMNS } from '../../src/model/projection.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { startEmbeddedClickHouse } from '../../src/store/embedded/clickhouse.ts'
import type { EmbeddedStore } from '../../src/store/embedded/supervisor.ts'
import { ensureClickHouse } from '../../src/store/migrations/run.ts'
import {
  PROJECTION_DATABASE,
  ProjectionStore,
  projectionTable,
} from '../../src/store/projection-store.ts'
import { eventually, makeDirectory, recordingLog, removeDirectory } from './temporary.ts'

const STREAM = 1 as StreamId
const TABLE = projectionTable(STREAM)
const INSERT_MS = 2_000

const dataDir = makeDirectory()
let store: EmbeddedStore
let clickHouse: ClickHouse

before(async () => {
  store = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  clickHouse = new ClickHouse({ url: store.url })
  await ensureClickHouse(clickHouse, PROJECTION_DATABASE)
})

after(async () => {
  await clickHouse?.close()
  await store?.stop()
  removeDirectory(dataDir)
})

/** One row of defaults, as an insert would send it. Makes the table first. */
async function oneRow(projection: ProjectionStore): Promise<Uint8Array> {
  await projection.insert(STREAM, [])
  await clickHouse.command(`INSERT INTO ${TABLE} (ordinal) VALUES (0)`)
  const columns = PROJECTION_COLUMNS.map(([name]) => name).join(', ')
  const { port, username, password, protocol } = new URL(store.url)
  const reply = await fetch(`${protocol}//127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'X-ClickHouse-User': username, 'X-ClickHouse-Key': password },
    body: `SELECT ${columns} FROM ${TABLE} FORMAT Native`,
  })
  assert.equal(reply.status, 200)
  return new Uint8Array(await reply.arrayBuffer())
}

async function runningInserts(): Promise<number> {
  const sql = `SELECT toUInt32(count()) AS n FROM system.processes WHERE query LIKE 'INSERT%'`
  return (await clickHouse.query<{ n: number }>(sql))[0]?.n ?? 0
}

test('settleInserts waits for an insert of its own node, and only for that', async () => {
  const projection = new ProjectionStore(clickHouse, { nodeId: 5, epoch: 1n })
  const block = await oneRow(projection)
  await clickHouse.command(
    `CREATE MATERIALIZED VIEW slow ENGINE = Null AS
     SELECT sleepEachRow(${INSERT_MS / 1_000}) AS slept FROM ${TABLE}`,
  )
  let isOver = false
  const insert = projection.insert(STREAM, [block]).then(() => {
    isOver = true
  })
  await eventually('the insert runs', async () => (await runningInserts()) === 1)

  for (const nodeId of [0, 15, 55]) {
    await new ProjectionStore(clickHouse, { nodeId, epoch: 1n }).settleInserts()
    assert.equal(isOver, false, `node ${nodeId} waited for the insert of node 5`)
  }
  // A later process of the same node, which knows nothing of the insert.
  await new ProjectionStore(clickHouse, { nodeId: 5, epoch: 2n }).settleInserts()
  await sleep(50) // The answer to the insert may come just after it left the list.
  assert.ok(isOver, 'it did not wait for the insert')
  await insert
})

test('log_comment ends with the query id, whatever is in it, and finds a query', async () => {
  const queryId = `it's \\ a' OR "1"; é {x:String} \\' --`
  const sql = 'SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = 1'
  const abort = new AbortController()
  const options = { queryId, signal: abort.signal }
  const slow = clickHouse.query(sql, {}, {}, options)
  slow.catch(() => undefined) // It is rejected long before it is awaited.
  const running = async () => {
    const find = `SELECT toUInt32(count()) AS n FROM system.processes
      WHERE endsWith(Settings['log_comment'], {end:String})`
    return (await clickHouse.query<{ n: number }>(find, { end: `/${queryId}` }))[0]?.n
  }
  await eventually('it runs', async () => (await running()) === 1, 3_000)
  abort.abort()
  await assert.rejects(slow)
  await eventually('it was cancelled', async () => (await running()) === 0, 3_000)
})
