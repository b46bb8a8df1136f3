/**
 * Retention's SQL. The order makes it safe to be killed anywhere: first the mark is committed
 * durably (`stream_storage.removed_before`), and from then on readers see nothing below it; then
 * rows are deleted, in small statements; rows left below the mark are found again at any time.
 *
 * `session` is the worker's own, see `worker-lock.ts`.
 */
import { COMPACT_WAIT_MS_MAX, RETAIN_PURGE_GRACE_MS } from '../../limits.ts'
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import { SEGMENT_ID_MAX, SEGMENT_ID_MS_SHIFT, type SegmentId } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Queryable } from '../postgres.ts'
import type { StreamDirectory } from '../stream-directory.ts'
import { HELD_STREAMS, heldParams, REMOVED_NODE_ID } from './storage-sql.ts'

export interface RemovedRows {
  readonly rows: number
  readonly events: number
  /** Compressed bytes. */
  readonly bytes: number
}

export interface OverCap {
  readonly streamId: StreamId
  /** Bytes that must go. */
  readonly excessBytes: number
  /** Bytes that an event of the stream takes in the projection, on average. */
  readonly projectionBytesPerEvent: number
}

export interface OldRow {
  readonly lastSegmentId: SegmentId
  readonly eventCount: number
  readonly payloadBytes: number
}

/** Above every segment id: all of the stream is removed. */
export const ALL_REMOVED = SEGMENT_ID_MAX as SegmentId

/** Deleted streams that one round purges. */
const PURGED_AT_ONCE_MAX = 100
/** Makes the transaction not wait for its flush: redoing it after a crash is harmless. */
const UNFLUSHED = `(SELECT set_config('synchronous_commit', 'off', true))`
/** The cell's tables with rows of a stream, besides `segments`; their key leads with it. */
const PER_STREAM_TABLES = [
  'stream_usage',
  'stream_refusals',
  'stream_rejects',
  'stream_refusal_history',
  'stream_key_usage',
  'stream_schemas',
  'stream_fields',
  'stream_shapes',
  'stream_shape_paths',
  'stream_schema_marks',
  'idempotency_keys',
  'idempotency_bytes',
  'set_aside_segments',
]

export class RetentionStore {
  readonly #session: Queryable
  readonly #streams: StreamDirectory

  constructor(session: Queryable, streams: StreamDirectory) {
    this.#session = session
    this.#streams = streams
  }

