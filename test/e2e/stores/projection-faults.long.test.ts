/**
 * Goal: an error of configuration keeps no event out of the projection, it stands still and says
 * why; a damaged segment is set aside, kept, shown, and tried again when somebody asks.
 * Method: stores of the test's own, in which it changes a table and a payload.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { Postgres } from '../../../src/store/postgres.ts'
import { eventually, recordingLog } from '../../store/temporary.ts'
import { Api, call } from '../../support/api.ts'
import { OwnStores } from '../../support/own-stores.ts'
import { makeDataDir, removeDataDir, type Service } from '../../support/service.ts'

const dataDir = makeDataDir()
let stores: OwnStores
let postgres: Postgres
let clickHouse: ClickHouse
let service: Service

before(async () => {
  stores = await OwnStores.start()
  postgres = new Postgres({ url: stores.postgres.url, log: recordingLog() })
  clickHouse = new ClickHouse({ url: stores.clickHouse.url })
  service = await stores.startService(dataDir)
})

after(async () => {
  await service?.kill()
  await clickHouse?.close()
  await postgres?.end()
  await stores?.close()
  await removeDataDir(dataDir)
})

async function metric(api: Api, name: string): Promise<number> {
  const { text } = await call(`${api.url}/metrics`)
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

async function projectionOf(api: Api, streamId: string) {
  const text = await api.rest(`/v1/streams/${streamId}/usage`)
  return (JSON.parse(text) as { projection: { set_aside: object[]; segments_behind: number } })
    .projection
}

test('a table that was changed: inserting stops, says so, and then continues', async () => {
  const api = new Api(service)
  const stream = await api.createStream()
  await api.ingest(stream.key, '{"n":0}')
  await api.untilCounted(stream.id, 1)
  const table = `${clickHouse.database}.events_${stream.id}`
  await clickHouse.command(`ALTER TABLE ${table} RENAME COLUMN shape TO form`)
  await api.ingest(stream.key, '{"n":1}')
  const tries = () => metric(api, 'ingest_materialize_insert_errors_total')
  await eventually('it was tried more often than data is', async () => (await tries()) > 6, 30_000)
  const ready = await call(`${api.url}/readyz`)
  assert.equal(ready.status, 200)
  assert.match(ready.text, /"degraded":\{"projection":"[^"]*no_such_column_in_table/)
  assert.equal(await metric(api, 'ingest_projection_stalled'), 1)
  const { segments_behind: behind, set_aside: aside } = await projectionOf(api, stream.id)
  assert.deepEqual([behind, aside], [1, []])
  await clickHouse.command(`ALTER TABLE ${table} RENAME COLUMN form TO shape`)
  await api.untilCounted(stream.id, 2, 30_000)
  const isWell = async () => !(await call(`${api.url}/readyz`)).text.includes('projection')
  await eventually('nothing is degraded', isWell)
  assert.equal(await metric(api, 'ingest_projection_stalled'), 0)
})

test('a damaged segment is kept in mind; asked for, it gets in once it is whole', async () => {
  const api = new Api(service)
  const stream = await api.createStream()
  for (let n = 0; n < 3; n++) await api.ingest(stream.key, `{"n":${n}}`)
  await api.untilCounted(stream.id, 3)
  await service.stop()
  const { rows } = await postgres.query<{ segment_id: string; payload: Uint8Array }>(
    'SELECT segment_id, payload FROM segments WHERE stream_id = $1 ORDER BY segment_id LIMIT 1',
    [stream.id],
  )
  const [row] = rows
  const setPayload = (payload: Uint8Array) => {
    const sql = 'UPDATE segments SET payload = $3 WHERE stream_id = $1 AND segment_id = $2'
    return postgres.query(sql, [stream.id, row?.segment_id, payload])
  }
  await setPayload(Buffer.from('no segment'))
  await postgres.query('DELETE FROM checkpoints')
  await clickHouse.command(`TRUNCATE TABLE ${clickHouse.database}.events_${stream.id}`)
  service = await stores.startService(dataDir)
  api.url = service.url
  await api.untilCounted(stream.id, 2, 60_000)
  const aside = async () => (await projectionOf(api, stream.id)).set_aside
  await eventually('it is set aside', async () => (await aside()).length === 1, 60_000)
  const reasons = (await aside()).map((each) => ({ ...each, last_at: '' }))
  assert.deepEqual(reasons, [{ reason: 'damaged', count: 1, last_at: '' }])
  const count = () => metric(api, 'ingest_projection_set_aside_segments')
  await eventually('the metric tells', async () => (await count()) === 1)
  // It is not forgotten with the process.
  await service.kill()
  service = await stores.startService(dataDir)
  api.url = service.url
  await setPayload(row!.payload)
  assert.equal((await aside()).length, 1)
  const retry = await api.rest(`/v1/streams/${stream.id}/projection/retry`, 'POST')
  assert.deepEqual(JSON.parse(retry), { stream_id: stream.id, segments: 1 })
  await api.untilCounted(stream.id, 3, 30_000)
  await eventually('nothing is set aside', async () => (await aside()).length === 0)
  await eventually('the metric tells', async () => (await count()) === 0)
  assert.equal((await api.count(stream.id)).total, 3)
})
