/**
 * Goal: many streams at once, each with little: every event is in the projection, once and soon,
 * and not every request became an insert. `bench/e2e/streams.ts` is the large version.
 * Method: rounds of one small request to each stream, with a set delay shorter than a round, so
 * that only what streams share brings requests together.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { PROMOTED_STREAMS_MAX } from '../../../src/limits.ts'
import { Api, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const STREAMS = 48
const ROUNDS = 12
const ROUND_MS = 250
const EVENTS = 5
const SET_DELAY_MS = 100
const LAG_SECONDS_MAX = 5
/** What a round may take: shared ones, and those of streams with tables of their own. */
const INSERTS_ROUND_MAX = PROMOTED_STREAMS_MAX + 4

const dataDir = makeDataDir()
let service: Service
let api: Api

before(async () => {
  const args = ['--materialize-delay-ms', String(SET_DELAY_MS)]
  service = await Service.start({ dataDir, args })
  api = new Api(service)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

async function send({ key }: Stream, round: number): Promise<void> {
  const lines = Array.from({ length: EVENTS }, (_, i) => {
    return JSON.stringify({ n: round * EVENTS + i, message: `event ${i} of round ${round}` })
  })
  const headers = { 'content-type': NDJSON_TYPE }
  const text = lines.join('\n')
  const answer =
    round % 2 === 0
      ? await api.ingest(key, text, headers)
      : await api.ingest(key, gzipSync(text), { ...headers, 'content-encoding': 'gzip' })
  assert.equal(answer.status, 200, answer.text)
}

const readInserts = () => api.metric('ingest_materialize_inserts_total')
const readLag = () => api.metric('ingest_projection_lag_seconds')

test('many streams: every event once, soon, by fewer inserts than requests', async () => {
  const streams = await Promise.all(Array.from({ length: STREAMS }, () => api.createStream()))
  // Tables are made; what is measured comes after.
  await Promise.all(streams.map((stream) => send(stream, 0)))
  while ((await readLag()) > 0) await sleep(50)
  const insertsBefore = await readInserts()
  const startedAt = performance.now()
  let lagSeconds = 0
  for (let round = 1; round < ROUNDS; round++) {
    const dueAt = startedAt + round * ROUND_MS
    await Promise.all(streams.map((stream) => send(stream, round)))
    lagSeconds = Math.max(lagSeconds, await readLag())
    await sleep(Math.max(0, dueAt - performance.now()))
  }
  for (let lag = 1; lag > 0; await sleep(50)) {
    lag = await readLag()
    lagSeconds = Math.max(lagSeconds, lag)
  }
  const inserts = (await readInserts()) - insertsBefore
  assert((await api.metric('ingest_commit_runs_total')) > STREAMS, 'small batches are mixed')
  const requests = STREAMS * (ROUNDS - 1)
  console.log(`${requests} requests, ${inserts} inserts, lag ${lagSeconds.toFixed(1)} s`)
  assert(inserts <= INSERTS_ROUND_MAX * ROUNDS, `${inserts} inserts of ${requests} requests`)
  assert(lagSeconds < LAG_SECONDS_MAX, `lag ${lagSeconds} s`)

  const expected = Array.from({ length: ROUNDS * EVENTS }, (_, n) => n)
  for (const { id } of streams) {
    const { total } = await api.count(id)
    assert.equal(total, expected.length)
  }
  const [first] = streams
  const stored = (await api.events(first!.id)).map(({ payload }) => Number(payload.n))
  assert.deepEqual(
    stored.sort((a, b) => a - b),
    expected,
  )
})
