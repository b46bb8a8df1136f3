/**
 * Segments that could not be brought into the projection, each under its stream and its own id,
 * because compaction may merge or split the rows that hold them. The node that set one aside also
 * retries it, as only its own inserts could still be under way; or whoever does its work.
 */
import { SEGMENT_EVENTS_MAX } from '../../limits.ts'
import type { StreamSegment } from '../../model/projection.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import type { LoadedRow } from '../../model/stored-row.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres } from '../postgres.ts'
import { type NodeIdentity, underLease } from '../under-lease.ts'
import { EventStore } from './event-store.ts'

/** Segments set aside that are tried again at a time. */
export const SET_ASIDE_RETRY_SEGMENTS_MAX = 16

export interface SetAsideSegment extends StreamSegment {
  /** Holds no event contents. */
  readonly reason: string
  readonly tries: number
}

export interface SetAsideCounts {
  readonly segments: number
  /** Those of them that somebody asked to try again. */
  readonly retries: number
}

export interface SetAsideReason {
  readonly reason: string
  readonly count: number
  readonly lastAtMs: number
}

export class SetAsideStore {
  readonly #postgres: Postgres
  readonly #events: EventStore

  constructor(postgres: Postgres) {
    this.#postgres = postgres
    this.#events = new EventStore(postgres)
  }

  /** Durable when it resolves. What retention removed meanwhile is left out. */
  async record(node: NodeIdentity, segments: readonly SetAsideSegment[]): Promise<void> {
    await underLease(this.#postgres, node, (client) =>
      client.query(
        `INSERT INTO set_aside_segments AS a (stream_id, segment_id, node_id, reason, tries)
         SELECT stream_id, segment_id, $1, reason, tries
         FROM unnest($2::integer[], $3::bigint[], $4::text[], $5::integer[])
           AS n (stream_id, segment_id, reason, tries)
         WHERE segment_id >= COALESCE((SELECT removed_before FROM stream_storage m
                                       WHERE m.stream_id = n.stream_id), 0)
         ON CONFLICT (stream_id, segment_id) DO UPDATE SET node_id = excluded.node_id,
           reason = excluded.reason, tries = a.tries + excluded.tries,
           set_aside_at = now(), retry = false`,
        [
          node.nodeId,
          segments.map(({ streamId }) => streamId),
          segments.map(({ segmentId }) => String(segmentId)),
          segments.map(({ reason }) => reason),
          segments.map(({ tries }) => tries),
        ],
      ),
    )
  }

  /** Those past the node's checkpoint are retried anyway: a crash came before it moved. */
  async forgetAfter(node: NodeIdentity, checkpoint: SegmentId): Promise<void> {
    await underLease(this.#postgres, node, (client) =>
      client.query('DELETE FROM set_aside_segments WHERE node_id = $1 AND segment_id > $2', [
        node.nodeId,
        String(checkpoint),
      ]),
    )
  }

  async count(nodeId: number): Promise<SetAsideCounts> {
    const { rows } = await this.#postgres.query<SetAsideCounts>(
      `SELECT count(*)::integer AS segments, (count(*) FILTER (WHERE retry))::integer AS retries
       FROM set_aside_segments WHERE node_id = $1`,
      [nodeId],
    )
    return rows[0] ?? { segments: 0, retries: 0 }
  }

  /** Asks the nodes that set segments of the stream aside to try them again; returns how many. */
  async askToRetry(streamId: StreamId): Promise<number> {
    const { rowCount } = await this.#postgres.query(
      'UPDATE set_aside_segments SET retry = true WHERE stream_id = $1',
      [streamId],
    )
    return rowCount
  }

  /**
   * Segments that the node is asked to try again, each as if it had its row for itself. Forgets
   * those that are gone.
   */
  async readRetries(nodeId: number): Promise<LoadedRow[]> {
    const { rows } = await this.#postgres.query<KeyRow>(
      `SELECT stream_id, segment_id FROM set_aside_segments WHERE node_id = $1 AND retry
       ORDER BY segment_id LIMIT $2`,
      [nodeId, SET_ASIDE_RETRY_SEGMENTS_MAX],
    )
    const keys = rows.map((row) => {
      return { streamId: row.stream_id as StreamId, segmentId: BigInt(row.segment_id) as SegmentId }
    })
    const found = await this.#events.readPayloads(keys)
    const gone = keys.filter(({ segmentId }) => !found.has(segmentId))
    if (gone.length > 0) await this.remove(gone)
    // How many events the payload has matters only to how much is done at a time.
    return keys.flatMap((key) => {
      const segment = found.get(key.segmentId)
      if (segment === undefined) return []
      const { payload } = segment
      return [{ ...key, eventCount: SEGMENT_EVENTS_MAX, segments: [segment], payload }]
    })
  }

  /** They are in the projection now, or gone. */
  async remove(segments: readonly StreamSegment[]) {
    await this.#postgres.query(
      `DELETE FROM set_aside_segments a USING unnest($1::integer[], $2::bigint[])
         AS n (stream_id, segment_id)
       WHERE a.stream_id = n.stream_id AND a.segment_id = n.segment_id`,
      [
        segments.map(({ streamId }) => streamId),
        segments.map(({ segmentId }) => String(segmentId)),
      ],
    )
  }

  /** Those of a stream, of all nodes, by reason. */
  async readReasons(streamId: StreamId): Promise<SetAsideReason[]> {
    const { rows } = await this.#postgres.query<ReasonRow>(
      `SELECT reason, count(*)::integer AS count,
         floor(extract(epoch FROM max(set_aside_at)) * 1000)::float8 AS last_at_ms
       FROM set_aside_segments a WHERE stream_id = $1 AND segment_id >= COALESCE(
         (SELECT removed_before FROM stream_storage m WHERE m.stream_id = a.stream_id), 0)
       GROUP BY reason ORDER BY max(set_aside_at) DESC, reason`,
      [streamId],
    )
    return rows.map(({ reason, count, last_at_ms }) => ({ reason, count, lastAtMs: last_at_ms }))
  }
}

interface KeyRow {
  readonly stream_id: number
  readonly segment_id: string
}

interface ReasonRow {
  readonly reason: string
  readonly count: number
  readonly last_at_ms: number
}
