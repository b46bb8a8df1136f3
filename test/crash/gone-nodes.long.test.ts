/**
 * Goal: of two nodes on a PostgreSQL and a ClickHouse server one is killed for good, or frozen and
 * woken up after its work was taken over, under load: every acknowledged event is in the projection
 * exactly once, answers are fresh again, and the one that wakes up ends itself.
 * Method: real processes, once with the lease's real times, and many times with leases of seconds,
 * so that kills and freezes meet every moment of a commit and of an insert.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { NODE_GONE_MS, NODE_LEASE_MS } from '../../src/limits.ts'
import { eventually } from '../store/temporary.ts'
import { Api } from '../support/api.ts'
import { rounds } from '../support/fuzzing.ts'
import { HASTY_MS } from '../support/hasty-limits.ts'
import { Load, type WriterKind } from '../support/load.ts'
import { createRandom } from '../support/random.ts'
import { noRealClickHouse, RealClickHouse } from '../support/real-clickhouse.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { openTestPostgres, type TestStore } from '../support/stores.ts'
import { verify } from '../support/verify.ts'

const skip = noRealClickHouse()
const KINDS: readonly WriterKind[] = ['single', 'array', 'ndjson', 'gzip', 'large', 'large', 'text']
/** From when a node is killed to when everything of it is there: what the docs promise. */
const TAKEN_OVER_MS_MAX = 90_000
const HASTY = new URL('../support/hasty-leases.js', import.meta.url).href
const { seed, next } = createRandom()

let server: RealClickHouse
let postgres: TestStore
let token: string | undefined
const dirs: string[] = []
const services: Service[] = []

before(async () => {
  if (skip) return
  ;[server, postgres] = await Promise.all([RealClickHouse.start(), openTestPostgres()])
})

after(async () => {
  for (const service of services) await service.kill()
  await server?.close()
  await postgres?.close()
  for (const dir of dirs) await removeDataDir(dir)
})

async function start(isHasty: boolean, dataDir = makeDataDir()): Promise<Service> {
  if (!dirs.includes(dataDir)) dirs.push(dataDir)
  const env = {
    SLUICE_CLICKHOUSE_URL: server.url,
    SLUICE_POSTGRES_URL: postgres.url,
    ...(isHasty && { NODE_OPTIONS: `--import=${HASTY}` }),
  }
  const service = await Service.start({ dataDir, env, ...(token && { token }) })
  token = service.token
  services.push(service)
  return service
}

async function stop(service: Service): Promise<void> {
  services.splice(services.indexOf(service), 1)
  if (service.isRunning) await service.stop()
}

const takenOver = (api: Api, how: string) => api.metric(`ingest_takeovers_total{state="${how}"}`)

/** From now on: until `api` answers with all of the load that had been acknowledged. */
async function freshMs(api: Api, load: Load, msMax: number): Promise<number> {
  const startedAt = performance.now()
  const streams = [...new Set(load.writers.map(({ stream }) => stream.id))]
  for (const id of streams) await api.untilProjected(id, msMax - (performance.now() - startedAt))
  return Math.round(performance.now() - startedAt)
}

interface Pair {
  readonly victim: Service
  readonly loads: readonly [Load, Load]
  readonly apis: readonly [Api, Api]
}

async function startPair(isHasty: boolean, kinds = KINDS): Promise<Pair> {
  const victim = await start(isHasty)
  const other = await start(isHasty)
  const apis = [new Api(victim), new Api(other)] as const
  const load = await Load.create(apis[0], kinds, { pauseMs: isHasty ? 6 : 20 })
  // All of it is read in the end, and it goes on for long.
  const others = await Load.create(apis[1], ['single', 'ndjson', 'text'], { pauseMs: 50 })
  return { victim, apis, loads: [load, others] }
}

