/**
 * Goal: nodes on one PostgreSQL that have a ClickHouse each do not answer with a part of the
 * events; a wrong URL is caught; a projection that was lost is complete again.
 * Method: a PostgreSQL of the test's own, services with embedded and with external engines.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startEmbeddedClickHouse } from '../../../src/embedded/clickhouse.ts'
import { startEmbeddedPostgres } from '../../../src/embedded/postgres.ts'
import type { EmbeddedStore } from '../../../src/embedded/supervisor.ts'
import { recordingLog } from '../../store/temporary.ts'
import { Api, type Stream } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { openTcpFront, type TcpFront } from '../../support/store-socket.ts'

const storesDir = makeDataDir()
const otherDir = makeDataDir()
const dataDirs = [makeDataDir(), makeDataDir()] as const
const stores: EmbeddedStore[] = []
const fronts: TcpFront[] = []
const services: Service[] = []
let postgresUrl = ''
let clickHouseUrl = ''
let token = ''
let stream: Stream

before(async () => {
  const log = recordingLog()
  stores.push(await startEmbeddedPostgres({ dataDir: storesDir, log }))
  stores.push(await startEmbeddedClickHouse({ dataDir: otherDir, log }))
  for (const { url } of stores) fronts.push(await openTcpFront(url))
  postgresUrl = fronts[0]?.url ?? assert.fail()
  clickHouseUrl = fronts[1]?.url ?? assert.fail()
})

after(async () => {
  for (const service of services) await service.kill()
  for (const front of fronts) await front.close()
  for (const store of stores.reverse()) await store.stop()
  for (const path of [storesDir, otherDir, ...dataDirs]) await removeDataDir(path)
})

async function start(index: 0 | 1, args: readonly string[] = []): Promise<Service> {
  const env = { SLUICE_POSTGRES_URL: postgresUrl }
  const options = { dataDir: dataDirs[index], args, env, ...(token !== '' && { token }) }
  const service = await Service.start(options)
  services.push(service)
  token = service.token
  return service
}

async function assertRefused(index: 0 | 1, args: readonly string[], text: RegExp): Promise<void> {
  const all = ['--data', dataDirs[index], '--port', '0', ...args]
  const { code, stderr } = await Service.runToEnd(all, { SLUICE_POSTGRES_URL: postgresUrl })
  assert.equal(code, 1, stderr)
  assert.match(stderr, text)
  assert.ok(!stderr.includes(new URL(clickHouseUrl).password))
}

test('a second node with an engine of its own is refused', async () => {
  const first = await start(0)
  const api = new Api(first)
  stream = await api.createStream()
  for (let n = 0; n < 5; n++) await api.ingest(stream.key, `{"n":${n}}`)
  await assertRefused(1, [], /is empty.*1 running node.*SLUICE_CLICKHOUSE_URL/)
  await api.untilCounted(stream.id, 5)
  assert.deepEqual(await first.stop(), { code: 0, signal: null })
  // Whether it runs or not.
  await assertRefused(1, [], /SLUICE_CLICKHOUSE_URL.*--rebuild-projection true/)
})

test('an engine that lost its data is filled again, from the first event', async () => {
  await removeDataDir(join(dataDirs[0], 'clickhouse'))
  const service = await start(0)
  await new Api(service).untilCounted(stream.id, 5, 30_000)
  assert.match(service.output, /built anew/)
  await service.stop()
})

test('a wrong URL is caught, and taken when the operator insists', {
  skip: ONLY_LONG,
}, async () => {
  const external = ['--clickhouse-url', clickHouseUrl]
  await assertRefused(0, external, /this ClickHouse is empty.*--rebuild-projection true/)
  const moved = await start(0, [...external, '--rebuild-projection', 'true'])
  await new Api(moved).untilCounted(stream.id, 5, 30_000)
  await moved.stop()
  // The old one is a foreign one now.
  await assertRefused(0, [], /another projection/)
  const service = await start(0, external)
  assert.equal((await new Api(service).count(stream.id)).total, 5)
  const second = await start(1, external)
  const api = new Api(second)
  await api.ingest(stream.key, '{"n":5}')
  await api.untilCounted(stream.id, 6)
})
