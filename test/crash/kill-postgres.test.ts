/**
 * Goal: when PostgreSQL dies under load, nothing acknowledged is lost, nothing is stored twice,
 * clients hear 503 with Retry-After or wait, and ingest goes on by itself.
 * Method: writers of every kind send while the embedded server's first process, then all of its
 * backends, are killed, several times; then both stores are compared with what writers were told.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sendSignal } from '../../src/machine/processes.ts'
import { Api, call } from '../support/api.ts'
import { ONLY_LONG, rounds } from '../support/fuzzing.ts'
import { Load } from '../support/load.ts'
import { createRandom } from '../support/random.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { verify } from '../support/verify.ts'

const ROUNDS = rounds(3)
const BACK_MS_MAX = 30_000
const KINDS = ['single', 'single', 'ndjson', 'gzip', 'large', 'text', 'idempotent'] as const

const dataDir = makeDataDir()
const { seed, next } = createRandom()
let service: Service
let api: Api

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

/** Waits until requests that began after now are acknowledged. */
async function untilAcknowledged(load: Load): Promise<void> {
  const before = load.counts.acknowledged
  const deadline = performance.now() + BACK_MS_MAX
  while (load.counts.acknowledged < before + 50) {
    assert.ok(performance.now() < deadline, `nothing is acknowledged: ${service.output}`)
    await sleep(20)
  }
}

async function untilReadyz(status: number): Promise<string> {
  const deadline = performance.now() + BACK_MS_MAX
  for (;;) {
    const answer = await call(`${api.url}/readyz`)
    if (answer.status === status) return answer.text
    assert.ok(performance.now() < deadline, `readyz does not answer ${status}`)
    await sleep(5)
  }
}

async function killUnderLoad(
  load: Load,
  kill: () => Promise<void>,
): Promise<Awaited<ReturnType<typeof verify>>> {
  for (let round = 0; round < ROUNDS; round++) {
    load.start()
    await untilAcknowledged(load)
    await sleep(next() * 700)
    await kill()
    await untilAcknowledged(load)
    await load.stop()
  }
  await load.settleIdempotent()
  return await verify(api, load)
}

test('kill -9 of the postmaster: not ready meanwhile, then ingest continues', async (t) => {
  t.diagnostic(`TEST_SEED=${seed}`)
  const load = await Load.create(api, KINDS)
  t.after(() => load.stop())
  const verified = await killUnderLoad(load, async () => {
    const { postmaster } = service.stores()
    assert.ok(postmaster !== undefined)
    process.kill(postmaster, 'SIGKILL')
    assert.match(await untilReadyz(503), /"not_ready":\{"postgres":/)
    await untilReadyz(200)
    assert.notEqual(service.stores().postmaster, postmaster)
  })
  t.diagnostic(JSON.stringify({ ...load.counts, ...verified }))
  assert.ok(load.counts.acknowledged > 33 * ROUNDS)
  assert.equal(await api.metric('ingest_store_restarts_total{store="postgres"}'), ROUNDS)
})

test('kill -9 of every backend: the server restarts itself, ingest continues', {
  skip: ONLY_LONG,
}, async (t) => {
  const load = await Load.create(api, KINDS)
  t.after(() => load.stop())
  const verified = await killUnderLoad(load, async () => {
    const { backends } = service.stores()
    assert.ok(backends.length > 0)
    // The first death makes the postmaster end the others, so some may be gone already.
    for (const pid of backends) sendSignal(pid, 'SIGKILL')
  })
  t.diagnostic(JSON.stringify({ ...load.counts, ...verified }))
  assert.ok(load.counts.acknowledged > 33 * ROUNDS)
})
