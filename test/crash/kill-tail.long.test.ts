/**
 * Goal: over kill -9 of PostgreSQL and of the service a tail has each committed event that matches
 * once, or a gap that covers it, and never one that was not committed.
 * Method: readers that come back with their last id, beside writers of several kinds, while one or
 * the other is killed; then what they got and the event list, filtered by the plain reference.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../store/temporary.ts'
import { Api } from '../support/api.ts'
import { ONLY_LONG, rounds } from '../support/fuzzing.ts'
import { Load } from '../support/load.ts'
import { createRandom } from '../support/random.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { assertCovers, TailReader } from '../support/tail-reader.ts'

const ROUNDS = rounds(3)
const KINDS = ['single', 'single', 'array', 'ndjson', 'idempotent', 'malformed'] as const
const QUERIES = ['', 'writer:ndjson3', 'event:<40 -writer:single0', 'id:single*']

const dataDir = makeDataDir()
const { seed, next } = createRandom()
const readers: TailReader[] = []
const loads: Load[] = []
let service: Service
let api: Api

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
})

after(async () => {
  // A writer that goes on trying would keep the process alive.
  await Promise.all([...readers, ...loads].map((one) => one.stop()))
  await service?.kill()
  await removeDataDir(dataDir)
})

/** Loads, kills by `kill` some times, and compares. */
async function watch(kill: () => Promise<void>): Promise<readonly string[]> {
  const load = await Load.create(api, KINDS, { pauseMs: 10 })
  loads.push(load)
  const { id, key } = load.writers[0]!.stream
  assert.equal((await api.ingest(key, '{"writer":"first"}')).status, 200)
  const first = (await api.page(id)).events[0]!.id
  const mine = QUERIES.map((query) => new TailReader(api, id, { query, from: first }))
  readers.push(...mine)
  await Promise.all(mine.map((reader) => reader.untilOpen()))
  for (let round = 0; round < ROUNDS; round++) {
    load.start()
    await sleep(500 + next() * 1_000)
    await kill()
    await sleep(500)
    await load.stop()
  }
  await load.settleIdempotent()
  await sleep(1_000)
  await Promise.all(mine.map((reader) => reader.untilQuiet()))
  const list = await api.events(id)
  const told = mine.map((reader) => {
    const { seen, inGaps } = assertCovers(reader, list, { after: first })
    const { connections, gaps } = reader
    assert.ok(seen > 0, `${reader.query}: nothing came`)
    return `${reader.query}: ${JSON.stringify({ seen, inGaps, connections, gaps: gaps.length })}`
  })
  await Promise.all(mine.map((reader) => reader.stop()))
  return [`${list.length} events`, ...told]
}

test('kill -9 of PostgreSQL: tails go on, with all that was committed', async (t) => {
  t.diagnostic(`TEST_SEED=${seed}`)
  const told = await watch(async () => {
    // After several kills in a row its next start waits longer.
    await eventually('PostgreSQL is back', () => service.stores().postmaster !== undefined, 60_000)
    process.kill(service.stores().postmaster!, 'SIGKILL')
    await sleep(2_000)
  })
  for (const line of told) t.diagnostic(line)
})

test('kill -9 of the service: readers come back and go on where they were', {
  skip: ONLY_LONG,
}, async (t) => {
  const told = await watch(async () => {
    await service.kill()
    service = await Service.start({ dataDir })
    api.url = service.url
  })
  for (const line of told) t.diagnostic(line)
})
