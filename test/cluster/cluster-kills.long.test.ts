/**
 * Goal: whatever dies under load (replicas, Keeper, nodes of ours) or hangs, ingest goes on, and
 * in the end each acknowledged event is on the cluster exactly once; an answer that says it is
 * whole is.
 * Method: two shards of two replicas and two services under load of every kind; rounds of random
 * faults; then the ledger of what was acknowledged against both stores.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../store/temporary.ts'
import { Api } from '../support/api.ts'
import { Load } from '../support/load.ts'
import { createRandom } from '../support/random.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { openTestPostgres, type TestStore } from '../support/stores.ts'
import { verify } from '../support/verify.ts'
import { CLUSTER, ClickHouseCluster, SESSION_MS } from './clickhouse-cluster.ts'
import { noClusterLab } from './lab-tools.ts'

const skip = noClusterLab()
const SAMPLE_MS = 20
const ROUNDS = Number(process.env.TEST_ROUNDS ?? 100)
const { next, seed } = createRandom()
console.log(`TEST_SEED=${seed}, ${ROUNDS} rounds (TEST_ROUNDS)`)
const below = (end: number) => Math.floor(next() * end)
const pick = <T>(values: readonly T[]): T => values[below(values.length)]!

const dataDirs = [makeDataDir(), makeDataDir()]
const nodes: Service[] = []
let cluster: ClickHouseCluster
let postgres: TestStore
let token = ''

async function startNode(at: number): Promise<void> {
  const env = {
    SLUICE_CLICKHOUSE_URL: cluster.url(),
    SLUICE_CLICKHOUSE_CLUSTER: CLUSTER,
    SLUICE_POSTGRES_URL: postgres.url,
  }
  const args = ['--materialize-delay-ms', '200']
  const dataDir = dataDirs[at]!
  nodes[at] = await Service.start({ dataDir, env, args, ...(token && { token }) })
  token ||= nodes[at].token
}

before(async () => {
  if (skip) return
  ;[cluster, postgres] = await Promise.all([
    ClickHouseCluster.start({ shards: [2, 2] }),
    openTestPostgres(),
  ])
  await startNode(0)
  await startNode(1)
})

after(async () => {
  for (const node of nodes) await node.kill()
  await cluster?.close()
  await postgres?.close()
  for (const dataDir of dataDirs) await removeDataDir(dataDir)
})

/** Each ends what it began. */
const FAULTS: Record<string, () => Promise<void>> = {
  'kill a replica': async () => {
    const { name } = pick(cluster.nodes)
    await cluster.kill(name)
    await sleep(below(2 * SESSION_MS))
    await cluster.startAgain(name)
  },
  'freeze a replica': async () => {
    const { name } = pick(cluster.nodes)
    cluster.freeze(name)
    await sleep(below(3 * SESSION_MS))
    cluster.thaw(name)
  },
  'a replica lags': async () => {
    const { name } = pick(cluster.nodes)
    await cluster.query(name, 'SYSTEM STOP FETCHES')
    await sleep(below(SESSION_MS))
    await cluster.query(name, 'SYSTEM START FETCHES')
  },
  'kill Keeper': async () => {
    await cluster.keeper.kill()
    await sleep(below(SESSION_MS))
    await cluster.keeper.start()
  },
  'freeze Keeper': async () => {
    cluster.keeper.freeze()
    await sleep(below(2 * SESSION_MS))
    cluster.keeper.thaw()
  },
  'kill a node': async () => {
    const at = below(nodes.length)
    await nodes[at]!.kill()
    await startNode(at)
    loads[at]!.api.url = nodes[at]!.url
  },
}

const loads: { readonly load: Load; readonly api: Api; readonly ledger: Ledger }[] = []

