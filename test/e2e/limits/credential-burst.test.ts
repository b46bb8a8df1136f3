/**
 * Goal: thousands of keys that are in use at once, none of them cached: nobody is refused for it,
 * few queries are made, and a change of the control plane costs look-ups of what it was about.
 * Method: keys are put into the database, each sends one request, all at once.
 */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { after, before, test } from 'node:test'
import { createCredential } from '../../../src/model/credential.ts'
import { Postgres } from '../../../src/store/postgres.ts'
import { recordingLog } from '../../store/temporary.ts'
import { Api, type Stream } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { embeddedPostgresUrl } from '../../support/store-socket.ts'

const KEYS = ONLY_LONG ? 1_500 : 3_000
/** Keys of the first stream; the others are the second's. */
const OF_FIRST = 0.3 * KEYS
const dataDir = makeDataDir()
const agent = new Agent({ keepAlive: true, maxSockets: KEYS })
let postgres: Postgres
let service: Service
let api: Api
let keys: readonly string[]
let streams: readonly Stream[]

before(async () => {
  service = await Service.start({ dataDir })
  postgres = new Postgres({ url: embeddedPostgresUrl(dataDir), log: recordingLog() })
  api = new Api(service)
  streams = [await api.createStream(), await api.createStream()]
  const made = Array.from({ length: KEYS }, () => createCredential('key'))
  const [first, second] = streams.map(({ id }) => Number(id))
  await postgres.query(
    `INSERT INTO api_keys (stream_id, prefix, secret_sha256, name)
     SELECT CASE WHEN n <= ${OF_FIRST} THEN $1::integer ELSE $2::integer END, prefix, secret, ''
       FROM unnest($3::text[], $4::bytea[]) WITH ORDINALITY AS u (prefix, secret, n)`,
    [first, second, made.map(({ prefix }) => prefix), made.map((each) => each.secretSha256)],
  )
  keys = made.map(({ text }) => text)
})

after(async () => {
  agent.destroy()
  await postgres?.end()
  await service?.kill()
  await removeDataDir(dataDir)
})

function send(key: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'x-api-key': key }
    const sent = request(`${service.url}/v1/ingest`, { agent, method: 'POST', headers })
    sent.on('error', reject)
    sent.on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.end('{"a":1}')
  })
}

/** One request by each key, at once: how many got which status. */
async function burst(): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {}
  for (const status of await Promise.all(keys.map(send))) {
    counts[status] = (counts[status] ?? 0) + 1
  }
  return counts
}

test('a burst of unknown keys is looked up as a whole, by few queries', async () => {
  assert.deepEqual(await burst(), { 200: KEYS })
  const lookedUp = await api.metric('ingest_credential_lookups_total')
  assert.ok(lookedUp >= KEYS && lookedUp < KEYS + 10, `${lookedUp}`)
  const queries = await api.metric('ingest_credential_lookup_queries_total')
  assert.ok(queries < KEYS / 4, `${queries} queries`)
})

test('a change costs look-ups of its stream, and a revocation acts within a second', async () => {
  const before = await api.metric('ingest_credential_lookups_total')
  await api.rest(`/v1/streams/${streams[0]!.id}`, 'PATCH', { name: 'another name' })
  assert.deepEqual(await burst(), { 200: KEYS })
  const revoked = await api.createKey(streams[0]!.id)
  assert.equal(await send(revoked.key), 200)
  await api.rest(`/v1/streams/${streams[0]!.id}/keys/${revoked.id}`, 'DELETE')
  assert.equal(await send(revoked.key), 401)
  const lookedUp = (await api.metric('ingest_credential_lookups_total')) - before
  // Once for the change itself and perhaps once more when the poll hears of it.
  assert.ok(lookedUp >= OF_FIRST && lookedUp <= 2 * OF_FIRST + 10, `${lookedUp}`)
})

test('a change that does not say what it was about is survived, too', async () => {
  await postgres.query('UPDATE control_version SET version = version + 1')
  const end = performance.now() + 1_000
  while (performance.now() < end) await send(keys[0]!)
  assert.deepEqual(await burst(), { 200: KEYS })
})
