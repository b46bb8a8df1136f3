/**
 * Goal: what the stores' statements take at a time, and for how long, is what the limits say.
 * Method: a real PostgreSQL whose rows are made as old or as many as each limit, and one more.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { NODE_LEASE_MS, NODE_LEASE_RENEW_MS, RETAIN_PURGE_GRACE_MS } from '../../../src/limits.ts'
import { makeSegmentId, type SegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { ControlDirectory } from '../../../src/store/control/control-directory.ts'
import { ControlStore } from '../../../src/store/control/control-store.ts'
import { NodeLease } from '../../../src/store/raw/node-lease.ts'
import { RetentionStore } from '../../../src/store/raw/retention-store.ts'
import {
  SET_ASIDE_RETRY_SEGMENTS_MAX,
  SetAsideStore,
} from '../../../src/store/raw/set-aside-store.ts'
import {
  SPLIT_BETWEEN_ROWS_MAX,
  SPLIT_STATEMENT_BYTES_MAX,
  SplitStore,
} from '../../../src/store/raw/split-store.ts'
import { DEFAULT_SETTINGS } from '../../observe/settings.ts'
import { SILENT_LOG, startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'
import { eventually } from '../temporary.ts'
import { holdNumber } from './hold-number.ts'

const OWN = '00000000-0000-4000-8000-00000000000a'
const MS = Date.parse('2026-05-05T05:05:05Z')
let database: TestDatabase

before(async () => {
  database = await startDatabase()
})

after(async () => {
  await database?.close()
})

const claim = (identity: string) => {
  const { postgres } = database
  return NodeLease.claim({ postgres, identity, log: SILENT_LOG, onLost: () => undefined })
}

const insertRow = (streamId: number, segmentId: SegmentId) =>
  database.postgres.query(
    `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes,
       payload) VALUES ($1, $2, now(), 1, 1, 1, '\\x07')`,
    [streamId, String(segmentId)],
  )

test('a lease is for NODE_LEASE_MS, and renewed after NODE_LEASE_RENEW_MS', async (t) => {
  const { setTimeout } = globalThis
  const renewals: (() => void)[] = []
  const start = (renew: () => void, ms?: number, ...all: unknown[]) => {
    if (ms === NODE_LEASE_RENEW_MS) renewals.push(renew)
    return setTimeout(renew, ms, ...(all as []))
  }
  t.mock.method(globalThis, 'setTimeout', start as typeof setTimeout)
  const lease = await claim(OWN)
  const leftMs = async () => {
    const { rows } = await database.postgres.query<{ ms: number }>(
      `SELECT extract(epoch FROM lease_until - clock_timestamp())::float8 * 1000 AS ms
       FROM nodes WHERE node_id = $1`,
      [lease.nodeId],
    )
    return rows[0]?.ms ?? 0
  }
  const claimedMs = await leftMs()
  assert.ok(claimedMs <= NODE_LEASE_MS && claimedMs > NODE_LEASE_MS - 2_000, `${claimedMs} ms`)
  await database.postgres.query('UPDATE nodes SET lease_until = clock_timestamp()')
  assert.equal(renewals.length, 1)
  renewals[0]?.()
  await eventually('it is renewed', async () => (await leftMs()) > NODE_LEASE_MS - 2_000)
  assert.ok((await leftMs()) <= NODE_LEASE_MS)
  await lease.stop()
})

test('SET_ASIDE_RETRY_SEGMENTS_MAX segments are tried again at a time', async () => {
  const store = new SetAsideStore(database.postgres)
  const streamId = 3 as StreamId
  const aside = Array.from({ length: SET_ASIDE_RETRY_SEGMENTS_MAX + 1 }, (_, counter) => ({
    ...{ streamId, segmentId: makeSegmentId({ ms: MS, node: 7, counter }) },
    ...{ reason: 'damaged', tries: 5 },
  }))
  for (const { segmentId } of aside) await insertRow(streamId, segmentId)
  await store.record(await holdNumber(database.postgres, 7), aside)
  assert.equal(await store.askToRetry(streamId), aside.length)
  const first = await store.readRetries(7)
  assert.equal(first.length, SET_ASIDE_RETRY_SEGMENTS_MAX)
  await store.remove(first)
  assert.equal((await store.readRetries(7)).length, 1)
})

test('SPLIT_BETWEEN_ROWS_MAX rows between runs are looked at', async () => {
  const { postgres } = database
  const store = new SplitStore(postgres)
  const fill = (from: number, to: number) =>
    postgres.query(
      `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes,
         sent_bytes, payload)
       SELECT 5, n, now(), 1, 1, 1, '' FROM generate_series($1::bigint, $2::bigint) AS n`,
      [from, to],
    )
  const count = async () => {
    const range = { after: 0n, before: 1_000_000n }
    return (await store.listBetween([5 as StreamId], range)).get(5 as StreamId)?.length
  }
  await fill(1, SPLIT_BETWEEN_ROWS_MAX - 1)
  assert.equal(await count(), SPLIT_BETWEEN_ROWS_MAX - 1)
  await fill(SPLIT_BETWEEN_ROWS_MAX, SPLIT_BETWEEN_ROWS_MAX + 1)
  assert.equal(await count(), SPLIT_BETWEEN_ROWS_MAX)
  await postgres.query('DELETE FROM segments WHERE stream_id = 5')
})

test('a statement puts SPLIT_STATEMENT_BYTES_MAX into the raw store, or one row', async () => {
  const half = SPLIT_STATEMENT_BYTES_MAX / 2
  for (const [sizes, expected] of [
    [[half, half], 1],
    [[half, half + 1], 2],
    [[SPLIT_STATEMENT_BYTES_MAX + 1], 1],
  ] as const) {
    let inserts = 0
    const session = {
      query: async (text: string) => {
        if (text.includes('INSERT INTO segments')) inserts++
        const isRuns = text.includes('DELETE FROM segment_runs')
        return { rows: [], rowCount: isRuns ? sizes.length : 0 }
      },
    }
    const rows = sizes.map((_, index) => {
      const segmentId = makeSegmentId({ ms: MS, node: 1, counter: index })
      const run = {
        segmentId,
        eventCount: 1,
        rawBytes: 1,
        sentBytes: 1,
        rowId: segmentId,
        storedBytes: 1,
      }
      const streamId = (index + 1) as StreamId
      return { streamId, runs: [{ ...run, streamId, firstEvent: 0 }] }
    })
    let end = 0
    const ends = Uint32Array.from(sizes.map((size) => (end += size)))
    const payloads = { bytes: new Uint8Array(end), ends }
    const split = { mixed: [], rows, payloads, compactFrom: undefined }
    assert.equal(await new SplitStore(session).replace(split), true)
    assert.equal(inserts, expected, sizes.join())
  }
})

test('a stream is purged RETAIN_PURGE_GRACE_MS after its deletion', async () => {
  const { postgres } = database
  const store = new RetentionStore(postgres, new ControlDirectory(postgres))
  const settings = { ...DEFAULT_SETTINGS, name: 'gone' }
  const control = new ControlStore(postgres, () => undefined)
  const { streamId } = await control.createStream('ann', settings)
  const purge = async (agoMs: number) => {
    await postgres.query(
      `UPDATE streams SET deleted_at = now() - $2 * interval '1 millisecond'
       WHERE stream_id = $1`,
      [streamId, agoMs],
    )
    return store.purgeDeleted()
  }
  assert.equal(await purge(RETAIN_PURGE_GRACE_MS - 10_000), 0)
  assert.equal(await purge(RETAIN_PURGE_GRACE_MS + 10), 1)
})
