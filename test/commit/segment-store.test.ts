/**
 * Goal: a group of segments is in the raw store as a whole or not at all, byte for byte, and what
 * became of it can always be found out.
 * Method: a real PostgreSQL, which judges our binary COPY; transactions held up by locks, backends
 * killed in their midst, and a proxy that cuts the connection just before COMMIT is answered.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { createRawStoreWriter } from '../../src/commit/raw-store-writer.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import { placeSegments, storedRow } from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { IdempotencyStore } from '../../src/store/raw/idempotency-store.ts'
import { NodeLease } from '../../src/store/raw/node-lease.ts'
import { type SegmentRow, SegmentStore } from '../../src/store/raw/segment-store.ts'
import { eventually, recordingLog } from '../store/temporary.ts'
import { openTestPostgres, type TestStore } from '../support/stores.ts'
import { CommitCutter } from './commit-cutter.ts'

const log = recordingLog()
let embedded: TestStore
let postgres: Postgres
let lease: NodeLease
let store: SegmentStore
let proxy: CommitCutter

before(async () => {
  embedded = await openTestPostgres()
  postgres = new Postgres({ url: embedded.url, log })
  lease = await NodeLease.claim({ postgres, identity: IDENTITY, log, onLost: () => undefined })
  store = new SegmentStore(postgres, lease)
  proxy = await CommitCutter.start(embedded.url)
})

after(async () => {
  await store?.stop()
  await proxy?.stop()
  await lease?.stop()
  await postgres?.end()
  await embedded?.close()
})

const IDENTITY = '00000000-0000-4000-8000-000000000001'
let streams = 0
const newStream = () => ++streams as StreamId
let counter = 0

function row(streamId: StreamId, payload: Uint8Array, eventCount = 1): SegmentRow {
  const ms = 1_767_323_045_678 + counter
  const segmentId = makeSegmentId({ ms, node: lease.nodeId, counter: counter++ })
  return {
    streamId,
    segmentId,
    ingestedAtMs: ms,
    eventCount,
    rawBytes: 900,
    sentBytes: 1_000,
    payload,
  }
}

interface Stored {
  readonly segment_id: string
  readonly ingested_ms: string
  readonly event_count: number
  readonly raw_bytes: number
  readonly sent_bytes: number
  readonly sha256: string
  readonly bytes: number
}

async function storedRows(streamId: StreamId): Promise<readonly Stored[]> {
  const { rows } = await postgres.query<Stored>(
    `SELECT segment_id, (extract(epoch FROM ingested_at) * 1000)::bigint AS ingested_ms,
            event_count, raw_bytes, sent_bytes, encode(sha256(payload), 'hex') AS sha256,
            length(payload) AS bytes
       FROM segments WHERE stream_id = $1 ORDER BY segment_id`,
    [streamId],
  )
  return rows
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function usage(streamId: StreamId): Promise<unknown> {
  const { rows } = await postgres.query(
    `SELECT segment_count, event_count, sent_bytes, stored_bytes FROM stream_usage
      WHERE stream_id = $1`,
    [streamId],
  )
  return rows[0]
}

test('rows arrive as they were sent, whatever their bytes and sizes', async () => {
  const stream = newStream()
  const payloads = [
    new Uint8Array(0),
    Uint8Array.of(0, 255, 10, 92, 46, 39),
    Buffer.from('\\.\n\\N\t'),
    randomBytes(7_919),
    randomBytes(3 << 20),
    new Uint8Array(new SharedArrayBuffer(64), 8, 16).fill(7),
  ]
  const rows = payloads.map((payload, i) => row(stream, payload, i + 1))
  assert.equal(await store.commit(rows, []), undefined)
  const expected = rows.map((each) => ({
    segment_id: String(each.segmentId),
    ingested_ms: String(each.ingestedAtMs),
    event_count: each.eventCount,
    raw_bytes: 900,
    sent_bytes: 1_000,
    sha256: sha256(each.payload),
    bytes: each.payload.length,
  }))
  assert.deepEqual(await storedRows(stream), expected)
})

test('usage counters add up, by stream, over groups', async () => {
  const [first, second] = [newStream(), newStream()]
  const bytes = (count: number) => new Uint8Array(count)
  await store.commit([row(first, bytes(10), 3), row(second, bytes(1)), row(first, bytes(5), 4)], [])
  await store.commit([row(first, bytes(2), 1)], [])
  assert.deepEqual(await usage(first), {
    segment_count: '3',
    event_count: '8',
    sent_bytes: '3000',
    stored_bytes: '17',
  })
  assert.deepEqual(await usage(second), {
    segment_count: '1',
    event_count: '1',
    sent_bytes: '1000',
    stored_bytes: '1',
  })
})

test('times before 2000 and the largest ids are stored exactly', async () => {
  const stream = newStream()
  const old = { ...row(stream, new Uint8Array(1)), ingestedAtMs: 1 }
  const segmentId = makeSegmentId({ ms: 2 ** 42 - 1, node: lease.nodeId, counter: 4095 })
  const late = { ...row(stream, new Uint8Array(1)), segmentId, ingestedAtMs: 2 ** 42 - 1 }
  assert.equal(await store.commit([old, late], []), undefined)
  const seen = (await storedRows(stream)).map((each) => [each.segment_id, each.ingested_ms])
  assert.deepEqual(seen, [
    [String(old.segmentId), '1'],
    [String(segmentId), String(2 ** 42 - 1)],
  ])
})

const key = (text: string) => createHash('sha256').update(text).digest()

async function answerOf(streamId: StreamId, keySha256: Uint8Array): Promise<unknown> {
  const { rows } = await postgres.query(
    'SELECT status, response FROM idempotency_keys WHERE stream_id = $1 AND key_sha256 = $2',
    [streamId, keySha256],
  )
  return rows[0]
}

test('an idempotent answer is stored with its rows, or neither is', async () => {
  const stream = newStream()
  const keys = new IdempotencyStore(postgres, lease)
  const [kept, foreign] = [key('kept'), key('foreign')]
  assert.equal(await keys.claim(stream, kept), 'claimed')
  const body = '{"accepted":1}'
  const fingerprint = key('the request')
  const answer = { streamId: stream, keySha256: kept, fingerprint, status: 200, body }
  assert.equal(await store.commit([row(stream, new Uint8Array(1))], [answer]), undefined)
  assert.deepEqual(await answerOf(stream, kept), { status: 200, response: body })
  // A key that is not ours any more: nothing of the group is stored.
  const lost = { ...answer, keySha256: foreign }
  const failure = await store.commit([row(stream, new Uint8Array(1))], [answer, lost])
  assert.equal(failure?.error.kind, 'conflict')
  assert.equal(failure?.mayHaveCommitted, false)
  assert.equal((await storedRows(stream)).length, 1)
  assert.equal(await store.commit([row(stream, new Uint8Array(1))], []), undefined)
})

test('the same id again is refused and changes nothing; it can be looked up', async () => {
  const stream = newStream()
  const first = row(stream, Uint8Array.of(1))
  assert.equal(await store.commit([first], []), undefined)
  const second = row(stream, Uint8Array.of(2))
  const failure = await store.commit([second, first], [])
  assert.deepEqual([failure?.error.kind, failure?.mayHaveCommitted], ['conflict', false])
  assert.deepEqual(
    [await store.wasCommitted(first), await store.wasCommitted(second)],
    [true, false],
  )
  assert.deepEqual(await usage(stream), {
    segment_count: '1',
    event_count: '1',
    sent_bytes: '1000',
    stored_bytes: '1',
  })
  const writer = createRawStoreWriter(store, () => assert.fail('the lease is ours'))
  assert.equal((await writer.write([first], []))?.kind, 'exists')
})

/** Runs `during` while the store's transaction waits, its COPY done, for a lock that we hold. */
async function whileHeldUp<T>(during: () => Promise<T>): Promise<T> {
  const holder = await postgres.connect()
  try {
    await holder.query('BEGIN')
    await holder.query('LOCK TABLE stream_usage IN EXCLUSIVE MODE')
    return await during()
  } finally {
    await holder.end()
  }
}

