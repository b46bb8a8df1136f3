/**
 * Goal: ingest does not need ClickHouse. While it is dead every request is acknowledged, and when
 * it is back the projection catches up, exactly once.
 * Method: writers send while the process of the embedded engine is killed at random moments.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api, call } from '../support/api.ts'
import { rounds } from '../support/fuzzing.ts'
import { Load } from '../support/load.ts'
import { createRandom } from '../support/random.ts'
import { NOT_EMBEDDED } from '../support/real-clickhouse.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { verify } from '../support/verify.ts'

const ROUNDS = rounds(5)
const TOLD_MS_MAX = 2_000
const BACK_MS_MAX = 30_000
const KINDS = ['single', 'array', 'ndjson', 'large', 'text', 'idempotent'] as const

const dataDir = makeDataDir()
let service: Service

before(async () => {
  // A short delay: more inserts, so that more kills meet one.
  service = await Service.start({ dataDir, args: ['--materialize-delay-ms', '50'] })
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

const title = 'kill -9 of the ClickHouse process: ingest continues, ClickHouse catches up'
test(title, { skip: NOT_EMBEDDED }, async (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  const api = new Api(service)
  const load = await Load.create(api, KINDS, { pauseMs: 2 })
  t.after(() => load.stop())
  load.start()
  let wasDegraded = false
  for (let round = 0; round < ROUNDS; round++) {
    await sleep(300 + next() * 1_200)
    const host = await untilHost()
    process.kill(host, 'SIGKILL')
    const deadline = performance.now() + BACK_MS_MAX
    while (service.stores().clickHouseHost === host) {
      assert.ok(performance.now() < deadline)
      await sleep(5)
    }
    // It is told a moment after it happened, until the engine is back.
    const toldBy = performance.now() + TOLD_MS_MAX
    for (let isTold = false; !isTold && performance.now() < toldBy; ) {
      const { status, text } = await call(`${api.url}/readyz`)
      assert.equal(status, 200, 'ready without ClickHouse')
      isTold = /"degraded":\{"clickhouse":/.test(text)
      wasDegraded ||= isTold
    }
  }
  await load.stop()
  const verified = await verify(api, load)
  t.diagnostic(JSON.stringify({ ...load.counts, ...verified }))
  assert.ok(load.counts.acknowledged > 30 * ROUNDS)
  assert.deepEqual([...load.statuses.keys()], [200], 'nobody noticed')
  assert.ok(wasDegraded, 'readyz tells that ClickHouse is away')
  assert.ok((await api.metric('ingest_replayed_segments_total')) > 0)
})

async function untilHost(): Promise<number> {
  const deadline = performance.now() + BACK_MS_MAX
  for (;;) {
    const { clickHouseHost } = service.stores()
    if (clickHouseHost !== undefined) return clickHouseHost
    assert.ok(performance.now() < deadline, 'ClickHouse does not come back')
    await sleep(20)
  }
}
