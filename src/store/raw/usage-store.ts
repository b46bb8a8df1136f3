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

/** How many of a stream's newest segments are looked at to tell how far its projection lags. */
export const LAG_SEGMENTS_MAX = 10_000

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
         (SELECT max(segment_id) FROM stream_segments
           WHERE stream_segments.stream_id = asked.id)::text AS newest
       FROM unnest($1::integer[]) WITH ORDINALITY AS asked (id, place) ORDER BY place`,
      [streamIds],
    )
    return rows.map(({ events, newest }) => ({
      events,
      newestMs: newest === null ? null : segmentIdMs(BigInt(newest) as SegmentId),
    }))
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

  /** Reads the first and last entries of the primary keys. */
  async readSpan(streamId: StreamId): Promise<EventSpan> {
    const { rows } = await this.#postgres.query<{
      readonly oldest: string | null
      readonly newest: string | null
    }>(
      `SELECT min(segment_id)::text AS oldest, max(segment_id)::text AS newest
       FROM stream_segments WHERE stream_id = $1`,
      [streamId],
    )
    const toMs = (id: string | null | undefined) => {
      return id === null || id === undefined ? null : segmentIdMs(BigInt(id) as SegmentId)
    }
    return { oldestMs: toMs(rows[0]?.oldest), newestMs: toMs(rows[0]?.newest) }
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

type CountTable = 'stream_refusals' | 'stream_rejects'

interface UsageRow {
  readonly events: string
  readonly segments: string
  readonly sent_bytes: string
  readonly stored_bytes: string
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
