/** What a stream holds, how far its projection lags, what was refused: counters and their SQL. */
import {
  nodeOfSegment,
  SEGMENT_ID_MS_SHIFT,
  type SegmentId,
  segmentIdMs,
} from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres } from '../postgres.ts'
import { REMOVED_NODE_ID } from './storage-sql.ts'
import { streamMarkSql } from './stream-mark.ts'

export interface StreamUsage {
  readonly events: number
  readonly segments: number
  /** Bytes of the events as sent, after decompression. */
  readonly sentBytes: number
  /** Compressed bytes in the raw store. */
  readonly storedBytes: number
}

export interface ProjectionLag {
  /** Segments that are not in the projection yet; counted up to LAG_SEGMENTS_MAX. */
  readonly segmentsBehind: number
  /** Receipt time of the oldest of them, null when there is none. */
  readonly oldestMs: number | null
}

/** Receipt times of a stream's oldest and newest event, null when it has none. */
export interface EventSpan {
  readonly oldestMs: number | null
  readonly newestMs: number | null
}

export interface RefusalCount {
  readonly reason: string
  readonly count: number
  readonly lastAtMs: number
}

export interface RefusalDelta extends RefusalCount {
  readonly streamId: StreamId
}

export interface StreamSummary {
  readonly events: number
  /** Receipt of the newest event, null when it has none. */
  readonly newestMs: number | null
}

interface SummaryRow {
  readonly events: number
  readonly newest: string | null
}

/** What a list of streams tells of each. */
export interface StreamOverview extends StreamUsage, StreamSummary {
  /** Receipt of the oldest event, null when it has none. */
  readonly oldestMs: number | null
  /** In the projection, as retention saw it last: seconds ago. */
  readonly projectionBytes: number
  /** Receipt of the oldest event that is not in the projection; null when all are. */
  readonly behindSinceMs: number | null
  readonly setAside: number
  /** Requests, and events out of requests that were taken. */
  readonly refused: number
  readonly rejected: number
}

/** How many of a stream's newest segments are looked at to tell how far its projection lags. */
export const LAG_SEGMENTS_MAX = 10_000

/** The same for each of a list: rows past a node's mark, the oldest first. */
const BEHIND_LOOKED_AT_MAX = 1_000

