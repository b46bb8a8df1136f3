/**
 * Compaction's SQL. Replacing rows by the one they were merged into is a single statement, so a
 * reader sees either the old rows or the new one; and it counts what it deletes, so rows that
 * retention removed in the meantime do not come back.
 */
import type { SegmentId } from '../../model/segment-id.ts'
import { encodeMembers, type SizedRow } from '../../model/stored-row.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Queryable } from '../postgres.ts'
import { readRowPayloads, SIZED_COLUMNS, type SizedColumns, sizedRow } from './sized-rows.ts'
import { REMOVED_NODE_ID } from './storage-sql.ts'

export interface CompactableStream {
  readonly streamId: StreamId
  /** Compaction has been through everything below. */
  readonly from: SegmentId
}

export interface MergedRow {
  readonly eventCount: number
  readonly rawBytes: number
  readonly payload: Uint8Array
}

/**
 * The checkpoints that must have passed a row before it may be merged, each a table with `node_id`
 * and `segment_id`. Every follower with a checkpoint of its own must be listed here, because it
 * reads rows past its checkpoint by the node in their id.
 */
export const CHECKPOINT_TABLES: readonly string[] = ['checkpoints', 'observe_checkpoints']

const UNFLUSHED = `(SELECT set_config('synchronous_commit', 'off', true))`

export class CompactionStore {
  readonly #session: Queryable

  constructor(session: Queryable) {
    this.#session = session
  }

  /** For each node, the lowest checkpoint of all followers of its segments. */
  async readCheckpoints(): Promise<Map<number, SegmentId>> {
    const each = CHECKPOINT_TABLES.map((table) => `SELECT node_id, segment_id FROM ${table}`)
    const { rows } = await this.#session.query<{ node_id: number; segment_id: string }>(
      `SELECT node_id, min(segment_id)::text AS segment_id
       FROM (${each.join(' UNION ALL ')}) AS each
       GROUP BY node_id HAVING count(*) = $1`,
      [CHECKPOINT_TABLES.length],
    )
    return new Map(rows.map((row) => [row.node_id, BigInt(row.segment_id) as SegmentId]))
  }

  /**
   * Streams with rows below `before` that compaction has not been through. A stream that has rows
   * has counters too; the mark of a deleted stream is above all of its rows.
   */
  async listStreams(before: bigint, limit: number): Promise<CompactableStream[]> {
    const { rows } = await this.#session.query<{ stream_id: number; from_id: string }>(
      `SELECT stream_id, from_id::text FROM (
         SELECT s.stream_id,
           GREATEST(COALESCE(m.compacted_before, 0), COALESCE(m.removed_before, 0)) AS from_id
         FROM (SELECT DISTINCT stream_id FROM stream_usage) AS s
           LEFT JOIN stream_storage m ON m.stream_id = s.stream_id
       ) AS streams
       WHERE EXISTS (SELECT 1 FROM segments g WHERE g.stream_id = streams.stream_id
                     AND g.segment_id >= from_id AND g.segment_id < $1)
       ORDER BY from_id LIMIT $2`,
      [String(before), limit],
    )
    return rows.map((row) => ({
      streamId: row.stream_id as StreamId,
      from: BigInt(row.from_id) as SegmentId,
    }))
  }

  /** Rows with `from <= id < before`, in id order. */
  async listRows(
    streamId: StreamId,
    range: { readonly from: bigint; readonly before: bigint; readonly limit: number },
  ): Promise<SizedRow[]> {
    const { rows } = await this.#session.query<SizedColumns>(
      `SELECT ${SIZED_COLUMNS} FROM segments
       WHERE stream_id = $1 AND segment_id >= $2 AND segment_id < $3 ORDER BY segment_id LIMIT $4`,
      [streamId, String(range.from), String(range.before), range.limit],
    )
    return rows.map(sizedRow)
  }

  /** Payloads in the order of `rows`; undefined when one of them no longer exists. */
  readPayloads(streamId: StreamId, rows: readonly SizedRow[]): Promise<Uint8Array[] | undefined> {
    const ids = rows.map(({ segmentId }) => segmentId)
    return readRowPayloads(this.#session, streamId, ids)
  }

  /** Replaces `rows` by `merged`; does nothing and returns false when they have changed. */
  async replace(
    streamId: StreamId,
    rows: readonly SizedRow[],
    merged: MergedRow,
  ): Promise<boolean> {
    const [first] = rows
    if (first === undefined) return false
    const segments = rows.flatMap((row) => row.segments)
    const payloadBytes = rows.reduce((sum, row) => sum + row.payloadBytes, 0)
    // Data-modifying parts of one statement see the same snapshot: the INSERT would meet the first
    // row's key, so that row is changed in place and the others are deleted.
    const { rows: result } = await this.#session.query<{ done: boolean }>(
      `WITH found AS (
         SELECT segment_id, event_count, sent_bytes FROM segments
         WHERE stream_id = $1 AND segment_id = ANY ($2::bigint[]) FOR UPDATE
       ), same AS (
         SELECT count(*) = cardinality($2::bigint[]) AND sum(event_count) = $3::integer AS done,
           sum(sent_bytes) AS sent_bytes FROM found
       ), others AS (
         DELETE FROM segments USING same WHERE done AND stream_id = $1
           AND segment_id = ANY ($2::bigint[]) AND segment_id <> $4::bigint
       ), merged AS (
         UPDATE segments SET last_segment_id = $5::bigint, event_count = $3::integer,
           raw_bytes = $6::integer, sent_bytes = same.sent_bytes, payload = $7::bytea,
           members = $8::bytea
         FROM same WHERE done AND stream_id = $1 AND segment_id = $4::bigint
       ), counted AS (
         INSERT INTO stream_usage AS u
           (stream_id, node_id, segment_count, event_count, sent_bytes, stored_bytes)
         SELECT $1, ${REMOVED_NODE_ID}, 1 - cardinality($2::bigint[]), 0, 0, $9::bigint
         FROM same WHERE done
         ON CONFLICT (stream_id, node_id) DO UPDATE SET
           segment_count = u.segment_count + excluded.segment_count,
           stored_bytes = u.stored_bytes + excluded.stored_bytes
       )
       SELECT COALESCE(done, false) AS done, ${UNFLUSHED} FROM same`,
      [
        streamId,
        rows.map((row) => String(row.segmentId)),
        merged.eventCount,
        String(first.segmentId),
        String(segments.at(-1)!.segmentId),
        merged.rawBytes,
        merged.payload,
        encodeMembers(streamId, segments),
        merged.payload.length - payloadBytes,
      ],
    )
    return result[0]?.done === true
  }

  /** Records that compaction has been through everything below `before`. */
  async moveOn(streamId: StreamId, before: bigint): Promise<void> {
    await this.#session.query(
      `INSERT INTO stream_storage AS m (stream_id, compacted_before) VALUES ($1, $2)
       ON CONFLICT (stream_id) DO UPDATE
         SET compacted_before = GREATEST(m.compacted_before, excluded.compacted_before)
       RETURNING ${UNFLUSHED}`,
      [streamId, String(before)],
    )
  }
}
