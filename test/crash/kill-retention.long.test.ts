/**
 * Goal: kill -9 while rows are removed and merged and the projection is trimmed: nothing that
 * should stay is lost, in neither store, nothing that was removed comes back, and no event changes
 * its id.
 * Method: a stream of one-event segments that are to be merged and one whose older half is to go.
 * They are made old in PostgreSQL; the projection is thrown away, so that it is rebuilt meanwhile.
 * The service is killed at random moments of its work (seed printed; TEST_SEED repeats it).
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Postgres } from '../../src/store/postgres.ts'
import { eventually, recordingLog } from '../store/temporary.ts'
import { Api, call, type Stream } from '../support/api.ts'
import { ONLY_LONG, rounds } from '../support/fuzzing.ts'
import { createRandom } from '../support/random.ts'
import { NOT_EMBEDDED } from '../support/real-clickhouse.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { embeddedPostgresUrl } from '../support/store-socket.ts'

const EVENTS = ONLY_LONG ? 600 : 1_200
const KILLS = rounds(6)
const KILL_MS_MAX = 1_200
const DAY_MS = 86_400_000

const dataDir = makeDataDir()
let service: Service

before(async () => {
  service = await Service.start({ dataDir })
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

async function withPostgres<T>(use: (postgres: Postgres) => Promise<T>): Promise<T> {
  const postgres = new Postgres({ url: embeddedPostgresUrl(dataDir), log: recordingLog() })
  try {
    return await use(postgres)
  } finally {
    await postgres.end()
  }
}

/** One-event segments: requests with an Idempotency-Key do not share any. */
async function fill(stream: Stream): Promise<void> {
  let next = 0
  const sender = async () => {
    while (next < EVENTS) {
      const n = next++
      const headers = { 'x-api-key': stream.key, 'content-type': 'application/json' }
      const { status } = await call(`${service.url}/v1/ingest`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': String(n) },
        body: `{"n":${n}}`,
      })
      assert.equal(status, 200)
    }
  }
  await Promise.all(Array.from({ length: 24 }, sender))
}

/** Spreads a stream's rows over hours of the past, the older half `olderMs` earlier than that. */
async function age(postgres: Postgres, stream: Stream, olderMs: number): Promise<void> {
  await postgres.query(
    `UPDATE segments s SET segment_id = segment_id - (old.ms << 21),
       ingested_at = ingested_at - old.ms * interval '1 millisecond'
     FROM (SELECT segment_id AS id, $2::bigint - 10000 * n
             + CASE WHEN n <= $4::bigint THEN $3::bigint ELSE 0 END AS ms
           FROM (SELECT segment_id, row_number() OVER (ORDER BY segment_id) AS n
                 FROM segments WHERE stream_id = $1) AS numbered) AS old
     WHERE s.stream_id = $1 AND s.segment_id = old.id`,
    [stream.id, DAY_MS * 0.9, olderMs, EVENTS / 2],
  )
}

async function idsOf(postgres: Postgres, stream: Stream): Promise<string[]> {
  const { rows } = await postgres.query<{ id: string }>(
    `SELECT segment_id || '-0' AS id FROM segments WHERE stream_id = $1 ORDER BY segment_id DESC`,
    [stream.id],
  )
  return rows.map((row) => row.id)
}

const title = 'kill -9 amid retention and compaction loses nothing and brings nothing back'
test(title, { skip: NOT_EMBEDDED }, async (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  const api = new Api(service)
  const merged = await api.createStream({ retention: '30d' })
  const halved = await api.createStream({ retention: '30d' })
  await fill(merged)
  await fill(halved)
  const ids = await withPostgres(async (postgres) => {
    await age(postgres, merged, 0)
    await age(postgres, halved, 3 * DAY_MS)
    const all = { merged: await idsOf(postgres, merged), halved: await idsOf(postgres, halved) }
    await postgres.query('UPDATE streams SET retention_ms = $1 WHERE stream_id = $2', [
      2 * DAY_MS,
      halved.id,
    ])
    // Last: a service that still runs may write another before it is killed.
    await postgres.query('DELETE FROM checkpoints')
    return all
  })
  await service.kill()
  // ClickHouse's process outlives a killed service by a moment, and writes until then.
  await removeDataDir(join(dataDir, 'clickhouse'))

  const young = ids.halved.slice(0, EVENTS / 2)
  const left: string[] = []
  for (let kill = 0; kill < KILLS; kill++) {
    service = await Service.start({ dataDir })
    api.url = service.url
    const seen = api.events(merged.id)
    await sleep(next() * KILL_MS_MAX)
    assert.deepEqual(
      (await seen).map(({ id }) => id),
      ids.merged,
    )
    left.push(
      await withPostgres(async (postgres) => {
        const [a, b] = [await idsOf(postgres, merged), await idsOf(postgres, halved)]
        return `${a.length}+${b.length}`
      }),
    )
    await service.kill()
  }
  t.diagnostic(`rows at the kills: ${left.join(', ')}`)
  service = await Service.start({ dataDir })
  api.url = service.url
  await api.untilCounted(merged.id, EVENTS)
  // Compaction looks again at once after a start.
  assert.equal((await service.stop()).code, 0)
  service = await Service.start({ dataDir })
  api.url = service.url
  const rows = () => withPostgres((postgres) => idsOf(postgres, merged))
  await eventually('merged', async () => (await rows()).length < EVENTS / 10, 30_000)
  await eventually(
    'removed',
    async () => (await api.usage(halved.id)).events === EVENTS / 2,
    30_000,
  )

  await assertStored(api, merged, ids.merged)
  await assertStored(api, halved, young)
  await withPostgres(assertUsageIsTrue)
})

/** The stream has just these events, newest first, in both stores. */
async function assertStored(api: Api, stream: Stream, ids: readonly string[]): Promise<void> {
  const events = await api.events(stream.id)
  assert.deepEqual(
    events.map(({ id }) => id),
    ids,
  )
  assert.equal(new Set(events.map(({ payload }) => payload.n)).size, ids.length)
  assert.equal((await api.count(stream.id)).total, ids.length)
  assert.equal((await api.usage(stream.id)).events, ids.length)
}

/** Usage counts what is there. */
async function assertUsageIsTrue(postgres: Postgres): Promise<void> {
  const { rows: sums } = await postgres.query(
    `SELECT stream_id FROM (
       SELECT stream_id, count(*) AS n, sum(event_count) AS e, sum(sent_bytes) AS r,
         sum(octet_length(payload)) AS s FROM segments GROUP BY stream_id) AS held
     JOIN (SELECT stream_id, sum(segment_count) AS un, sum(event_count) AS ue,
             sum(sent_bytes) AS ur, sum(stored_bytes) AS us
           FROM stream_usage GROUP BY stream_id) AS counted USING (stream_id)
     WHERE (n, e, r, s) <> (un, ue, ur, us)`,
  )
  assert.deepEqual(sums, [])
}
