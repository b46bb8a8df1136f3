/** Mixed rows as commit makes them, and streams read back from wherever their events lie. */
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import { encodeMembers, storedRow } from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import type { Queryable } from '../../src/store/postgres.ts'
import { decodeSegment } from '../../workers/segment/segment.ts'
import type { RetainHarness } from './retain-harness.ts'

export interface NewMixed {
  readonly ms: number
  readonly node?: number
  readonly runs: readonly { readonly streamId: StreamId; readonly lines: readonly string[] }[]
}

/** Bytes that a transform took away, to tell those sent from those stored. */
const SENT_MORE = 7
let counter = 0

/** Commits one mixed row; returns the ids of its runs, in order. */
export async function commitMixed(harness: RetainHarness, row: NewMixed): Promise<SegmentId[]> {
  const { ms, node = 1 } = row
  if (counter + row.runs.length > 4_096) counter = 0
  const ids = row.runs.map(() => makeSegmentId({ ms, node, counter: counter++ }))
  const { payload, eventCount, rawBytes } = harness.encode(row.runs.flatMap(({ lines }) => lines))
  let firstEvent = 0
  let stored = 0
  const runs = row.runs.map(({ streamId, lines }, index) => {
    const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)
    const share = Math.floor((payload.length * (firstEvent + lines.length)) / eventCount) - stored
    stored += share
    firstEvent += lines.length
    return {
      streamId,
      segmentId: ids[index]!,
      firstEvent: firstEvent - lines.length,
      eventCount: lines.length,
      rawBytes: bytes,
      sentBytes: bytes + SENT_MORE,
      storedBytes: share,
    }
  })
  await harness.postgres.transaction(async (client) => {
    await client.query(
      `INSERT INTO segments (stream_id, segment_id, last_segment_id, members, ingested_at,
         event_count, raw_bytes, sent_bytes, payload)
       VALUES (${MIXED_STREAM}, $1, $2, $3, to_timestamp($4::float8 / 1000), $5, $6, $7, $8)`,
      [
        String(ids[0]),
        String(ids.at(-1)),
        encodeMembers(MIXED_STREAM, runs),
        ms,
        eventCount,
        rawBytes,
        runs.reduce((sum, run) => sum + run.sentBytes, 0),
        payload,
      ],
    )
    for (const run of runs) {
      await client.query('INSERT INTO segment_runs VALUES ($1, $2, $3, $4, $5, $6, $7, $8)', [
        run.streamId,
        String(run.segmentId),
        String(ids[0]),
        run.firstEvent,
        run.eventCount,
        run.rawBytes,
        run.sentBytes,
        run.storedBytes,
      ])
      await client.query(
        `INSERT INTO stream_usage AS u
           (stream_id, node_id, segment_count, event_count, sent_bytes, stored_bytes)
         VALUES ($1, $2, 1, $3, $4, $5)
         ON CONFLICT (stream_id, node_id) DO UPDATE SET
           segment_count = u.segment_count + 1,
           event_count = u.event_count + excluded.event_count,
           sent_bytes = u.sent_bytes + excluded.sent_bytes,
           stored_bytes = u.stored_bytes + excluded.stored_bytes`,
        [run.streamId, node, run.eventCount, run.sentBytes, run.storedBytes],
      )
    }
  })
  return ids
}

/** Every event as `<segment>-<ordinal> <text>`, in order of its segments' ids. */
export async function readEvents(harness: RetainHarness, streamId: StreamId): Promise<string[]> {
  const { rows } = await harness.postgres.query<{
    readonly stream_id: number
    readonly segment_id: string
    readonly event_count: number
    readonly first_event: number
    readonly members: Uint8Array | null
    readonly payload: Uint8Array
  }>(
    `SELECT s.stream_id, s.segment_id, s.event_count, s.first_event, s.members, r.payload
     FROM stream_segments s JOIN segments r ON r.segment_id = s.row_id
       AND r.stream_id = CASE WHEN s.is_mixed THEN ${MIXED_STREAM} ELSE s.stream_id END
     WHERE s.stream_id = $1`,
    [streamId],
  )
  const segments = rows.flatMap((row) => {
    const lines = decodeSegment(row.payload).text.toString().split('\n')
    return storedRow(row).segments.map(({ segmentId, firstEvent, eventCount }) => {
      const at = row.first_event + firstEvent
      return { id: segmentId, lines: lines.slice(at, at + eventCount) }
    })
  })
  segments.sort((a, b) => (a.id < b.id ? -1 : 1))
  return segments.flatMap(({ id, lines }) => lines.map((line, n) => `${id}-${n} ${line}`))
}

export interface Leftover {
  readonly mixed: number
  readonly runs: number
}

/** Mixed rows that are there, and runs of some streams. */
export async function leftover(
  harness: RetainHarness,
  streamIds: readonly StreamId[],
): Promise<Leftover> {
  const { rows } = await harness.postgres.query<Leftover>(
    `SELECT (SELECT count(*) FROM segments WHERE stream_id = ${MIXED_STREAM})::float8 AS mixed,
       (SELECT count(*) FROM segment_runs WHERE stream_id = ANY ($1::integer[]))::float8 AS runs`,
    [streamIds],
  )
  return { ...rows[0]! }
}

export const NOTHING: Leftover = { mixed: 0, runs: 0 }

export async function newStreams(harness: RetainHarness, count: number): Promise<StreamId[]> {
  return Promise.all(Array.from({ length: count }, () => harness.newStream()))
}

export async function withLock<T>(
  harness: RetainHarness,
  work: (lock: { readonly session: Queryable }) => Promise<T>,
): Promise<T> {
  const lock = await harness.heldLock()
  try {
    return await work(lock)
  } finally {
    await lock.stop()
  }
}

/** Splits and merges what is due at a time. */
export function compact(harness: RetainHarness, nowMs = Date.now()): Promise<void> {
  return withLock(harness, (lock) => harness.untilIdle(harness.newCompactor(lock, () => nowMs)))
}

export async function retain(harness: RetainHarness): Promise<void> {
  const lock = await harness.heldLock()
  await harness.untilIdle(harness.newRemover(lock))
  await lock.stop()
}

/** Removes what lies below `id`, as retention does. */
export async function removeBefore(
  harness: RetainHarness,
  streamId: StreamId,
  id: SegmentId,
): Promise<void> {
  await harness.postgres.query(
    `INSERT INTO stream_storage (stream_id, removed_before) VALUES ($1, $2)
     ON CONFLICT (stream_id) DO UPDATE SET removed_before = excluded.removed_before`,
    [streamId, String(id)],
  )
  await retain(harness)
}

/** What a stream holds, which must be what its counters say. */
export async function look(harness: RetainHarness, streamIds: readonly StreamId[]) {
  const all = []
  for (const streamId of streamIds) {
    await harness.assertUsageIsTrue(streamId)
    const { events, sentBytes } = await harness.usage.readUsage(streamId)
    all.push({ events, sentBytes, texts: await readEvents(harness, streamId) })
  }
  return all
}

export interface RowShape {
  readonly segment_id: string
  readonly last_segment_id: string | null
  readonly members: Uint8Array | null
}

/** The stream's own rows in the raw store, the oldest first. */
export async function rowsOf(harness: RetainHarness, streamId: StreamId): Promise<RowShape[]> {
  const { rows } = await harness.postgres.query<RowShape>(
    `SELECT segment_id, last_segment_id, members FROM segments WHERE stream_id = $1
     ORDER BY segment_id`,
    [streamId],
  )
  return rows
}
