/**
 * Goal: however often PostgreSQL fails over to its synchronous standby while clients send, nothing
 * acknowledged is lost, nothing is stored twice, and ingest goes on by itself, soon.
 * Method: real streaming replication; the primary is killed at random moments, its standby promoted
 * and the other server rebuilt, TEST_FAILOVERS times; then both stores are compared with what the
 * writers were told. A server that hangs instead of dying, and one that loses commits, follow.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api } from '../support/api.ts'
import { Load } from '../support/load.ts'
import { PostgresPair } from '../support/postgres-pair.ts'
import { createRandom } from '../support/random.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { verify } from '../support/verify.ts'
import { failOver, untilAcknowledged, untilReadyz } from './failover.ts'

const FAILOVERS = Number(process.env.TEST_FAILOVERS ?? 50)
/** Small requests: many commits are under way when the primary dies. */
const KINDS = [
  'single',
  'single',
  'single',
  'array',
  'gzip',
  'text',
  'idempotent',
  'idempotent',
] as const
const LOAD_MS_MAX = 600
/** Less than commits are tried for, and more. */
const AWAY_MS_MAX = 1_500

const dataDir = makeDataDir()
const { seed, next } = createRandom()
let pair: PostgresPair
let service: Service

before(async () => {
  pair = await PostgresPair.start()
  service = await Service.start({ dataDir, env: { SLUICE_POSTGRES_URL: pair.url } })
})

after(async () => {
  await service?.kill()
  await pair?.close()
  await removeDataDir(dataDir)
})

const output = () => service.output

test(`${FAILOVERS} failovers under load`, async (t) => {
  t.diagnostic(`TEST_SEED=${seed}`)
  const api = new Api(service)
  const load = await Load.create(api, KINDS, { pauseMs: 3 })
  t.after(() => load.stop())
  const backMs: number[] = []
  for (let round = 0; round < FAILOVERS; round++) {
    load.start()
    await untilAcknowledged(load, output)
    await sleep(next() * LOAD_MS_MAX)
    backMs.push(await failOver(pair, load, { awayMs: next() * AWAY_MS_MAX, output }))
    await load.stop()
    await pair.rebuildStandby()
  }
  await untilReadyz(api, 200)
  await load.settleIdempotent()
  const verified = await verify(api, load)
  const sorted = backMs.map(Math.round).toSorted((a, b) => a - b)
  const back = { medianMs: sorted[FAILOVERS >> 1], maxMs: sorted.at(-1) }
  const unknown = await Promise.all(
    ['committed', 'absent', 'unresolved'].map(async (outcome) => [
      outcome,
      await api.metric(`ingest_commit_ambiguous_total{outcome="${outcome}"}`),
    ]),
  )
  const statuses = Object.fromEntries(load.statuses)
  t.diagnostic(JSON.stringify({ back, unknown, statuses, ...load.counts, ...verified }))
  assert.equal(await api.metric('ingest_history_losses'), 0)
  assert.doesNotMatch(service.output, new RegExp(pair.password))
})

test('a primary that hangs holds nothing up once another one is there', async (t) => {
  const api = new Api(service)
  const load = await Load.create(api, KINDS, { pauseMs: 3 })
  t.after(() => load.stop())
  load.start()
  await untilAcknowledged(load, output)
  // As of a machine that vanished: no connection is reset, nothing is answered.
  pair.freeze('primary')
  const frozenMs = performance.now()
  await sleep(500)
  await pair.promote()
  await untilAcknowledged(load, output)
  const backMs = performance.now() - frozenMs
  t.diagnostic(`acknowledged again after ${Math.round(backMs)} ms`)
  assert.ok(backMs < 25_000, 'before the deadline of a statement')
  await load.stop()
  await pair.rebuildStandby()
  await load.settleIdempotent()
  t.diagnostic(JSON.stringify({ ...load.counts, ...(await verify(api, load)) }))
})
