/** Each node's checkpoint, and the segments that it has committed since. */
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import type { LiveMark } from '../../model/projection.ts'
import { nodeOfSegment, type SegmentId } from '../../model/segment-id.ts'
import { type LoadedRow, type RowColumns, storedRow } from '../../model/stored-row.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres } from '../postgres.ts'
import { type NodeIdentity, underLease } from '../under-lease.ts'

interface SegmentRow extends RowColumns {
  readonly payload: Uint8Array
}

export class CheckpointStore {
  readonly #postgres: Postgres
  readonly #node: NodeIdentity

  constructor(postgres: Postgres, node: NodeIdentity) {
    this.#postgres = postgres
    this.#node = node
  }

  get #nodeId(): number {
    return this.#node.nodeId
  }

  /** 0 when the node has none. Throws `StoreError`. */
  async read(): Promise<SegmentId> {
    const { rows } = await this.#postgres.query<{ segment_id: string }>(
      'SELECT segment_id FROM checkpoints WHERE node_id = $1',
      [this.#nodeId],
    )
    return BigInt(rows[0]?.segment_id ?? '0') as SegmentId
  }

  /** The newest segment or run that this node has committed, 0 for none. Throws `StoreError`. */
  async readNewest(): Promise<SegmentId> {
    // All runs of a mixed row are the node's; the last segment of a merged row may be another's.
    const { rows } = await this.#postgres.query<{ newest: string }>(
      `SELECT COALESCE(CASE WHEN stream_id = $2 THEN last_segment_id END, segment_id) AS newest
         FROM segments WHERE ${nodeOfSegment('segment_id')} = $1
        ORDER BY segment_id DESC LIMIT 1`,
      [this.#nodeId, MIXED_STREAM],
    )
    return BigInt(rows[0]?.newest ?? '0') as SegmentId
  }

  /** Moves the checkpoint on, never back. Throws `StoreError`: also when the lease is lost. */
  async write(segmentId: SegmentId, live?: LiveMark): Promise<void> {
    const liveId = live ? String(live.segmentId) : null
    await underLease(this.#postgres, this.#node, (client) =>
      client.query(
        `INSERT INTO checkpoints AS c (node_id, segment_id, live_segment_id, behind)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (node_id) DO UPDATE
           SET segment_id = GREATEST(c.segment_id, excluded.segment_id), updated_at = now(),
             live_segment_id = excluded.live_segment_id, behind = excluded.behind`,
        [this.#nodeId, String(segmentId), liveId, live?.behind ?? null],
      ),
    )
  }

  /**
   * This node's segments after `after`, in id order, with their payloads. A merged row belongs to
   * the node of its first member, which then brings in all of it. With `streamId`, only those in
   * rows of that stream, or alone in mixed rows; or all mixed ones. Throws `StoreError`.
   */
  async readAfter(
    after: SegmentId,
    limit: number,
    streamId?: StreamId,
    which: 'own' | 'alone' = 'own',
  ): Promise<LoadedRow[]> {
    if (streamId !== undefined && which === 'alone') return this.#readAlone(after, limit, streamId)
    const { rows } = await this.#postgres.query<SegmentRow>(
      `SELECT stream_id, segment_id, event_count, payload, members FROM segments
        WHERE segment_id > $1 AND ${nodeOfSegment('segment_id')} = $2
          ${streamId === undefined ? '' : 'AND stream_id = $4'}
        ORDER BY segment_id LIMIT $3`,
      [String(after), this.#nodeId, limit, ...(streamId === undefined ? [] : [streamId])],
    )
    return rows.map(toLoadedRow)
  }

  async #readAlone(after: SegmentId, limit: number, streamId: StreamId): Promise<LoadedRow[]> {
    const { rows } = await this.#postgres.query<SegmentRow>(
      `SELECT s.stream_id, s.segment_id, s.event_count, s.payload, s.members
         FROM segment_runs r
         JOIN segments s ON s.stream_id = ${MIXED_STREAM} AND s.segment_id = r.row_id
        WHERE r.stream_id = $4 AND r.segment_id > $1 AND ${nodeOfSegment('r.segment_id')} = $2
          AND r.row_id = r.segment_id AND s.last_segment_id = s.segment_id
        ORDER BY r.segment_id LIMIT $3`,
      [String(after), this.#nodeId, limit, streamId],
    )
    return rows.map(toLoadedRow)
  }
}

function toLoadedRow(row: SegmentRow): LoadedRow {
  return { ...storedRow(row), payload: row.payload }
}
