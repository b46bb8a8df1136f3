/**
 * Goal: the event list and usage over real segment rows.
 * Method: rows are written as ingest would; payloads are event JSON lines that a stand-in for the
 * pool's decoder splices into records.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SegmentRead } from '../../src/model/batch/segment-read.ts'
import { formatEventId } from '../../src/model/event-id.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { SCHEMA_CAPS_DEFAULT } from '../../src/model/schema.ts'
import { makeSegmentId, type SegmentId, segmentIdMs } from '../../src/model/segment-id.ts'
import { encodeMembers } from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import type { ReadSegments } from '../../src/read/events.ts'
import { eventRoutes } from '../../src/serve/event-routes.ts'
import { projectionRetryRoutes } from '../../src/serve/projection-retry.ts'
import { usageRoutes } from '../../src/serve/usage.ts'
import { SchemaStore } from '../../src/store/catalog/schema-store.ts'
import { EventStore } from '../../src/store/raw/event-store.ts'
import { SetAsideStore } from '../../src/store/raw/set-aside-store.ts'
import { UsageStore } from '../../src/store/raw/usage-store.ts'
import { holdNumber } from '../store/raw/hold-number.ts'
import { RestHarness, startDatabase, type TestDatabase } from './rest-harness.ts'

let database: TestDatabase
let rest: RestHarness
let usage: UsageStore
let reads: SegmentRead[] = []
let projectionBytes: number | null = 77
const NOW_MS = Date.parse('2026-05-05T05:05:05Z')

const readSegments: ReadSegments = async (requests) => {
  reads = [...requests]
  const records = requests.flatMap(
    ({ payload, segmentId, fromOrdinal, toOrdinal, newestFirst, firstEvent = 0 }) => {
      const all = Buffer.from(payload).toString().split('\n')
      const lines = all.slice(firstEvent + fromOrdinal, firstEvent + toOrdinal)
      const made = lines.map((line, index) => {
        return `{"id":"${segmentId}-${fromOrdinal + index}","payload":${line}}`
      })
      return newestFirst ? made.reverse() : made
    },
  )
  return { json: Buffer.from(records.join(',')), damaged: [] }
}

before(async () => {
  database = await startDatabase()
  usage = new UsageStore(database.postgres)
  rest = await RestHarness.start(database.postgres, (harness) => {
    const { resolveToken, control: streams } = harness
    const events = new EventStore(database.postgres)
    const schemas = new SchemaStore(database.postgres)
    const setAside = new SetAsideStore(database.postgres)
    return [
      ...eventRoutes({ resolveToken, streams, events, readSegments }),
      ...usageRoutes({
        resolveToken,
        streams,
        usage,
        setAside,
        readSchemaStates: (streamIds) => schemas.readStates(streamIds),
        readProjectionBytes: async () => projectionBytes,
        readIndexedShare: async () => null,
        nowMs: () => NOW_MS,
      }),
      ...projectionRetryRoutes({ resolveToken, streams, setAside }),
    ]
  })
})

after(async () => {
  await rest.close().finally(() => database.close())
})

async function newStream(owner: string): Promise<StreamId> {
  const none = { maxStoredBytes: null, rateBudget: null, byteBudget: null }
  const budgets = { ...none, schemaCaps: SCHEMA_CAPS_DEFAULT }
  const redaction = { parseUserAgents: false, redactSensitive: false, redactFields: [] }
  const transforms = { ...redaction, textFields: [], otlpContext: 'drop' as const }
  const settings = { name: 'web', retentionMs: 1e9, ...budgets, ...transforms }
  return (await rest.control.createStream(owner, settings)).streamId
}

async function commit(streamId: StreamId, at: { ms: number; node?: number }, lines: string[]) {
  const id = makeSegmentId({ ms: at.ms, node: at.node ?? 1, counter: 0 })
  const payload = Buffer.from(lines.join('\n'))
  await database.postgres.query('INSERT INTO segments VALUES ($1, $2, $3, $4, $5, $5, $6)', [
    streamId,
    String(id),
    new Date(segmentIdMs(id)),
    lines.length,
    payload.byteLength,
    payload,
  ])
  return id
}

/** One row with a run of each stream; returns the runs' ids. */
async function commitMixed(ms: number, runs: readonly (readonly [StreamId, readonly string[]])[]) {
  const id = (index: number) => makeSegmentId({ ms, node: 1, counter: index })
  const members = runs.map(([streamId, lines], index) => {
    return { streamId, segmentId: id(index), eventCount: lines.length }
  })
  const lines = runs.flatMap(([, own]) => own)
  const payload = Buffer.from(lines.join('\n'))
  await database.postgres.query(
    `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes,
       payload, last_segment_id, members) VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8)`,
    [
      MIXED_STREAM,
      String(id(0)),
      new Date(ms),
      lines.length,
      payload.byteLength,
      payload,
      String(id(runs.length - 1)),
      encodeMembers(MIXED_STREAM, members),
    ],
  )
  let firstEvent = 0
  for (const { streamId, segmentId, eventCount } of members) {
    await database.postgres.query(
      'INSERT INTO segment_runs VALUES ($1, $2, $3, $4, $5, 10, 10, 10)',
      [streamId, String(segmentId), String(id(0)), firstEvent, eventCount],
    )
    firstEvent += eventCount
  }
  return members.map(({ segmentId }) => segmentId)
}

