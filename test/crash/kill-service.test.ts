/**
 * Goal: kill -9 of the service at any moment loses nothing that was acknowledged, stores nothing
 * twice, in neither store, and never a part of a request.
 * Method: writers of every kind send while the service is killed at random moments and started on
 * the same data, several times; then both stores are compared with what the writers were told.
 * The seed of the moments is printed; TEST_SEED repeats it.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api, type EventPage, NDJSON_TYPE, type Stream } from '../support/api.ts'
import { rounds } from '../support/fuzzing.ts'
import { Load } from '../support/load.ts'
import { createRandom } from '../support/random.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { verify } from '../support/verify.ts'

const ROUNDS = rounds(5)
const LOAD_MS_MIN = 300
const LOAD_MS_MAX = 2_500
const KINDS = [
  'single',
  'single',
  'array',
  'ndjson',
  'gzip',
  'large',
  'text',
  'loki',
  'hec',
  'bulk',
  'otlp-grpc',
  'malformed',
  'idempotent',
  'idempotent',
] as const

const dataDir = makeDataDir()
const GRPC = ['--otlp-grpc-port', '0']
let service: Service

before(async () => {
  service = await Service.start({ dataDir, args: GRPC })
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

test('kill -9 at random moments: acknowledged is stored once, a request is atomic', async (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  const api = new Api(service)
  const load = await Load.create(api, KINDS)
  load.grpcUrl = service.grpcUrl
  t.after(() => load.stop())
  const kept = await api.createStream()
  for (let round = 0; round < ROUNDS; round++) {
    load.start()
    await sleep(LOAD_MS_MIN + next() * (LOAD_MS_MAX - LOAD_MS_MIN))
    const told = await sendKept(api, kept, round)
    await service.kill()
    await load.stop()
    service = await Service.start({ dataDir, args: GRPC })
    api.url = service.url
    load.grpcUrl = service.grpcUrl
    await assertFound(api, kept, round + 1)
    assert.deepEqual(await sendKept(api, kept, round), told)
    await assertFound(api, kept, round + 1)
  }
  await load.settleIdempotent()
  const verified = await verify(api, load)
  const { acknowledged, unanswered } = load.counts
  t.diagnostic(
    JSON.stringify({ ...load.counts, ...verified, ...Object.fromEntries(load.statuses) }),
  )
  assert.ok(acknowledged > 30 && unanswered > 0, 'the load was there when it was killed')
})

/** Under a key of the round: status and answer, which are the same however often it is sent. */
async function sendKept(api: Api, { key }: Stream, round: number) {
  const headers = { 'content-type': NDJSON_TYPE, 'idempotency-key': `kept-${round}` }
  const { status, text } = await api.ingest(key, '{"mark":"kept"}\n{"b":', headers)
  assert.equal(status, 200, text)
  return [status, text]
}

/** The next search finds what was acknowledged, whatever was projected of it. */
async function assertFound(api: Api, { id }: Stream, events: number): Promise<void> {
  const body = { query: 'mark:kept', limit: 1_000 }
  const text = await api.rest(`/v1/streams/${id}/search`, 'POST', body)
  assert.equal((JSON.parse(text) as EventPage).events.length, events)
}

test('after all of it the service stops by itself, and nothing of it is left', async () => {
  assert.deepEqual(await service.stop(), { code: 0, signal: null })
})
