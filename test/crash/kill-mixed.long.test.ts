/**
 * Goal: what holds for one stream under kill -9 holds for many small ones that share rows, blocks
 * and inserts: acknowledged is stored once in both stores, in its own stream only.
 * Method: writers with a stream each, so that their requests meet in mixed batches; the service
 * and ClickHouse are killed in turns at random moments. TEST_SEED repeats the moments.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api } from '../support/api.ts'
import { ONLY_LONG, rounds } from '../support/fuzzing.ts'
import { Load, type WriterKind } from '../support/load.ts'
import { createRandom } from '../support/random.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { verify } from '../support/verify.ts'

const ROUNDS = rounds(4)
const LOAD_MS_MIN = 300
const LOAD_MS_MAX = 2_000
const KINDS: readonly WriterKind[] = Array.from({ length: ONLY_LONG ? 3 : 5 }, () => {
  return ['single', 'array', 'single', 'malformed'] as const
}).flat()

/** Writers are many enough to meet all the same. */
const PAUSE_MS = ONLY_LONG ? 3 : 0

const dataDir = makeDataDir()
let service: Service

before(async () => {
  service = await Service.start({ dataDir })
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

test('kill -9 with shared segments: each stream has its events, once', async (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  const api = new Api(service)
  const load = await Load.create(api, KINDS, { pauseMs: PAUSE_MS, ownStreams: true })
  t.after(() => load.stop())
  for (let round = 0; round < ROUNDS; round++) {
    load.start()
    await sleep(LOAD_MS_MIN + next() * (LOAD_MS_MAX - LOAD_MS_MIN))
    if (round % 2 === 0) {
      await service.kill()
      await load.stop()
      service = await Service.start({ dataDir })
      api.url = service.url
    } else {
      const { clickHouseHost } = service.stores()
      assert.ok(clickHouseHost !== undefined)
      process.kill(clickHouseHost, 'SIGKILL')
      await sleep(LOAD_MS_MIN)
      await load.stop()
    }
  }
  load.start()
  await sleep(LOAD_MS_MAX)
  await load.stop()
  assert.ok((await api.metric('ingest_commit_runs_total')) > 0, 'requests met in mixed batches')
  const verified = await verify(api, load)
  const { acknowledged, unanswered } = load.counts
  t.diagnostic(
    JSON.stringify({ ...load.counts, ...verified, ...Object.fromEntries(load.statuses) }),
  )
  assert.ok(acknowledged > 25 * ROUNDS && unanswered > 0, 'the load was there when it was killed')
})