const HELD_UP = `SELECT pid FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND query LIKE '%COPY segments%'`

test('a backend killed in the transaction: nothing is stored, which is found out', async () => {
  const stream = newStream()
  const killed = row(stream, randomBytes(10_000))
  const failure = await whileHeldUp(async () => {
    const committing = store.commit([killed], [])
    await eventually('the commit is held up', async () => {
      return (await postgres.query(HELD_UP)).rowCount === 1
    })
    await postgres.query(`SELECT pg_terminate_backend(pid) FROM (${HELD_UP}) AS backends`)
    return committing
  })
  assert.equal(failure?.error.kind, 'unavailable')
  assert.equal(await store.wasCommitted(killed), false)
  assert.deepEqual([(await storedRows(stream)).length, await usage(stream)], [0, undefined])
  // The next commit has a connection of its own; the same row may go again.
  assert.equal(await store.commit([killed], []), undefined)
  assert.equal(await store.wasCommitted(killed), true)
})

test('the outcome of a transaction under way is known only when it is over', async () => {
  const stream = newStream()
  const pending = row(stream, Uint8Array.of(1))
  let isKnown = false
  const [committing, looking] = await whileHeldUp(async () => {
    const commit = store.commit([pending], [])
    await eventually('the commit is held up', async () => {
      return (await postgres.query(HELD_UP)).rowCount === 1
    })
    const look = store.wasCommitted(pending).then((isCommitted) => {
      isKnown = true
      return isCommitted
    })
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.equal(isKnown, false)
    return [commit, look] as const
  })
  assert.deepEqual([await committing, await looking], [undefined, true])
})

test('a COMMIT whose answer is lost is found to be durable', async () => {
  const stream = newStream()
  const cut = new Postgres({ url: proxy.url, log })
  const cutStore = new SegmentStore(cut, lease)
  const committed = row(stream, randomBytes(100_000))
  proxy.isCutting = true
  const writer = createRawStoreWriter(cutStore, () => assert.fail('the lease is ours'))
  assert.equal((await writer.write([committed], []))?.kind, 'unknown')
  proxy.isCutting = false
  assert.equal(proxy.cuts, 1)
  assert.equal(await writer.wasCommitted({ ...committed }), true)
  assert.equal((await storedRows(stream)).length, 1)
  await cutStore.stop()
  await cut.end()
})