export class UsageStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  async readUsage(streamId: StreamId): Promise<StreamUsage> {
    const { rows } = await this.#postgres.query<UsageRow>(
      `SELECT COALESCE(sum(event_count), 0)::text AS events,
         COALESCE(sum(segment_count), 0)::text AS segments,
         COALESCE(sum(sent_bytes), 0)::text AS sent_bytes,
         COALESCE(sum(stored_bytes), 0)::text AS stored_bytes
       FROM stream_usage WHERE stream_id = $1`,
      [streamId],
    )
    const row = rows[0]
    return {
      events: Number(row?.events ?? 0),
      segments: Number(row?.segments ?? 0),
      sentBytes: Number(row?.sent_bytes ?? 0),
      storedBytes: Number(row?.stored_bytes ?? 0),
    }
  }

  /** How many events each of `streamIds` holds, and when the newest came; in their order. */
  async readSummaries(streamIds: readonly StreamId[]): Promise<StreamSummary[]> {
    const { rows } = await this.#postgres.query<SummaryRow>(
      `SELECT (SELECT COALESCE(sum(event_count), 0) FROM stream_usage
           WHERE stream_usage.stream_id = asked.id)::float8 AS events,
         ${newestSql('asked.id')}::text AS newest
       FROM unnest($1::integer[]) WITH ORDINALITY AS asked (id, place) ORDER BY place`,
      [streamIds],
    )
    return rows.map(({ events, newest }) => ({ events, newestMs: msOf(newest) }))
  }

  /**
   * Of each of `streamIds`, in their order, by index probes alone. How far the projection lags is
   * looked for at nodes that have something to bring there, past their marks: that is a few rows,
   * of a node that is far behind the first that it finds.
   */
  async readOverviews(streamIds: readonly StreamId[]): Promise<StreamOverview[]> {
    const { rows } = await this.#postgres.query<OverviewRow>(
      `WITH marks AS MATERIALIZED (
         SELECT node_id, c.segment_id, c.live_segment_id, c.behind
         FROM (SELECT node_id FROM nodes UNION SELECT node_id FROM checkpoints) AS n
           LEFT JOIN checkpoints c USING (node_id)
         WHERE EXISTS (SELECT 1 FROM segments g WHERE ${nodeOfSegment('g.segment_id')} = node_id
           AND g.segment_id > COALESCE(c.segment_id, -1))
       )
       SELECT used.*, COALESCE(m.projection_bytes, 0)::float8 AS projection_bytes,
         ${oldestSql('asked.id')}::text AS oldest, ${newestSql('asked.id')}::text AS newest,
         (SELECT min(first.segment_id) >> ${SEGMENT_ID_MS_SHIFT} FROM marks CROSS JOIN LATERAL (
            SELECT segment_id FROM (
              SELECT segment_id FROM stream_segments WHERE stream_id = asked.id
                AND segment_id > COALESCE(${streamMarkSql('marks', 'ARRAY[asked.id]')}, -1)
              ORDER BY segment_id LIMIT ${BEHIND_LOOKED_AT_MAX}
            ) AS next WHERE ${nodeOfSegment('next.segment_id')} = marks.node_id
            ORDER BY segment_id LIMIT 1
          ) AS first)::float8 AS behind_ms,
         (SELECT count(*) FROM set_aside_segments s WHERE s.stream_id = asked.id)::float8 AS aside,
         ${sumSql('stream_refusals')} AS refused,
         ${sumSql('stream_rejects')} AS rejected
       FROM unnest($1::integer[]) WITH ORDINALITY AS asked (id, place)
         LEFT JOIN stream_storage m ON m.stream_id = asked.id
         CROSS JOIN LATERAL (
           SELECT COALESCE(sum(event_count), 0)::float8 AS events,
             COALESCE(sum(segment_count), 0)::float8 AS segments,
             COALESCE(sum(sent_bytes), 0)::float8 AS sent,
             COALESCE(sum(stored_bytes), 0)::float8 AS stored
           FROM stream_usage u WHERE u.stream_id = asked.id
         ) AS used
       ORDER BY place`,
      [streamIds],
    )
    return rows.map(toOverview)
  }

  /** Bytes that each stream has sent since its creation, including those that retention removed. */
  async readSentBytes(): Promise<Map<StreamId, number>> {
    const { rows } = await this.#postgres.query<{ stream_id: number; bytes: number }>(
      `SELECT stream_id, sum(sent_bytes)::float8 AS bytes FROM stream_usage
       WHERE node_id <> ${REMOVED_NODE_ID} GROUP BY stream_id`,
    )
    return new Map(rows.map((row) => [row.stream_id as StreamId, row.bytes]))
  }

  /**
   * Walks the primary keys backwards from the newest segment, so it is cheap however much the
   * stream holds. A node without a checkpoint has nothing in the projection.
   */
  async readProjectionLag(streamId: StreamId): Promise<ProjectionLag> {
    const { rows } = await this.#postgres.query<LagRow>(
      `SELECT count(*)::text AS behind,
         (min(newest.segment_id) >> ${SEGMENT_ID_MS_SHIFT})::float8 AS oldest_ms
       FROM (
         SELECT segment_id FROM stream_segments WHERE stream_id = $1::integer
         ORDER BY segment_id DESC LIMIT $2
       ) AS newest
       LEFT JOIN checkpoints c ON node_id = ${nodeOfSegment('newest.segment_id')}
       WHERE newest.segment_id > COALESCE(${streamMarkSql('c', 'ARRAY[$1::integer]')}, -1)`,
      [streamId, LAG_SEGMENTS_MAX],
    )
    return { segmentsBehind: Number(rows[0]?.behind ?? 0), oldestMs: rows[0]?.oldest_ms ?? null }
  }

  /** Reads the first and last entries of keys. */
  async readSpan(streamId: StreamId): Promise<EventSpan> {
    const { rows } = await this.#postgres.query<{
      readonly oldest: string | null
      readonly newest: string | null
    }>(
      `SELECT ${oldestSql('$1::integer')}::text AS oldest,
         ${newestSql('$1::integer')}::text AS newest`,
      [streamId],
    )
    return { oldestMs: msOf(rows[0]?.oldest), newestMs: msOf(rows[0]?.newest) }
  }

  /** Refused requests of all nodes, the newest reason first. */
  readRefusals(streamId: StreamId): Promise<RefusalCount[]> {
    return this.#readCounts('stream_refusals', streamId)
  }

  /** Rejected events of all nodes, the newest reason first. */
  readRejects(streamId: StreamId): Promise<RefusalCount[]> {
    return this.#readCounts('stream_rejects', streamId)
  }

  async #readCounts(table: CountTable, streamId: StreamId): Promise<RefusalCount[]> {
    const { rows } = await this.#postgres.query<RefusalRow>(
      `SELECT reason, sum(count)::text AS count,
         floor(extract(epoch FROM max(last_at)) * 1000)::float8 AS last_at_ms
       FROM ${table} WHERE stream_id = $1
       GROUP BY reason ORDER BY max(last_at) DESC, reason`,
      [streamId],
    )
    return rows.map((row) => ({
      reason: row.reason,
      count: Number(row.count),
      lastAtMs: row.last_at_ms,
    }))
  }

  /**
   * Adds `deltas` to the counters of `nodeId`. A (stream, reason) pair may occur only once. No two
   * nodes touch the same rows; a node must not run two of these at a time.
   */
  recordRefusals(nodeId: number, deltas: readonly RefusalDelta[]): Promise<void> {
    return this.#recordCounts('stream_refusals', nodeId, deltas)
  }

  /** Like `recordRefusals`, for events that were rejected. */
  recordRejects(nodeId: number, deltas: readonly RefusalDelta[]): Promise<void> {
    return this.#recordCounts('stream_rejects', nodeId, deltas)
  }

  async #recordCounts(
    table: CountTable,
    nodeId: number,
    deltas: readonly RefusalDelta[],
  ): Promise<void> {
    if (deltas.length === 0) return
    await this.#postgres.query(
      `INSERT INTO ${table} AS r (stream_id, node_id, reason, count, last_at)
       SELECT stream_id, $1, reason, count, to_timestamp(last_at_ms / 1000)
       FROM unnest($2::integer[], $3::text[], $4::bigint[], $5::float8[])
         AS d (stream_id, reason, count, last_at_ms)
       ON CONFLICT (stream_id, node_id, reason) DO UPDATE
         SET count = r.count + excluded.count, last_at = GREATEST(r.last_at, excluded.last_at)`,
      [
        nodeId,
        deltas.map((delta) => delta.streamId),
        deltas.map((delta) => delta.reason),
        deltas.map((delta) => delta.count),
        deltas.map((delta) => delta.lastAtMs),
      ],
    )
  }
}

