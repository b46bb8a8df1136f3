/**
 * Goal: retention as a client and an operator meet it: settings of a stream take effect by
 * themselves, a full stream refuses and resumes, a deleted one is gone, one of two nodes works.
 * Method: the service as a process; events get old by moving their rows' ids back in PostgreSQL.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Postgres } from '../../../src/store/postgres.ts'
import { eventually, recordingLog } from '../../store/temporary.ts'
import { Api, call } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { embeddedPostgresUrl } from '../../support/store-socket.ts'

const dataDir = makeDataDir()
let service: Service
let api: Api
let postgres: Postgres

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
  postgres = new Postgres({ url: embeddedPostgresUrl(dataDir), log: recordingLog() })
})

after(async () => {
  await postgres?.end()
  await service?.kill()
  await removeDataDir(dataDir)
})

/** Makes all rows of a stream older, their ids with them. */
async function age(streamId: string, ms: number): Promise<void> {
  await postgres.query(
    `UPDATE segments SET segment_id = segment_id - ($2::bigint << 21),
       ingested_at = ingested_at - $2 * interval '1 millisecond' WHERE stream_id = $1`,
    [streamId, ms],
  )
}

async function rowsOf(streamId: string): Promise<number> {
  const { rows } = await postgres.query<{ n: string }>(
    'SELECT count(*) AS n FROM segments WHERE stream_id = $1',
    [streamId],
  )
  return Number(rows[0]?.n)
}

const manage = (method: string, path: string, body?: unknown) =>
  call(`${service.url}/v1/streams/${path}`, {
    method,
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

function send(key: string, body: string) {
  return call(`${service.url}/v1/ingest`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/x-ndjson' },
    body,
  })
}

// At once, as each waits for the next look at what is old most of the time.
describe('what goes', { concurrency: true }, () => {
  test('every preset of retention is taken, and an event past its own goes', async () => {
    const stream = await api.createStream()
    for (const retention of ['7d', '30d', '90d', '1y', '3d']) {
      const { text } = await manage('PATCH', stream.id, { retention })
      assert.equal(JSON.parse(text).retention, retention)
    }
    assert.equal((await send(stream.key, '{"old":true}')).status, 200)
    await age(stream.id, 4 * 86_400_000)
    assert.equal((await send(stream.key, '{"old":false}')).status, 200)
    await eventually('removed', async () => (await rowsOf(stream.id)) === 1, 45_000)
    const events = await api.events(stream.id)
    assert.deepEqual(
      events.map(({ payload }) => payload),
      [{ old: false }],
    )
    assert.equal((await api.usage(stream.id)).events, 1)
    const { text } = await call(`${service.url}/metrics`)
    assert.match(text, /^ingest_removed_events_total\{reason="age"\} 1$/m)
    assert.match(text, /^ingest_retain_worker 1$/m)
  })

  test('a stream far over its cap refuses, says so, and resumes when there is room', async () => {
    const stream = await api.createStream()
    const noise = () => `{"noise":"${Array.from({ length: 2_000 }, () => Math.random())}"}`
    assert.equal((await send(stream.key, noise())).status, 200)
    await manage('PATCH', stream.id, { max_stored_bytes: 1_000 })
    await eventually('refused', async () => (await send(stream.key, '{"a":1}')).status === 429)
    const refused = await send(stream.key, '{"a":1}')
    if (refused.status === 429) {
      assert.equal(JSON.parse(refused.text).code, 'storage_cap_reached')
      assert.ok(Number(refused.headers['retry-after']) > 0)
    }
    await eventually(
      'resumed',
      async () => (await send(stream.key, '{"b":1}')).status === 200,
      30_000,
    )
    await eventually('told the owner', async () => {
      const { text } = await manage('GET', `${stream.id}/usage`)
      return JSON.parse(text).refusals[0]?.reason === 'storage_cap_reached'
    })
    const left = (await api.events(stream.id)).map(({ payload }) => Object.keys(payload)[0])
    assert.ok(!left.includes('noise') && left.includes('b'))
  })

  test('a deleted stream is gone at once, and a little later from both stores', async () => {
    const stream = await api.createStream()
    assert.equal((await send(stream.key, '{"a":1}')).status, 200)
    await api.untilCounted(stream.id, 1, 20_000)
    assert.equal((await manage('DELETE', stream.id)).status, 204)
    assert.equal((await manage('GET', `${stream.id}/events`)).status, 404)
    assert.equal((await send(stream.key, '{"a":1}')).status, 401)
    await eventually('rows', async () => (await rowsOf(stream.id)) === 0, 20_000)
    const trimmed = /^ingest_projection_removals_total\{what="table"\} 1$/m
    await eventually(
      'its table',
      async () => {
        return trimmed.test((await call(`${service.url}/metrics`)).text)
      },
      30_000,
    )
  })
})