const idsOf = (json: { events: { id: string }[] }) => json.events.map((event) => event.id)
const ids = (segmentId: SegmentId, ...ordinals: number[]) =>
  ordinals.map((ordinal) => formatEventId({ segmentId, ordinal }))

test('events come newest first, verbatim, in pages that the cursors join', async () => {
  const streamId = await newStream('lister')
  const path = `/v1/streams/${streamId}/events`
  const empty = await rest.call('GET', path)
  assert.deepEqual(empty.json, { events: [], next: null, previous: null })

  const verbatim = '{"n": 18446744073709551615, "a":1,"a":2, "f":1.0}'
  const first = await commit(streamId, { ms: NOW_MS }, ['{"i":0}', '{"i":1}', verbatim])
  const second = await commit(streamId, { ms: NOW_MS + 1 }, ['{"i":3}'])
  await commit(await newStream('other'), { ms: NOW_MS }, ['{"foreign":true}'])

  const all = await rest.call('GET', path)
  assert.deepEqual(idsOf(all.json), [...ids(second, 0), ...ids(first, 2, 1, 0)])
  assert.ok(all.text.includes(`"payload":${verbatim}}`))
  assert.equal(all.json.next, null)
  assert.equal(all.json.previous, ids(second, 0)[0])

  const page1 = await rest.call('GET', `${path}?limit=2`)
  assert.deepEqual(idsOf(page1.json), [...ids(second, 0), ...ids(first, 2)])
  const page2 = await rest.call('GET', `${path}?limit=2&before=${page1.json.next}`)
  assert.deepEqual(idsOf(page2.json), ids(first, 1, 0))
  assert.equal(page2.json.next, null)

  const up = await rest.call('GET', `${path}?limit=2&after=${ids(first, 0)[0]}`)
  assert.deepEqual(idsOf(up.json), ids(first, 2, 1))
  assert.equal(up.json.next, ids(first, 1)[0])
  const newer = await rest.call('GET', `${path}?limit=2&after=${up.json.previous}`)
  assert.deepEqual(idsOf(newer.json), ids(second, 0))
  const none = await rest.call('GET', `${path}?after=${newer.json.previous}`)
  assert.deepEqual(none.json, { events: [], next: null, previous: newer.json.previous })
})

