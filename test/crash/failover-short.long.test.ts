/**
 * Goal: when PostgreSQL's primary dies and its synchronous standby takes over, the service goes
 * there by itself: not ready and 503 meanwhile, nothing acknowledged is lost, nothing is twice.
 * Method: real streaming replication, writers of every kind, one failover. Many in a row:
 * `failover.long.test.ts`.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api } from '../support/api.ts'
import { Load } from '../support/load.ts'
import { PostgresPair } from '../support/postgres-pair.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { verify } from '../support/verify.ts'
import { failOver, untilAcknowledged, untilReadyz } from './failover.ts'

const KINDS = ['single', 'ndjson', 'gzip', 'text', 'idempotent', 'idempotent'] as const

const dataDir = makeDataDir()
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

test('the service follows PostgreSQL to the promoted standby', async (t) => {
  const api = new Api(service)
  const load = await Load.create(api, KINDS, { pauseMs: 10 })
  t.after(() => load.stop())
  const output = () => service.output
  load.start()
  await untilAcknowledged(load, output)
  const notReady = untilReadyz(api, 503)
  const backMs = await failOver(pair, load, { awayMs: 2_500, output })
  assert.match(await notReady, /"not_ready":\{"postgres":"it does not answer"/)
  await load.stop()
  await untilReadyz(api, 200)
  assert.ok((load.statuses.get(503) ?? 0) > 0, 'it answered 503 with Retry-After meanwhile')
  await load.settleIdempotent()
  const verified = await verify(api, load)
  t.diagnostic(JSON.stringify({ backMs: Math.round(backMs), ...load.counts, ...verified }))
  assert.doesNotMatch(service.output, new RegExp(pair.password))
  assert.equal(await api.metric('ingest_history_losses'), 0)
})

test('a PostgreSQL that takes no writes is not ready for them, and then is again', async () => {
  const api = new Api(service)
  const stream = await api.createStream()
  const set = async (value: string) => {
    await pair.sql(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await pair.sql('SELECT pg_reload_conf()')
  }
  await set('on')
  assert.match(await untilReadyz(api, 503), /"postgres":"it (is read-only|does not answer)"/)
  const refused = await api.ingest(stream.key, '{"n":1}')
  assert.equal(refused.status, 503, refused.text)
  assert.ok(Number(refused.headers['retry-after']) > 0)
  await set('off')
  await untilReadyz(api, 200)
  assert.equal((await api.ingest(stream.key, '{"n":2}')).status, 200)
  await api.untilProjected(stream.id)
  assert.equal((await api.events(stream.id)).length, 1)
  assert.ok(service.isRunning)
})