test(`${ROUNDS} faults: each acknowledged event once, and whole answers are`, {
  skip,
}, async (t) => {
  for (const node of nodes) {
    const api = new Api({ url: node.url, token })
    const load = await Load.create(api, ['single', 'ndjson', 'text'], { pauseMs: 40 })
    loads.push({ api, load, ledger: new Ledger(load) })
  }
  for (const { load } of loads) load.start()
  const names = Object.keys(FAULTS)
  const counts = new Map<string, number>()
  let answers = 0
  let whole = 0
  for (let round = 0; round < ROUNDS; round++) {
    const name = round < names.length ? names[round]! : pick(names)
    counts.set(name, (counts.get(name) ?? 0) + 1)
    const { load, api, ledger } = pick(loads)
    const { stream } = load.writers[0]!
    const begun = performance.now()
    const fault = FAULTS[name]!()
    // As often as not amid the fault.
    await sleep(below(1_500))
    const path = `/v1/streams/${stream.id}/query`
    const answered = await api.tryRest(path, 'POST', {}).catch(() => undefined)
    if (answered?.status === 200) {
      answers++
      whole += Number(ledger.judge(JSON.parse(answered.text) as Counted))
    }
    // A server may have ended by itself before: then it says so below.
    await fault.catch((cause) => t.diagnostic(`${name}: ${String(cause)}`))
    for (const text of await cluster.revive()) t.diagnostic(text)
    // Reads are refused while a server has just come back.
    if (round % 4 === 3) {
      await eventually(
        'reads are answered',
        async () => {
          const later = await api.tryRest(path, 'POST', {}).catch(() => undefined)
          if (later?.status !== 200) return false
          answers++
          whole += Number(ledger.judge(JSON.parse(later.text) as Counted))
          return true
        },
        60_000,
      )
    }
    if (round % 10 === 9)
      t.diagnostic(`${round + 1}: ${name}, ${Math.round(performance.now() - begun)} ms`)
    await sleep(below(800))
  }
  for (const { load, ledger } of loads) {
    await load.stop()
    ledger.stop()
  }
  t.diagnostic(JSON.stringify({ ...Object.fromEntries(counts), answers, whole }))
  for (const { load, api } of loads) {
    const { events, storedUnanswered } = await verify(api, load)
    t.diagnostic(`${events} events, ${storedUnanswered} requests stored though unanswered`)
    assert.ok(events > ROUNDS, `${events} events`)
    assert.equal(load.counts.refused, 0, 'ingest waits for nothing of the projection')
  }
  await assertAlike()
  assert.ok(answers > ROUNDS / 5 && whole > 0, `${answers} answers, ${whole} whole`)
})

interface Counted {
  readonly total: number
  readonly complete: boolean
  readonly as_of: string
}

/** What had been acknowledged of a load's first stream by when. */
class Ledger {
  readonly #load: Load
  readonly #samples: { readonly ms: number; readonly acknowledged: number }[] = []
  readonly #timer: NodeJS.Timeout

  constructor(load: Load) {
    this.#load = load
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #sample(): void {
    this.#samples.push({ ms: Date.now(), acknowledged: this.#count('acknowledged') })
  }

  #count(outcome?: 'acknowledged'): number {
    const [{ stream }] = this.#load.writers as [Load['writers'][number]]
    return this.#load.writers
      .filter((writer) => writer.stream.id === stream.id)
      .flatMap(({ sent }) => sent.filter((one) => outcome === undefined || one.outcome === outcome))
      .reduce((sum, { eventCount }) => sum + eventCount, 0)
  }

  /** Each event that was acknowledged before is in an answer that says it is whole. */
  judge({ total, complete, as_of }: Counted): boolean {
    const before = this.#samples.findLast(({ ms }) => ms < Date.parse(as_of))
    if (!complete) return false
    const least = before?.acknowledged ?? 0
    assert.ok(total >= least, `${total} of ${least} events that were acknowledged before ${as_of}`)
    assert.ok(total <= this.#count(), `${total} events of ${this.#count()}`)
    return true
  }
}

/** Replicas of a shard have the same rows. */
async function assertAlike(): Promise<void> {
  for (const shard of ['s1', 's2']) {
    const sums: string[] = []
    for (const replica of ['r1', 'r2']) {
      const name = shard + replica
      const tables = await cluster.query(
        name,
        `SELECT name FROM system.tables
         WHERE database = 'sluice' AND name LIKE 'events_%' ORDER BY 1`,
      )
      for (const table of tables.split('\n')) {
        await cluster.query(name, `SYSTEM SYNC REPLICA sluice.${table}`)
        const sum = 'sum(cityHash64(segment_id, ordinal))'
        const sql = `SELECT '${table}', count(), ${sum} FROM sluice.${table}`
        sums.push(await cluster.query(name, sql))
      }
    }
    const half = sums.length / 2
    assert.deepEqual(sums.slice(0, half), sums.slice(half), shard)
  }
}