  /** Milliseconds since 1970 by the database's clock. */
  async readClock(): Promise<number> {
    const { rows } = await this.#session.query<{ ms: number }>(
      'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
    )
    return rows[0]?.ms ?? 0
  }

  /**
   * Moves the marks of streams with events past their retention; returns those streams. Only where
   * a row below the new mark exists, so that idle streams cost two index probes.
   */
  async markByAge(nowMs: number): Promise<StreamId[]> {
    const marked: StreamId[] = []
    for await (const live of this.#streams.pageLive()) {
      const { rows } = await this.#session.query<{ stream_id: number }>(
        `INSERT INTO stream_storage AS m (stream_id, removed_before)
         SELECT stream_id, mark FROM (
           SELECT stream_id, ($1::bigint - retention_ms) << ${SEGMENT_ID_MS_SHIFT} AS mark
           FROM unnest($2::integer[], $3::bigint[]) AS live (stream_id, retention_ms)
           WHERE retention_ms < $1::bigint
         ) AS ends
         WHERE (SELECT min(g.segment_id) FROM stream_segments g
                WHERE g.stream_id = ends.stream_id) < ends.mark
         ON CONFLICT (stream_id) DO UPDATE SET removed_before = excluded.removed_before
           WHERE m.removed_before < excluded.removed_before
         RETURNING stream_id`,
        [
          Math.floor(nowMs),
          live.map(({ streamId }) => streamId),
          live.map(({ retentionMs }) => retentionMs),
        ],
      )
      marked.push(...rows.map((row) => row.stream_id as StreamId))
    }
    return marked
  }

  /** Marks everything of the streams that were deleted; returns those with rows left. */
  async markDeleted(): Promise<StreamId[]> {
    const left: StreamId[] = []
    for await (const deleted of this.#streams.pageDeleted()) {
      const ids = deleted.map(({ streamId }) => streamId)
      await this.#session.query(
        `INSERT INTO stream_storage AS m (stream_id, removed_before)
         SELECT unnest($2::integer[]), $1
         ON CONFLICT (stream_id) DO UPDATE SET removed_before = excluded.removed_before
           WHERE m.removed_before < excluded.removed_before`,
        [String(ALL_REMOVED), ids],
      )
      const { rows } = await this.#session.query<{ stream_id: number }>(
        `SELECT stream_id FROM unnest($1::integer[]) AS s (stream_id) WHERE (
           SELECT true FROM stream_segments g WHERE g.stream_id = s.stream_id LIMIT 1)`,
        [ids],
      )
      left.push(...rows.map((row) => row.stream_id as StreamId))
    }
    return left
  }

  /** Moves the stream's mark on, never back; durable when it resolves. */
  async mark(streamId: StreamId, before: SegmentId): Promise<void> {
    await this.#session.query(
      `INSERT INTO stream_storage AS m (stream_id, removed_before) VALUES ($1, $2)
       ON CONFLICT (stream_id) DO UPDATE
         SET removed_before = GREATEST(m.removed_before, excluded.removed_before)`,
      [streamId, String(before)],
    )
  }

  /**
   * Streams with rows that lie below their mark. Written as index probes for each stream: the
   * planner might turn an EXISTS into a join over all rows of the table.
   */
  async findUnfinished(): Promise<StreamId[]> {
    const { rows } = await this.#session.query<{ stream_id: number }>(
      `SELECT stream_id FROM stream_storage m
       WHERE removed_before > 0 AND (
         SELECT true FROM stream_segments g WHERE g.stream_id = m.stream_id
           AND g.segment_id < m.removed_before
           AND COALESCE(g.last_segment_id, g.segment_id) < m.removed_before LIMIT 1)`,
    )
    return rows.map((row) => row.stream_id as StreamId)
  }

  /**
   * Deletes the oldest rows below the stream's mark, `limit` at most, and counts them out. Runs of
   * mixed rows count as rows; their events' bytes go when compaction has split the mixed row.
   */
  async removeRows(streamId: StreamId, limit: number): Promise<RemovedRows> {
    const { rows } = await this.#session.query<RemovedRow>(
      `WITH mark AS (
         SELECT removed_before FROM stream_storage WHERE stream_id = $1
       ), oldest AS MATERIALIZED (
         SELECT segment_id, is_mixed FROM stream_segments
         WHERE stream_id = $1 AND segment_id < (SELECT removed_before FROM mark)
           AND COALESCE(last_segment_id, segment_id) < (SELECT removed_before FROM mark)
         ORDER BY segment_id LIMIT $2
       ), rows_gone AS (
         DELETE FROM segments WHERE stream_id = $1
           AND segment_id IN (SELECT segment_id FROM oldest WHERE NOT is_mixed)
         RETURNING event_count, sent_bytes, octet_length(payload) AS bytes
       ), runs_gone AS (
         DELETE FROM segment_runs WHERE stream_id = $1
           AND segment_id IN (SELECT segment_id FROM oldest WHERE is_mixed)
         RETURNING event_count, sent_bytes, stored_bytes
       ), set_aside_gone AS (
         DELETE FROM set_aside_segments WHERE stream_id = $1
           AND segment_id < (SELECT removed_before FROM mark)
       ), gone AS (
         SELECT event_count, sent_bytes, bytes FROM rows_gone
         UNION ALL SELECT event_count, sent_bytes, stored_bytes FROM runs_gone
       ), sums AS (
         SELECT count(*) AS rows, COALESCE(sum(event_count), 0) AS events,
           COALESCE(sum(sent_bytes), 0) AS sent_bytes, COALESCE(sum(bytes), 0) AS bytes FROM gone
       ), counted AS (
         INSERT INTO stream_usage AS u
           (stream_id, node_id, segment_count, event_count, sent_bytes, stored_bytes)
         SELECT $1, ${REMOVED_NODE_ID}, -rows, -events, -sent_bytes, -bytes FROM sums WHERE rows > 0
         ON CONFLICT (stream_id, node_id) DO UPDATE SET
           segment_count = u.segment_count + excluded.segment_count,
           event_count = u.event_count + excluded.event_count,
           sent_bytes = u.sent_bytes + excluded.sent_bytes,
           stored_bytes = u.stored_bytes + excluded.stored_bytes
       )
       SELECT rows::float8, events::float8, bytes::float8, ${UNFLUSHED} FROM sums`,
      [streamId, limit],
    )
    const { rows: count = 0, events = 0, bytes = 0 } = rows[0] ?? {}
    return { rows: count, events, bytes }
  }

  async findOverCap(): Promise<OverCap[]> {
    const over: OverCap[] = []
    for await (const capped of this.#streams.pageCapped()) {
      const { rows } = await this.#session.query<OverCapRow>(
        `SELECT stream_id, held_bytes - max_stored_bytes AS excess, projection_bytes_per_event
         FROM (${HELD_STREAMS}) AS held WHERE held_bytes > max_stored_bytes`,
        heldParams(capped),
      )
      for (const row of rows) {
        over.push({
          streamId: row.stream_id as StreamId,
          excessBytes: row.excess,
          projectionBytesPerEvent: row.projection_bytes_per_event,
        })
      }
    }
    return over
  }

  /** The oldest rows of a stream that are not removed and begin before `before`. */
  async listOldest(streamId: StreamId, before: bigint, limit: number): Promise<OldRow[]> {
    const { rows } = await this.#session.query<OldestRow>(
      `SELECT COALESCE(last_segment_id, segment_id) AS last_id, event_count,
         stored_bytes AS payload_bytes
       FROM stream_segments WHERE stream_id = $1 AND segment_id < $2 AND segment_id >= COALESCE(
         (SELECT removed_before FROM stream_storage WHERE stream_id = $1), 0)
       ORDER BY segment_id LIMIT $3`,
      [streamId, String(before), limit],
    )
    return rows.map((row) => ({
      lastSegmentId: BigInt(row.last_id) as SegmentId,
      eventCount: row.event_count,
      payloadBytes: row.payload_bytes,
    }))
  }

  /**
   * Deletes what is left of streams that were deleted a while ago and have no rows any more;
   * returns how many. Their events may also lie in mixed rows that are not split yet, from before
   * the end of the last request; a mixed row that cannot be split is not waited for any longer than
   * others. The control plane keeps the stream's id, so that a late insert into ClickHouse is
   * recognised as belonging to nobody.
   */
  async purgeDeleted(): Promise<number> {
    const ids = await this.#findPurgeable()
    if (ids.length === 0) return 0
    for (const table of PER_STREAM_TABLES) {
      await this.#session.query(`DELETE FROM ${table} WHERE stream_id = ANY ($1::integer[])`, [ids])
    }
    await this.#streams.markPurged(ids)
    return ids.length
  }

  async #findPurgeable(): Promise<StreamId[]> {
    const found: StreamId[] = []
    for await (const page of this.#streams.pageDeleted()) {
      const deleted = page.filter(({ ageMs }) => ageMs > RETAIN_PURGE_GRACE_MS)
      const { rows } = await this.#session.query<{ stream_id: number }>(
        `SELECT stream_id FROM unnest($3::integer[], $4::bigint[]) AS s (stream_id, deleted_ms)
         WHERE (SELECT true FROM stream_segments g
                WHERE g.stream_id = s.stream_id LIMIT 1) IS NULL
           AND (SELECT true FROM segments g WHERE g.stream_id = ${MIXED_STREAM}
             AND g.segment_id >= (floor(extract(epoch FROM now()) * 1000)::bigint - $2)
               << ${SEGMENT_ID_MS_SHIFT}
             AND g.segment_id < (s.deleted_ms + $1) << ${SEGMENT_ID_MS_SHIFT} LIMIT 1) IS NULL
         LIMIT $5`,
        [
          RETAIN_PURGE_GRACE_MS,
          2 * COMPACT_WAIT_MS_MAX,
          deleted.map(({ streamId }) => streamId),
          deleted.map(({ deletedMs }) => deletedMs),
          PURGED_AT_ONCE_MAX - found.length,
        ],
      )
      found.push(...rows.map((row) => row.stream_id as StreamId))
      if (found.length >= PURGED_AT_ONCE_MAX) break
    }
    return found
  }
}

interface RemovedRow {
  readonly rows: number
  readonly events: number
  readonly bytes: number
}

interface OverCapRow {
  readonly stream_id: number
  readonly excess: number
  readonly projection_bytes_per_event: number
}

interface OldestRow {
  readonly last_id: string
  readonly event_count: number
  readonly payload_bytes: number
}