function oldestSql(streamId: string): string {
  return `(SELECT min(segment_id) FROM stream_segments WHERE stream_id = ${streamId})`
}

/**
 * The newest segment of a stream. A merged row is found by its first one, so rows that came late
 * may lie behind it; but merged rows do not overlap, so the last of them has the newest of theirs.
 */
function newestSql(streamId: string): string {
  return `GREATEST(
    (SELECT max(segment_id) FROM stream_segments WHERE stream_id = ${streamId}),
    (SELECT last_segment_id FROM segments WHERE stream_id = ${streamId}
       AND last_segment_id IS NOT NULL ORDER BY segment_id DESC LIMIT 1))`
}

function sumSql(table: CountTable): string {
  return `(SELECT COALESCE(sum(count), 0) FROM ${table} c WHERE c.stream_id = asked.id)::float8`
}

function msOf(segmentId: string | null | undefined): number | null {
  if (segmentId === null || segmentId === undefined) return null
  return segmentIdMs(BigInt(segmentId) as SegmentId)
}

function toOverview(row: OverviewRow): StreamOverview {
  return {
    events: row.events,
    segments: row.segments,
    sentBytes: row.sent,
    storedBytes: row.stored,
    projectionBytes: row.projection_bytes,
    oldestMs: msOf(row.oldest),
    newestMs: msOf(row.newest),
    behindSinceMs: row.behind_ms,
    setAside: row.aside,
    refused: row.refused,
    rejected: row.rejected,
  }
}

type CountTable = 'stream_refusals' | 'stream_rejects'

interface UsageRow {
  readonly events: string
  readonly segments: string
  readonly sent_bytes: string
  readonly stored_bytes: string
}

interface OverviewRow {
  readonly events: number
  readonly segments: number
  readonly sent: number
  readonly stored: number
  readonly projection_bytes: number
  readonly oldest: string | null
  readonly newest: string | null
  readonly behind_ms: number | null
  readonly aside: number
  readonly refused: number
  readonly rejected: number
}

interface LagRow {
  readonly behind: string
  readonly oldest_ms: number | null
}

interface RefusalRow {
  readonly reason: string
  readonly count: string
  readonly last_at_ms: number
}
