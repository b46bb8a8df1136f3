/**
 * Goal: when a standby is promoted that lacks the last commits, as with asynchronous replication,
 * that is told, and nothing goes on silently: no id is given out twice, the projection has nothing
 * that the raw store has not, and a process that remembers the lost history starts anew.
 * Method: real streaming replication, cut before the last requests; once with a service that lives
 * through the failover, once with one that starts after it, once with nothing lost but a stream.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../store/temporary.ts'
import { Api, call, readIngestAnswer, type Stream } from '../support/api.ts'
import { PostgresPair } from '../support/postgres-pair.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'

const dataDir = makeDataDir()
let pair: PostgresPair
let service: Service
let api: Api
let stream: Stream

before(async () => {
  pair = await PostgresPair.start({ isSynchronous: false })
  await start()
  stream = await api.createStream()
})

after(async () => {
  await service?.kill()
  await pair?.close()
  await removeDataDir(dataDir)
})

async function start(): Promise<void> {
  service = await Service.start({ dataDir, env: { SLUICE_POSTGRES_URL: pair.url } })
  api = new Api(service)
}

/** Sends so many events, one a request; resolves when all are in the projection. */
async function send(count: number, before: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const answer = await api.ingest(stream.key, JSON.stringify({ n: before + n }))
    assert.equal(readIngestAnswer(answer).accepted, 1)
  }
  await api.untilCounted(stream.id, before + count)
}

/** The standby gets all up to now, and then nothing more. */
async function cut(): Promise<void> {
  const sql = `SELECT 1 FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_flush_lsn()`
  await eventually('the standby has all', async () => (await pair.sql(sql)).length === 1)
  await pair.cutReplication()
}

async function newestId(): Promise<bigint> {
  const { events } = await api.page(stream.id, '?limit=1')
  return BigInt(events[0]?.id.split('-')[0] ?? '0')
}

/** Both stores have so many events; what was lost is told. */
async function assertSettled(events: number, lostEvents: number, losses: number): Promise<void> {
  await api.untilProjected(stream.id)
  assert.equal((await api.events(stream.id)).length, events)
  assert.equal((await api.count(stream.id)).total, events, 'no list has what a query counts')
  const { status, text } = await call(`${api.url}/readyz`)
  assert.equal(status, 200)
  assert.match(text, /"degraded":\{"history":"PostgreSQL lost what was committed \(node 0 at /)
  assert.equal(await api.metric('ingest_history_lost_events'), lostEvents)
  assert.equal(await api.metric('ingest_history_losses'), losses)
}

test('a service that lives through it notices, and starts anew', async () => {
  await send(5, 0)
  await cut()
  await send(3, 5)
  const lostId = await newestId()
  await pair.killPrimary()
  await pair.promote()
  assert.deepEqual(await service.exited, { code: 1, signal: null })
  assert.match(service.output, /"what":"segments".*"events":3.*its history was lost/)
  await start()
  assert.match(service.output, /"segments":3,"events":3.*was removed from the projection/)
  await assertSettled(5, 3, 1)
  await send(1, 5)
  assert.ok((await newestId()) > lostId, 'ids of lost segments are not given out again')
  await pair.rebuildStandby(false)
})

test('a service that starts after it finds what only the projection has', async () => {
  await cut()
  await send(4, 6)
  const lostId = await newestId()
  await service.kill()
  await pair.killPrimary()
  await pair.promote()
  await start()
  assert.match(service.output, /"events":4,"segments":4.*PostgreSQL lost acknowledged events/)
  await assertSettled(6, 7, 2)
  await send(1, 6)
  assert.ok((await newestId()) > lostId)
  await pair.rebuildStandby(false)
})

test('a lost stream is noticed as well', async () => {
  await cut()
  await api.createStream()
  const sql = 'SELECT version FROM control_version'
  const [behind, ahead] = [await pair.sql(sql, 'standby'), await pair.sql(sql)]
  assert.notDeepEqual(behind, ahead)
  await sleep(1_000) // Nodes poll it.
  await pair.killPrimary()
  await pair.promote()
  assert.deepEqual(await service.exited, { code: 1, signal: null })
  assert.match(service.output, /"what":"control".*its history was lost/)
  await start()
  await assertSettled(7, 7, 3)
  await pair.rebuildStandby(false)
})

test('a node starts anew when another one has found a loss', async () => {
  await pair.sql(`INSERT INTO lost_history
    (node_id, what, after_segment_id, up_to_segment_id, event_count, settled_at)
    VALUES (7, 'segments', 1, 2, 5, now())`)
  assert.deepEqual(await service.exited, { code: 1, signal: null })
  assert.match(service.output, /another node found that PostgreSQL lost what was committed/)
  await pair.sql('DELETE FROM lost_history WHERE node_id = 7')
  await start()
})

test('without a loss it goes on', async () => {
  await send(1, 7)
  await cut()
  await pair.killPrimary()
  await pair.promote()
  await send(1, 8)
  assert.ok(service.isRunning)
  await assertSettled(9, 7, 3)
})
