/**
 * Goal: what is kept under Idempotency-Keys is bounded, and given for its time only.
 * Method: a real PostgreSQL; time and volume are written into its rows.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import {
  IDEMPOTENCY_ROW_BYTES,
  IDEMPOTENCY_STREAM_BYTES_MAX,
  IDEMPOTENCY_TTL_MS,
} from '../../../src/limits.ts'
import { makeSegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { Postgres } from '../../../src/store/postgres.ts'
import { IdempotencyStore } from '../../../src/store/raw/idempotency-store.ts'
import { NodeLease } from '../../../src/store/raw/node-lease.ts'
import { type SegmentRow, SegmentStore } from '../../../src/store/raw/segment-store.ts'
import { openTestPostgres, type TestStore } from '../../support/stores.ts'
import { recordingLog } from '../temporary.ts'

const IDENTITY = '00000000-0000-4000-8000-000000000001'
const log = recordingLog()
let embedded: TestStore
let postgres: Postgres
let lease: NodeLease
let store: SegmentStore
let streams = 0
let counter = 0

before(async () => {
  embedded = await openTestPostgres()
  postgres = new Postgres({ url: embedded.url, log })
  lease = await NodeLease.claim({ postgres, identity: IDENTITY, log, onLost: () => undefined })
  store = new SegmentStore(postgres, lease)
})

after(async () => {
  await store?.stop()
  await lease?.stop()
  await postgres?.end()
  await embedded?.close()
})

const newStream = () => ++streams as StreamId
const key = (text: string) => createHash('sha256').update(text).digest()

function row(streamId: StreamId, payload: Uint8Array): SegmentRow {
  const ms = 1_767_323_045_678
  const segmentId = makeSegmentId({ ms, node: lease.nodeId, counter: counter++ })
  const bytes = { rawBytes: 1_000, sentBytes: 1_000 }
  return { streamId, segmentId, ingestedAtMs: ms, eventCount: 1, ...bytes, payload }
}

test("what is kept under a stream's keys is bounded; what is remembered stays so", async () => {
  const stream = newStream()
  const keys = new IdempotencyStore(postgres, lease)
  const keySha256 = key('kept')
  const fingerprint = key('the request')
  const body = 'x'.repeat(1_000)
  assert.equal(await keys.claim(stream, keySha256), 'claimed')
  const answer = { streamId: stream, keySha256, fingerprint, status: 200, body }
  assert.equal(await store.commit([row(stream, new Uint8Array(1))], [answer]), undefined)
  const addBytes = (bytes: number, hoursAgo: number) =>
    postgres.query(
      `INSERT INTO idempotency_bytes (stream_id, hour, node_id, bytes)
       VALUES ($1, floor(extract(epoch FROM now()) / 3600)::integer - $2, 7, $3)`,
      [stream, hoursAgo, bytes],
    )
  const left = IDEMPOTENCY_STREAM_BYTES_MAX - body.length - IDEMPOTENCY_ROW_BYTES
  await addBytes(IDEMPOTENCY_STREAM_BYTES_MAX, 24)
  await addBytes(left - 1, 23)
  assert.equal(await keys.claim(stream, key('fits')), 'claimed')
  await addBytes(1, 2)
  assert.equal(await keys.claim(stream, key('one more')), 'full')
  const kept = { status: 200, body, fingerprint: Buffer.from(fingerprint) }
  assert.deepEqual(await keys.claim(stream, keySha256), kept)
  assert.equal(await keys.claim(newStream(), key('one more')), 'claimed', 'of another stream')
  await addBytes(1, 30)
  await keys.purge()
  const { rows } = await postgres.query<{ hours: number }>(
    'SELECT count(*)::integer AS hours FROM idempotency_bytes WHERE stream_id = $1',
    [stream],
  )
  assert.deepEqual(rows, [{ hours: 4 }], 'the oldest is forgotten')
})

test('an answer that is past its time is not given, even where no key is to be had', async () => {
  const stream = newStream()
  const keys = new IdempotencyStore(postgres, lease)
  const keySha256 = key('old')
  const answer = { streamId: stream, keySha256, fingerprint: key('r'), status: 200, body: 'old' }
  assert.equal(await keys.claim(stream, keySha256), 'claimed')
  assert.equal(await store.commit([row(stream, new Uint8Array(1))], [answer]), undefined)
  const age = (ms: number) =>
    postgres.query(
      `UPDATE idempotency_keys SET created_at = now() - $2 * interval '1 millisecond'
       WHERE stream_id = $1`,
      [stream, ms],
    )
  await age(IDEMPOTENCY_TTL_MS - 10_000)
  const kept = { status: 200, body: 'old', fingerprint: Buffer.from(key('r')) }
  assert.deepEqual(await keys.claim(stream, keySha256), kept)
  await age(IDEMPOTENCY_TTL_MS + 10)
  const fill = 'UPDATE idempotency_bytes SET bytes = $2 WHERE stream_id = $1'
  await postgres.query(fill, [stream, IDEMPOTENCY_STREAM_BYTES_MAX])
  assert.equal(await keys.claim(stream, keySha256), 'full')
  await postgres.query(fill, [stream, 0])
  assert.equal(await keys.claim(stream, keySha256), 'claimed')
  assert.equal(await keys.claim(stream, keySha256), 'busy')
})

test('a purge that fails is told, and tried again', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const away = { query: () => Promise.reject(new Error('away')) } as unknown as Postgres
  const keys = new IdempotencyStore(away, lease)
  const told: unknown[] = []
  const stop = keys.startPurging((cause) => told.push(cause))
  const minute = async () => {
    t.mock.timers.tick(60_000)
    await new Promise(setImmediate)
  }
  await minute()
  await minute()
  assert.deepEqual(told.map(String), ['Error: away', 'Error: away'])
  stop()
  await minute()
  assert.equal(told.length, 2)
})
