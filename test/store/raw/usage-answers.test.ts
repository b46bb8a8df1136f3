/** Goal: usage of all streams in short, and by time, as those see it who may. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SCHEMA_CAPS_DEFAULT } from '../../../src/model/schema.ts'
import { makeSegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { usageRoutes } from '../../../src/serve/usage.ts'
import { usageHistoryRoutes } from '../../../src/serve/usage-history.ts'
import { SchemaStore } from '../../../src/store/catalog/schema-store.ts'
import { SetAsideStore } from '../../../src/store/raw/set-aside-store.ts'
import { UsageHistory } from '../../../src/store/raw/usage-history.ts'
import { UsageStore } from '../../../src/store/raw/usage-store.ts'
import { RestHarness, startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'

let database: TestDatabase
let rest: RestHarness
let usage: UsageStore
let usageHistory: UsageHistory
const NOW_MS = Date.parse('2026-05-05T05:05:05Z')

before(async () => {
  database = await startDatabase()
  usage = new UsageStore(database.postgres)
  usageHistory = new UsageHistory(database.postgres)
  rest = await RestHarness.start(database.postgres, ({ resolveToken, control: streams }) => {
    const schemas = new SchemaStore(database.postgres)
    const shared = { resolveToken, streams, nowMs: () => NOW_MS }
    return [
      ...usageRoutes({
        ...{ ...shared, usage, setAside: new SetAsideStore(database.postgres) },
        readSchemaStates: (streamIds) => schemas.readStates(streamIds),
        readProjectionBytes: async () => null,
        readIndexedShare: async () => null,
      }),
      ...usageHistoryRoutes({ ...shared, usageHistory }),
    ]
  })
})

after(async () => {
  await rest.close().finally(() => database.close())
})

async function newStream(owner: string, name = 'web'): Promise<StreamId> {
  const none = { maxStoredBytes: null, rateBudget: null, byteBudget: null }
  const budgets = { ...none, schemaCaps: SCHEMA_CAPS_DEFAULT }
  const redaction = { parseUserAgents: false, redactSensitive: false, redactFields: [] }
  const transforms = { ...redaction, textFields: [], otlpContext: 'drop' as const }
  const settings = { name, retentionMs: 1e9, ...budgets, ...transforms }
  return (await rest.control.createStream(owner, settings)).streamId
}

async function commit(streamId: StreamId, ms: number, node: number): Promise<string> {
  const id = String(makeSegmentId({ ms, node, counter: 0 }))
  await database.postgres.query("INSERT INTO segments VALUES ($1, $2, $3, 1, 2, 2, 'x')", [
    ...[streamId, id, new Date(ms)],
  ])
  return id
}

test('usage of all streams, in pages', async () => {
  const streamId = await newStream('user')
  await database.postgres.query(
    'INSERT INTO stream_usage VALUES ($1, 1, 2, 30, 400, 50), ($1, 2, 1, 10, 100, 5)',
    [streamId],
  )
  // Node 1 is done up to its first segment; node 2 has no checkpoint at all.
  const done = await commit(streamId, NOW_MS - 9_000, 1)
  await commit(streamId, NOW_MS - 2_000, 1)
  await commit(streamId, NOW_MS - 5_500, 2)
  await database.postgres.query('INSERT INTO checkpoints VALUES (1, $1)', [done])
  await database.postgres.query('INSERT INTO nodes VALUES (2, gen_random_uuid(), 1, now())')
  await database.postgres.query('INSERT INTO stream_schemas VALUES ($1, 7, 500)', [streamId])
  const refused = { streamId, reason: 'rate_limited', count: 9, lastAtMs: NOW_MS }
  await usage.recordRefusals(1, [refused])
  await usage.recordRejects(1, [{ ...refused, reason: 'malformed', count: 7 }])

  const own = { token: await rest.token('user', ['streams:read']) }
  const second = await newStream('user', 'second')
  const empty = {
    ...{ stream_id: String(second), events: 0, segments: 0, raw_bytes: 0 },
    ...{ stored_bytes: { raw: 0, projection: 0 }, lag_seconds: 0 },
    ...{ oldest_event_at: null, newest_event_at: null },
    ...{ set_aside: 0, refused: 0, rejected_events: 0 },
    ...{ schema_learning: 'ok', type_conflicts: 0 },
  }
  const list = await rest.call('GET', '/v1/usage', own)
  assert.deepEqual(list.json, {
    usage: [
      {
        ...{ ...empty, stream_id: String(streamId), events: 40, segments: 3, raw_bytes: 500 },
        ...{ stored_bytes: { raw: 55, projection: 0 } },
        ...{
          oldest_event_at: new Date(NOW_MS - 9_000).toISOString(),
          newest_event_at: new Date(NOW_MS - 2_000).toISOString(),
        },
        lag_seconds: 5.5,
        ...{ refused: 9, rejected_events: 7, schema_learning: 'soft_cap' },
      },
      empty,
    ],
    next: null,
  })
  const page = await rest.call('GET', '/v1/usage?limit=1', own)
  assert.deepEqual([page.json.usage.length, page.json.next], [1, String(streamId)])
})

test('usage by time: of keys by their names, of refusals by what was met', async () => {
  const streamId = await newStream('history')
  const { record: key } = await rest.control.createKey(streamId, 'shipper')
  const now = Math.floor(NOW_MS / 60_000)
  const hour = { start: now - (now % 60), minutes: 60 }
  const counts = { requests: 1, events: 5, bytes: 50 }
  await usageHistory.recordKeys(1, [
    { streamId, keyId: key.keyId, ...hour, ...counts, bytes: 70 },
    { streamId, keyId: 0, ...hour, ...counts },
  ])
  const refused = {
    ...{ streamId, keyId: key.keyId, reason: 'rate_limited', cause: 'rate_budget' },
    ...{ start: now - 3, minutes: 1, ...counts, events: null, lastAtMs: NOW_MS - 180_000 },
  }
  const strange = { ...refused, streamId: 0 as StreamId, keyId: 0, cause: 'no_key' }
  await usageHistory.recordRefusals(1, [refused, { ...strange, reason: 'unauthenticated' }])
  const path = `/v1/streams/${streamId}`
  const sent = await rest.call('GET', `${path}/usage/keys?from=-2h`)
  const { prefix } = key
  const shipper = { id: String(key.keyId), name: 'shipper', prefix, revoked_at: null }
  const at = '2026-05-05T05:00:00.000Z'
  const most = { requests: 1, events: 5, bytes: 70 }
  assert.deepEqual(sent.json, {
    ...{ from: '2026-05-05T03:00:00.000Z', to: '2026-05-05T06:00:00.000Z', bucket_ms: 3_600_000 },
    keys: [
      { key: shipper, ...most },
      { key: null, ...counts },
    ],
    over_time: [
      { _bucket: at, key_id: null, ...counts },
      { _bucket: at, key_id: shipper.id, ...most },
    ],
  })
  const { json } = await rest.call('GET', `${path}/refusals?from=-1h`)
  const why = { reason: 'rate_limited', ...counts, events: null }
  assert.deepEqual(json, {
    ...{ from: '2026-05-05T04:05:00.000Z', to: '2026-05-05T05:06:00.000Z', bucket_ms: 60_000 },
    refused: [{ key: shipper, ...why, cause: 'rate_budget', last_at: '2026-05-05T05:02:05.000Z' }],
    over_time: [{ _bucket: '2026-05-05T05:02:00.000Z', ...why }],
  })
  // Of a day it is told by longer steps.
  assert.equal((await rest.call('GET', `${path}/refusals`)).json.bucket_ms, 900_000)
  assert.equal((await rest.call('GET', `${path}/usage/keys?from=-9w`)).json.bucket_ms, 86_400_000)
  assert.equal((await rest.call('GET', `${path}/refusals?to=-2d`)).status, 400)
  const [only] = (await rest.call('GET', '/v1/refusals')).json.refused
  assert.deepEqual([only.key, only.reason, only.cause], [null, 'unauthenticated', 'no_key'])
  const owner = { token: await rest.token('history', ['streams:read', 'streams:write']) }
  assert.equal((await rest.call('GET', '/v1/refusals', owner)).status, 403)
  const stranger = { token: await rest.token('stranger', ['streams:read']) }
  assert.equal((await rest.call('GET', `${path}/refusals`, stranger)).status, 404)
  assert.equal((await rest.call('GET', `${path}/usage/keys`, stranger)).status, 404)
})