test('of a mixed row each stream sees its own events, in line with its others', async () => {
  const [one, two] = [await newStream('mixed'), await newStream('mixed-too')]
  const before = await commit(one, { ms: NOW_MS }, ['{"n":1}'])
  const runs = await commitMixed(NOW_MS + 1, [
    [two, ['{"n":10}', '{"n":11}']],
    [one, ['{"n":2}', '{"n":3}']],
  ])
  const after = await commit(one, { ms: NOW_MS + 2 }, ['{"n":4}'])
  const more = await commitMixed(NOW_MS + 3, [
    [one, ['{"n":5}']],
    [two, ['{"n":12}']],
  ])
  const numbers = (json: { events: { payload: { n: number } }[] }) => {
    return json.events.map(({ payload }) => payload.n)
  }
  const all = await rest.call('GET', `/v1/streams/${one}/events`)
  assert.deepEqual(numbers(all.json), [5, 4, 3, 2, 1])
  const expected = [
    ...ids(more[0]!, 0),
    ...ids(after, 0),
    ...ids(runs[1]!, 1, 0),
    ...ids(before, 0),
  ]
  assert.deepEqual(idsOf(all.json), expected)
  const others = await rest.call('GET', `/v1/streams/${two}/events`)
  assert.deepEqual(numbers(others.json), [12, 11, 10])

  const page = await rest.call('GET', `/v1/streams/${one}/events?limit=2&before=${expected[1]}`)
  assert.deepEqual(numbers(page.json), [3, 2])
  const up = await rest.call('GET', `/v1/streams/${one}/events?limit=2&after=${expected[3]}`)
  assert.deepEqual(numbers(up.json), [4, 3])
  const single = await rest.call('GET', `/v1/streams/${one}/events/${expected[2]}`)
  assert.equal(single.json.payload.n, 3)
  for (const [stream, id] of [
    [two, expected[2]],
    [one, ids(runs[0]!, 0)[0]],
    [one, ids(runs[1]!, 2)[0]],
  ]) {
    const missing = await rest.call('GET', `/v1/streams/${stream}/events/${id}`)
    assert.equal(missing.status, 404, 'of another stream, or beyond the run')
  }
})

test('only the segments of the page are read', async () => {
  const streamId = await newStream('reader')
  for (let i = 0; i < 5; i++) await commit(streamId, { ms: NOW_MS + i }, ['{}', '{}'])
  reads = []
  await rest.call('GET', `/v1/streams/${streamId}/events?limit=3`)
  const ranges = reads.map(({ fromOrdinal, toOrdinal }) => [fromOrdinal, toOrdinal])
  assert.deepEqual(ranges, [
    [0, 2],
    [1, 2],
  ])
})

test('a time range selects by receipt time', async () => {
  const streamId = await newStream('ranger')
  const old = await commit(streamId, { ms: NOW_MS - 1_000 }, ['{}'])
  await commit(streamId, { ms: NOW_MS }, ['{}'])
  const at = (ms: number) => encodeURIComponent(new Date(ms).toISOString())
  const path = `/v1/streams/${streamId}/events?from=${at(NOW_MS - 1_000)}&to=${at(NOW_MS)}`
  const { json } = await rest.call('GET', path)
  assert.deepEqual(idsOf(json), ids(old, 0))
})

test('one event is read by its id', async () => {
  const streamId = await newStream('single')
  const segmentId = await commit(streamId, { ms: NOW_MS }, ['{"i":0}', '{"i":1}'])
  const path = `/v1/streams/${streamId}/events`
  const [id] = ids(segmentId, 1)
  const found = await rest.call('GET', `${path}/${id}`)
  assert.deepEqual(found.json, { id, payload: { i: 1 } })
  for (const missing of [`${segmentId}-2`, '1-0', 'x', '%00', `${segmentId}`]) {
    const answer = await rest.call('GET', `${path}/${missing}`)
    assert.equal(answer.status, 404, missing)
  }
})

