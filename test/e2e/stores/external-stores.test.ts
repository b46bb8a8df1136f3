/**
 * Goal: servers in place of the embedded stores, and several nodes on them: the same service, ids
 * that never collide, each node's events in the projection once.
 * Method: the test starts both stores itself and points two services at ports in front of them.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbeddedClickHouse } from '../../../src/embedded/clickhouse.ts'
import { startEmbeddedPostgres } from '../../../src/embedded/postgres.ts'
import type { EmbeddedStore } from '../../../src/embedded/supervisor.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { recordingLog } from '../../store/temporary.ts'
import { Api, readProblem } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { openTcpFront, type TcpFront } from '../../support/store-socket.ts'

const storesDir = makeDataDir()
const dataDirs = [makeDataDir(), makeDataDir()] as const
const stores: EmbeddedStore[] = []
const fronts: TcpFront[] = []
let env: Readonly<Record<string, string>> = {}
let first: Service
let second: Service

before(async () => {
  const log = recordingLog()
  const postgres = await startEmbeddedPostgres({ dataDir: storesDir, log })
  stores.push(postgres)
  const clickHouse = await startEmbeddedClickHouse({ dataDir: storesDir, log })
  stores.push(clickHouse)
  for (const { url } of stores) fronts.push(await openTcpFront(url))
  const [postgresUrl = '', clickHouseUrl = ''] = fronts.map(({ url }) => url)
  // Named in the URL; the tests of other files leave it out.
  env = { SLUICE_POSTGRES_URL: postgresUrl, SLUICE_CLICKHOUSE_URL: `${clickHouseUrl}fleet` }
  first = await Service.start({ dataDir: dataDirs[0], env })
})

after(async () => {
  for (const service of [first, second]) await service?.kill()
  for (const front of fronts) await front.close()
  for (const store of stores.reverse()) await store.stop()
  for (const path of [storesDir, ...dataDirs]) await removeDataDir(path)
})

test('a node on external stores starts none of its own and shows no password', async () => {
  assert.deepEqual(first.stores(), {
    postmaster: undefined,
    backends: [],
    clickHouseHost: undefined,
  })
  assert.equal(existsSync(join(dataDirs[0], 'postgres')), false)
  for (const url of Object.values(env)) {
    assert.ok(!first.output.includes(new URL(url).password))
  }
})

test('the projection is in the database that the URL names', async () => {
  const clickHouse = new ClickHouse({ url: env.SLUICE_CLICKHOUSE_URL ?? '' })
  const rows = await clickHouse.query<{ database: string }>(
    `SELECT DISTINCT database FROM system.tables
      WHERE name LIKE 'events\\_%' OR name = 'projection_identity'`,
  )
  await clickHouse.close()
  assert.deepEqual(rows, [{ database: 'fleet' }])
})

test('two nodes at once: ids never collide, both materialize, once', async () => {
  second = await Service.start({ dataDir: dataDirs[1], env, token: first.token })
  const apis = [new Api(first), new Api(second)] as const
  const stream = await apis[0].createStream()
  let isOn = true
  const write = async (api: Api, node: number, writer: number) => {
    let n = 0
    for (; isOn; n++) {
      const events = Array.from({ length: 10 }, (_, i) => ({ node, writer, n, i }))
      const { status, text } = await api.ingest(stream.key, JSON.stringify(events))
      assert.equal(status, 200, text)
      await sleep(5)
    }
    return n * 10
  }
  const writing = apis.flatMap((api, node) => [0, 1, 2].map((writer) => write(api, node, writer)))
  await sleep(1_000)
  isOn = false
  const sent = (await Promise.all(writing)).reduce((sum, count) => sum + count, 0)
  const events = await apis[1].events(stream.id)
  assert.equal(events.length, sent)
  assert.equal(new Set(events.map(({ id }) => id)).size, sent)
  const nodes = new Set(events.map(({ id }) => (BigInt(id.split('-')[0] ?? '0') >> 12n) & 511n))
  assert.deepEqual([...nodes].sort(), [0n, 1n])
  await apis[0].untilCounted(stream.id, sent)
  assert.equal((await apis[1].count(stream.id)).total, sent)
  const byNode = await apis[0].count(stream.id, { group_by: 'node' })
  assert.equal(byNode.rows.length, 2)
})

test('a key is remembered and revoked on every node', async () => {
  const apis = [new Api(first), new Api(second)] as const
  const stream = await apis[0].createStream()
  const headers = { 'idempotency-key': 'both' }
  const one = await apis[0].ingest(stream.key, '[{"a":1},{"a":2}]', headers)
  const two = await apis[1].ingest(stream.key, '[{"a":1},{"a":2}]', headers)
  assert.deepEqual([two.status, two.text], [200, one.text])
  const other = await apis[1].ingest(stream.key, '{"a":3}', headers)
  assert.deepEqual([other.status, readProblem(other).code], [409, 'conflict'])
  await apis[0].rest(`/v1/streams/${stream.id}/keys/${stream.keyId}`, 'DELETE')
  const deadline = performance.now() + 1_000
  while ((await apis[1].ingest(stream.key, '{}')).status !== 401) {
    assert.ok(performance.now() < deadline, 'within a second')
    await sleep(20)
  }
})

test('a node that was killed brings its events into the projection when it is back', {
  skip: ONLY_LONG,
}, async () => {
  const api = new Api(second)
  const stream = await api.createStream()
  for (let n = 0; n < 20; n++) await api.ingest(stream.key, `{"n":${n}}`)
  await second.kill()
  second = await Service.start({ dataDir: dataDirs[1], env, token: first.token })
  const again = new Api(second)
  await again.ingest(stream.key, '{"n":20}')
  await again.untilCounted(stream.id, 21, 30_000)
  assert.equal((await again.count(stream.id)).total, 21)
  assert.deepEqual(await first.stop(), { code: 0, signal: null })
  assert.equal((await again.ingest(stream.key, '{"n":21}')).status, 200)
})
