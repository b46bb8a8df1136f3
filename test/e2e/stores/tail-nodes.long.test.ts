/**
 * Goal: on two nodes a tail of either has each event of both once, or a gap that covers it, and a
 * reader may come back to the other node.
 * Method: two services on stores that the test starts, writers and readers on both.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { OwnStores } from '../../support/own-stores.ts'
import { makeDataDir, removeDataDir, type Service } from '../../support/service.ts'
import { assertCovers, TailReader } from '../../support/tail-reader.ts'

const QUERIES = ['', 'node:1', 'n:[3 TO 20] i:<3']
const dataDirs = [makeDataDir(), makeDataDir()] as const
let stores: OwnStores
const services: Service[] = []
const readers: TailReader[] = []

before(async () => {
  stores = await OwnStores.start()
  for (const dataDir of dataDirs) services.push(await stores.startService(dataDir))
})

after(async () => {
  await Promise.all(readers.map((reader) => reader.stop()))
  for (const service of services) await service.kill()
  await stores?.close()
  for (const path of dataDirs) await removeDataDir(path)
})

test('tails of both nodes have the events of both, and readers change between them', {
  skip: ONLY_LONG,
}, async (t) => {
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
      await sleep(15)
    }
  }
  const writing = [write(0), write(1), write(0), write(1)]
  for (let round = 0; round < 5; round++) {
    await sleep(400)
    const urls = wandering.map(({ url }) => url)
    for (const [i, api] of wandering.entries()) api.url = urls[1 - i]!
    for (const reader of mine) reader.breakOff()
  }
  await sleep(400)
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