test('ids at the edges of 64 bits are no server errors', async () => {
  const edges = [2n ** 31n, 2n ** 32n, 2n ** 63n - 2n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n]
  const ids = [...edges, 2n ** 64n].map(String)
  const places = ['0', '2147483646', '2147483647', '2147483648', '4294967295', '9999999999']
  const stream = '/v1/streams/1'
  for (const id of [...ids, '0', '-1', '9'.repeat(400)]) {
    for (const place of places) {
      const one = await rest.call('GET', `${stream}/events/${id}-${place}`)
      assert.equal(one.status, 404, `${id}-${place} ${one.text}`)
      for (const cursor of ['before', 'after']) {
        const { status, text } = await rest.call('GET', `${stream}/events?${cursor}=${id}-${place}`)
        assert.ok(status === 200 || status === 400, `${cursor} ${id}-${place} ${text}`)
      }
    }
    const paths = [`/v1/streams/${id}/events`, `/v1/streams/${id}/usage`, `${stream}/events/${id}`]
    for (const path of paths) {
      const { status, text } = await rest.call('GET', path)
      assert.equal(status, 404, `${path} ${text}`)
    }
  }
})

test('bad parameters are refused by name', async () => {
  const streamId = await newStream('bad')
  const cases = [
    ['limit=0', /"limit" must be an integer from 1 to 1000/],
    ['limit=1001', /"limit" must be/],
    ['before=x', /"before" must be the id of an event/],
    ['after=1-', /"after" must be the id of an event/],
    ['before=1-0&after=1-0', /"before" and "after" exclude each other/],
    ['from=2026', /"from" must be an RFC 3339 time/],
    ['form=2026-01-01T00:00:00Z', /unknown parameter "form"; known are: limit, before/],
  ] as const
  for (const [query, message] of cases) {
    const { status, json } = await rest.call('GET', `/v1/streams/${streamId}/events?${query}`)
    assert.equal(status, 400, query)
    assert.match(json.detail, message)
  }
})

test('events need events:read and a stream that the token sees', async () => {
  const streamId = await newStream('ann')
  const path = `/v1/streams/${streamId}/events`
  const cases = [
    [await rest.token('ann', ['events:read']), 200],
    [await rest.token('ann', ['streams:read']), 403],
    [await rest.token('bob', ['events:read']), 404],
    ['', 401],
  ] as const
  for (const [token, status] of cases) {
    assert.equal((await rest.call('GET', path, { token })).status, status)
  }
  assert.equal((await rest.call('GET', `${path}/1-0`, { token: cases[2][0] })).status, 404)
})

const schemaOf = (fields: object, shapes: object) => ({
  fields: { ...fields, soft_cap: 800, hard_cap: 1_000 },
  shapes: { ...shapes, soft_cap: 500, hard_cap: 1_000 },
  type_conflicts: 0,
})