test('a node that lost its number stores nothing, and says so', async () => {
  const stream = newStream()
  const stale = new SegmentStore(postgres, { nodeId: lease.nodeId, epoch: lease.epoch - 1n })
  let losses = 0
  const writer = createRawStoreWriter(stale, () => losses++)
  const fenced = row(stream, Uint8Array.of(1))
  const failure = await writer.write([fenced], [])
  assert.equal(failure?.kind, 'refused')
  assert.equal(losses, 1)
  assert.deepEqual([await storedRows(stream), await store.wasCommitted(fenced)], [[], false])
  await stale.stop()
})

test('a store that is away is worth another try', async () => {
  const away = new Postgres({ url: 'postgres://u:p@127.0.0.1:1/d', log, connectMsMax: 1_000 })
  const writer = createRawStoreWriter(new SegmentStore(away, lease), () => undefined)
  const failure = await writer.write([row(newStream(), Uint8Array.of(1))], [])
  assert.equal(failure?.kind, 'retry')
  await assert.rejects(writer.wasCommitted(row(newStream(), Uint8Array.of(1))))
  await away.end()
})

interface StoredMixed {
  readonly id: string
  readonly last: string
  readonly members: Uint8Array
  readonly event_count: number
  readonly payload: Uint8Array
}

test('a mixed segment is a row, and a segment of each of its streams', async () => {
  const streamsOfRuns = [newStream(), newStream(), newStream()]
  const payload = randomBytes(600)
  const base = row(MIXED_STREAM, payload, 6)
  const runs = streamsOfRuns.map((streamId, index) => ({
    streamId,
    segmentId: (base.segmentId + BigInt(index)) as SegmentId,
    eventCount: index + 1,
    rawBytes: 10 * (index + 1),
    sentBytes: 11 * (index + 1),
    storedBytes: 100 * (index + 1),
  }))
  counter += runs.length
  const neighbour = row(streamsOfRuns[0]!, randomBytes(50), 4)
  assert.equal(await store.commit([{ ...base, runs }, neighbour], []), undefined)

  const { rows } = await postgres.query<StoredMixed>(
    `SELECT segment_id::text AS id, last_segment_id::text AS last, members, event_count, payload
       FROM segments WHERE stream_id = $1 AND segment_id = $2`,
    [MIXED_STREAM, String(base.segmentId)],
  )
  assert.equal(rows.length, 1)
  assert.equal(rows[0]?.last, String(runs[2]!.segmentId))
  assert.deepEqual(rows[0]?.payload, payload)
  assert.deepEqual(
    storedRow({ ...rows[0]!, stream_id: MIXED_STREAM, segment_id: rows[0]!.id }).segments,
    placeSegments(runs),
  )
  const { rows: listed } = await postgres.query(
    `SELECT stream_id, segment_id::text AS segment_id, event_count, raw_bytes, sent_bytes,
       stored_bytes, row_id::text AS row_id, first_event, is_mixed
       FROM stream_segments WHERE stream_id = ANY ($1) ORDER BY stream_id, segment_id`,
    [streamsOfRuns.slice(1)],
  )
  const expected = runs.slice(1).map((run, index) => ({
    stream_id: run.streamId,
    segment_id: String(run.segmentId),
    event_count: run.eventCount,
    raw_bytes: run.rawBytes,
    sent_bytes: run.sentBytes,
    stored_bytes: run.storedBytes,
    row_id: String(base.segmentId),
    first_event: [1, 3][index],
    is_mixed: true,
  }))
  assert.deepEqual(listed, expected)
  const sums = (segments: number, events: number, sent: number, stored: number) => ({
    segment_count: String(segments),
    event_count: String(events),
    sent_bytes: String(sent),
    stored_bytes: String(stored),
  })
  assert.deepEqual(await usage(streamsOfRuns[0]!), sums(2, 5, 1_011, 150))
  assert.deepEqual(await usage(streamsOfRuns[2]!), sums(1, 3, 33, 300))
  assert.equal(await usage(MIXED_STREAM), undefined)
  assert.equal(await store.wasCommitted(base), true)
})

test('of a mixed segment that was rolled back no run is left', async () => {
  const streamId = newStream()
  const base = row(MIXED_STREAM, randomBytes(10))
  const run = { ...base, streamId, storedBytes: 10 }
  assert.equal(await store.commit([{ ...base, runs: [run] }], []), undefined)
  const failure = await store.commit([{ ...base, runs: [run] }], [])
  assert.deepEqual([failure?.error.kind, failure?.mayHaveCommitted], ['conflict', false])
  const { rows } = await postgres.query('SELECT 1 FROM segment_runs WHERE stream_id = $1', [
    streamId,
  ])
  assert.equal(rows.length, 1)
})