test('killed for good: within 90 s the other has all of it', { skip }, async (t) => {
  const { victim, apis, loads } = await startPair(false)
  const [, api] = apis
  const [load, others] = loads
  for (const each of loads) each.start()
  t.after(() => Promise.all(loads.map((each) => each.stop())))
  await sleep(8_000)
  await victim.kill()
  const stopping = load.stop()
  const ms = await freshMs(api, load, TAKEN_OVER_MS_MAX)
  assert.ok(ms > NODE_LEASE_MS + NODE_GONE_MS - 10_000, `the node was gone for ${ms} ms only`)
  await Promise.all([stopping, others.stop()])
  await eventually('it lets the number go', async () => (await takenOver(api, 'done')) === 1)
  assert.equal(await api.metric('ingest_live_nodes'), 1)
  const verified = await Promise.all(loads.map((each) => verify(api, each)))
  assert.ok(load.counts.acknowledged > 100)
  t.diagnostic(JSON.stringify({ freshAfterMs: ms, ...load.counts, verified }))
  for (const service of [...services]) await stop(service)
})

test('frozen, and woken up after its work was taken over', { skip }, async (t) => {
  const { victim, apis, loads } = await startPair(false)
  const [, api] = apis
  const [load, others] = loads
  for (const each of loads) each.start()
  t.after(() => Promise.all(loads.map((each) => each.stop())))
  await sleep(8_000)
  victim.signal('SIGSTOP')
  const stopping = load.stop()
  const ms = await freshMs(api, load, TAKEN_OVER_MS_MAX + 30_000)
  await eventually('it lets the number go', async () => (await takenOver(api, 'done')) === 1)
  victim.signal('SIGCONT')
  const { code } = await victim.exited
  assert.equal(code, 1)
  assert.match(victim.output, /another process took our node number/)
  await Promise.all([stopping, others.stop()])
  const verified = await Promise.all(loads.map((each) => verify(api, each)))
  assert.ok(load.counts.acknowledged > 100)
  t.diagnostic(JSON.stringify({ freshAfterMs: ms, ...load.counts, verified }))
  for (const service of [...services]) await stop(service)
})

test('killed or frozen at any moment, and started again or woken up', { skip }, async (t) => {
  t.diagnostic(`TEST_SEED=${seed}`)
  const pair = await startPair(true, ['single', 'ndjson', 'large', 'large', 'large', 'text'])
  const { apis, loads } = pair
  const [own, api] = apis
  let { victim } = pair
  const { dataDir } = victim
  t.after(() => Promise.all(loads.map((each) => each.stop())))
  loads[1].start()
  const goneMs = HASTY_MS.NODE_LEASE_MS! + HASTY_MS.NODE_GONE_MS!
  const ends = { killed: 0, frozen: 0, wasInTime: 0 }
  for (let round = 0; round < rounds(1); round++) {
    loads[0].start()
    await sleep(1_000 + next() * 2_000)
    const isFrozen = next() < 0.7
    victim.signal(isFrozen ? 'SIGSTOP' : 'SIGKILL')
    const stopping = loads[0].stop()
    // Long enough for the takeover to begin, or to be done.
    await sleep(goneMs + 500 + next() * 4_000)
    if (isFrozen) victim.signal('SIGCONT')
    await Promise.race([victim.exited, sleep(20_000, undefined, { ref: false })])
    if (isFrozen) ends.frozen++
    else ends.killed++
    await stopping
    if (victim.isRunning)
      ends.wasInTime++ // Nothing of it was left to do.
    else {
      await stop(victim)
      victim = await start(true, dataDir)
      own.url = victim.url
    }
  }
  await loads[1].stop()
  const verified = await Promise.all(loads.map((each) => verify(api, each)))
  const begun = await takenOver(api, 'begun')
  t.diagnostic(JSON.stringify({ ...ends, begun, ...loads[0].counts, verified }))
  assert.ok(begun >= 1)
  assert.ok(ends.wasInTime < ends.killed + ends.frozen)
  for (const service of [...services]) await stop(service)
})
