/**
 * Goal: a clock that is ahead of PostgreSQL's stops a start and stops ingest, and one that was
 * ahead once does not give its time to all later events.
 * Method: PostgreSQL's clock is ours: a `clock_timestamp` that its search path finds first.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Postgres } from '../../../src/store/postgres.ts'
import { eventually, recordingLog } from '../../store/temporary.ts'
import { Api, call, readProblem, type Stream } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { OwnStores } from '../../support/own-stores.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const YEARS = 10
const dataDir = makeDataDir()
let stores: OwnStores
let postgres: Postgres
let service: Service
let api: Api
let stream: Stream

before(async () => {
  stores = await OwnStores.start()
  postgres = new Postgres({ url: stores.postgres.url, log: recordingLog() })
  await postgres.query(`CREATE SCHEMA fake;
    CREATE TABLE fake.clock (ahead interval NOT NULL);
    INSERT INTO fake.clock VALUES ('0');
    CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
      'SELECT pg_catalog.clock_timestamp() + ahead FROM fake.clock';
    ALTER DATABASE sluice SET search_path = public, fake, pg_catalog`)
  service = await stores.startService(dataDir)
  api = new Api(service)
  stream = await api.createStream()
})

after(async () => {
  await service?.kill()
  await postgres?.end()
  await stores?.close()
  await removeDataDir(dataDir)
})

const setClock = (ahead: string) => postgres.query('UPDATE fake.clock SET ahead = $1', [ahead])
const send = (n: number) => api.ingest(stream.key, JSON.stringify({ n }))

async function restart(): Promise<void> {
  await service.stop()
  service = await stores.startService(dataDir)
  api = new Api(service)
}

test('while it runs: 503, not ready, said in log and metric, until it is right again', async () => {
  assert.equal((await send(1)).status, 200)
  assert.ok(Math.abs(await api.metric('ingest_clock_lead_seconds')) < 5)
  await setClock(`-${YEARS} years`)
  await eventually('not ready', async () => (await call(`${api.url}/readyz`)).status === 503)
  const { not_ready: notReady } = JSON.parse((await call(`${api.url}/readyz`)).text) as {
    not_ready: { readonly clock?: string }
  }
  assert.match(notReady.clock ?? '', /too far ahead/)
  const refused = await send(2)
  assert.equal(refused.status, 503)
  assert.match(readProblem(refused).detail, /60 seconds ahead.*CLOCK_LEAD_MS_MAX/)
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  assert.ok((await api.metric('ingest_clock_lead_seconds')) > 9 * 365 * 86_400)
  assert.match(service.output, /ingest is refused/)
  await setClock('0')
  await eventually('ready', async () => (await call(`${api.url}/readyz`)).status === 200)
  assert.equal((await send(3)).status, 200)
  assert.match(service.output, /agree again/)
})

test('at start: refused, with what to do', async () => {
  await service.stop()
  await setClock(`-${YEARS} years`)
  const { code, stderr } = await Service.runToEnd(['--data', dataDir, '--port', '0'], stores.env)
  assert.equal(code, 1)
  assert.match(stderr, /clock says 20.*PostgreSQL's 20.*CLOCK_LEAD_MS_MAX.*NTP/)
  await setClock('0')
  service = await stores.startService(dataDir)
  api = new Api(service)
})

test('an id from the future: its number is left, its events get in once', {
  skip: ONLY_LONG,
}, async () => {
  await api.untilCounted(stream.id, 2)
  await service.stop()
  // Another event, committed as if ten years later and not in the projection.
  const later = (id: string) => `${id} + (${YEARS}::bigint * 365 * 86400000 << 21)`
  const newest = '(SELECT max(segment_id) FROM segments)'
  const { rowCount } = await postgres.query(
    `WITH copied AS (
       INSERT INTO segment_runs SELECT stream_id, ${later('segment_id')}, ${later('row_id')},
         first_event, event_count, raw_bytes, sent_bytes, stored_bytes
         FROM segment_runs WHERE row_id = ${newest})
     INSERT INTO segments SELECT stream_id, ${later('segment_id')}, ingested_at, event_count,
       raw_bytes, sent_bytes, payload, ${later('last_segment_id')}, members
       FROM segments WHERE segment_id = ${newest}`,
  )
  assert.equal(rowCount, 1)
  service = await stores.startService(dataDir)
  api = new Api(service)
  const before = Date.now()
  assert.equal((await send(4)).status, 200)
  await api.untilCounted(stream.id, 4)
  for (let i = 0; i < (ONLY_LONG ? 1 : 2); i++) {
    assert.equal((await api.count(stream.id)).total, 4)
    const newest = (await api.events(stream.id)).find(({ payload }) => payload.n === 4)
    const receivedMs = Date.parse(newest?.ingested_at ?? '')
    assert.ok(receivedMs >= before - 1_000 && receivedMs <= Date.now(), newest?.ingested_at)
    await restart()
  }
  assert.equal((await api.count(stream.id)).total, 4)
})