test('usage sums the counters of all nodes and tells how far the projection lags', async () => {
  const streamId = await newStream('user')
  const path = `/v1/streams/${streamId}/usage`
  const nothing = await rest.call('GET', path)
  assert.deepEqual(nothing.json, {
    stream_id: String(streamId),
    events: 0,
    segments: 0,
    raw_bytes: 0,
    stored_bytes: { raw: 0, projection: 77 },
    oldest_event_at: null,
    newest_event_at: null,
    projection: { lag_seconds: 0, segments_behind: 0, indexed: null, set_aside: [] },
    refusals: [],
    rejected_events: [],
    schema_learning: 'ok',
    schema: schemaOf({ state: 'ok', count: 0 }, { state: 'ok', count: 0 }),
  })

  await database.postgres.query(
    'INSERT INTO stream_usage VALUES ($1, 1, 2, 30, 400, 50), ($1, 2, 1, 10, 100, 5)',
    [streamId],
  )
  // Node 1 is done up to its first segment; node 2 has no checkpoint at all.
  const done = await commit(streamId, { ms: NOW_MS - 9_000, node: 1 }, ['{}'])
  await commit(streamId, { ms: NOW_MS - 2_000, node: 1 }, ['{}'])
  await commit(streamId, { ms: NOW_MS - 5_500, node: 2 }, ['{}'])
  await database.postgres.query('INSERT INTO checkpoints VALUES (1, $1)', [String(done)])
  const lastAtMs = NOW_MS - 3_000
  const refused = { streamId, reason: 'rate_limited', count: 2, lastAtMs }
  await usage.recordRefusals(1, [
    refused,
    { ...refused, reason: 'too_large', count: 1, lastAtMs: 5 },
  ])
  await usage.recordRefusals(1, [{ ...refused, count: 5, lastAtMs: lastAtMs - 1 }])
  await usage.recordRefusals(2, [{ ...refused, count: 1, lastAtMs: lastAtMs - 1 }])
  await usage.recordRefusals(2, [])
  const rejected = { streamId, reason: 'malformed', count: 3, lastAtMs }
  await usage.recordRejects(1, [rejected])
  await usage.recordRejects(2, [{ ...rejected, count: 4 }])
  await database.postgres.query('INSERT INTO stream_schemas VALUES ($1, 7, 500)', [streamId])

  projectionBytes = null
  const { json } = await rest.call('GET', path)
  assert.deepEqual(json, {
    stream_id: String(streamId),
    events: 40,
    segments: 3,
    raw_bytes: 500,
    stored_bytes: { raw: 55, projection: null },
    oldest_event_at: new Date(NOW_MS - 9_000).toISOString(),
    newest_event_at: new Date(NOW_MS - 2_000).toISOString(),
    projection: { lag_seconds: 5.5, segments_behind: 2, indexed: null, set_aside: [] },
    refusals: [
      { reason: 'rate_limited', count: 8, last_at: new Date(lastAtMs).toISOString() },
      { reason: 'too_large', count: 1, last_at: '1970-01-01T00:00:00.005Z' },
    ],
    rejected_events: [{ reason: 'malformed', count: 7, last_at: new Date(lastAtMs).toISOString() }],
    schema_learning: 'soft_cap',
    schema: schemaOf({ state: 'ok', count: 7 }, { state: 'soft_cap', count: 500 }),
  })
  const stranger = await rest.token('stranger', ['streams:read'])
  assert.equal((await rest.call('GET', path, { token: stranger })).status, 404)
})

test('usage shows what was set aside; admins ask for another try', async () => {
  const streamId = await newStream('aside')
  const setAside = new SetAsideStore(database.postgres)
  const ids = [1, 2, 3].map((n) => makeSegmentId({ ms: NOW_MS - n, node: 3, counter: 0 }))
  const each = (id: SegmentId, reason: string) => ({ streamId, segmentId: id, reason, tries: 5 })
  const [three, four] = [3, 4].map((node) => holdNumber(database.postgres, node))
  await setAside.record(await three!, [each(ids[0]!, 'damaged'), each(ids[1]!, 'damaged')])
  await setAside.record(await four!, [each(ids[2]!, 'incorrect_data')])
  const reasons = async () => {
    const { json } = await rest.call('GET', `/v1/streams/${streamId}/usage`)
    return json.projection.set_aside.map((each: Record<string, unknown>) => [
      each.reason,
      each.count,
      typeof each.last_at,
    ])
  }
  assert.deepEqual(await reasons(), [
    ['incorrect_data', 1, 'string'],
    ['damaged', 2, 'string'],
  ])
  const path = `/v1/streams/${streamId}/projection/retry`
  const token = await rest.token('aside', ['streams:write', 'streams:read'])
  assert.equal((await rest.call('POST', path, { token })).status, 403)
  const { status, json } = await rest.call('POST', path)
  assert.deepEqual([status, json], [202, { stream_id: String(streamId), segments: 3 }])
  assert.deepEqual(await setAside.count(3), { segments: 2, retries: 2 })
  assert.equal((await rest.call('POST', '/v1/streams/999999/projection/retry')).status, 404)
})
