/**
 * Goal: on two nodes a tail of either has each event of both once, or a gap that covers it, and a
 * reader may come back to the other node.
 * Method: two services on stores that the test starts, writers and readers on both.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbeddedClickHouse } from '../../../src/embedded/clickhouse.ts'
import { startEmbeddedPostgres } from '../../../src/embedded/postgres.ts'
import type { EmbeddedStore } from '../../../src/embedded/supervisor.ts'
import { recordingLog } from '../../store/temporary.ts'
import { Api } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { openTcpFront, type TcpFront } from '../../support/store-socket.ts'
import { assertCovers, TailReader } from '../../support/tail-reader.ts'

const QUERIES = ['', 'node:1', 'n:[3 TO 20] i:<3']
const storesDir = makeDataDir()
const dataDirs = [makeDataDir(), makeDataDir()] as const
const stores: EmbeddedStore[] = []
const fronts: TcpFront[] = []
const services: Service[] = []
const readers: TailReader[] = []

before(async () => {
  const log = recordingLog()
  stores.push(await startEmbeddedPostgres({ dataDir: storesDir, log }))
  stores.push(await startEmbeddedClickHouse({ dataDir: storesDir, log }))
  for (const { url } of stores) fronts.push(await openTcpFront(url))
  const [postgresUrl = '', clickHouseUrl = ''] = fronts.map(({ url }) => url)
  const env = { SLUICE_POSTGRES_URL: postgresUrl, SLUICE_CLICKHOUSE_URL: clickHouseUrl }
  services.push(await Service.start({ dataDir: dataDirs[0], env }))
  const { token } = services[0]!
  services.push(await Service.start({ dataDir: dataDirs[1], env, token }))
})

after(async () => {
  await Promise.all(readers.map((reader) => reader.stop()))
  for (const service of services) await service.kill()
  for (const front of fronts) await front.close()
  for (const store of stores.reverse()) await store.stop()
  for (const path of [storesDir, ...dataDirs]) await removeDataDir(path)
})

test('tails of both nodes have the events of both, and readers change between them', async (t) => {
  const apis = services.map((service) => new Api(service))
  const stream = await apis[0]!.createStream()
  await apis[0]!.ingest(stream.key, '{"n":-1}')
  const first = (await apis[0]!.page(stream.id)).events[0]!.id
  // One Api for the readers of each, whose url changes from node to node.
  const wandering = [new Api(services[0]!), new Api(services[1]!)]
  const mine = QUERIES.flatMap((query) => {
    return wandering.map((api) => new TailReader(api, stream.id, { query, from: first }))
  })
  readers.push(...mine)
  await Promise.all(mine.map((reader) => reader.untilOpen()))
  let isOn = true
  const write = async (node: number) => {
    for (let n = 0; isOn; n++) {
      const events = Array.from({ length: 1 + (n % 20) }, (_, i) => ({ node, n, i }))
      const { status } = await apis[node]!.ingest(stream.key, JSON.stringify(events))
      assert.equal(status, 200)
      await sleep(5)
    }
  }
  const writing = [write(0), write(1), write(0), write(1)]
  for (let round = 0; round < 6; round++) {
    await sleep(600)
    const urls = wandering.map(({ url }) => url)
    for (const [i, api] of wandering.entries()) api.url = urls[1 - i]!
    for (const reader of mine) reader.breakOff()
  }
  await sleep(600)
  isOn = false
  await Promise.all(writing)
  await sleep(1_000)
  await Promise.all(mine.map((reader) => reader.untilQuiet()))
  const list = await apis[0]!.events(stream.id)
  for (const reader of mine) {
    const { seen, inGaps } = assertCovers(reader, list, { after: first })
    const gaps = reader.gaps.map(({ reason, dropped }) => `${reason} ${dropped}`)
    t.diagnostic(`${reader.query}: ${JSON.stringify({ seen, inGaps, gaps })} of ${list.length}`)
    assert.ok(reader.connections >= 5 && seen > 20)
  }
})
