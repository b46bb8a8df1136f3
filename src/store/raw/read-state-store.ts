/**
 * What a reader of the projection has to know before it reads: the streams' marks, and up to which
 * receipt time the projection has all of their events. One round trip.
 */
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import { nodeOfSegment, SEGMENT_ID_MS_SHIFT, type SegmentId } from '../../model/segment-id.ts'
import type { NodeMarks } from '../../model/segment-place.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres } from '../postgres.ts'
import { streamMarkSql } from './stream-mark.ts'

export interface ReadState {
  /** Segments below it are removed, though their rows may still be there; 0 for none. */
  removedBefore(streamId: StreamId): SegmentId
  /**
   * Every event acknowledged before this time is in the projection; in milliseconds since 1970.
   * Never later than the time of the question.
   */
  readonly asOfMs: number
  /** The same to the segment, of each node's own. */
  readonly projected: NodeMarks
}

const NO_STATE = { marks: null, behind_ms: null, projected: null }
/** Segments past a node's mark that are searched for those of the streams. */
const BEHIND_MAX = 1_000
const MARK = streamMarkSql('c', '$1::integer[]')

/**
 * The first of the segments past a node's mark that may be of one of the streams. The index
 * `segments_by_node` finds them, so the cost is that of the backlog, which is mostly empty.
 */
const STATE_SQL = `SELECT
  (SELECT json_agg(json_build_array(node_id, COALESCE(${MARK}, 0)::text))
    FROM nodes LEFT JOIN checkpoints c USING (node_id)) AS projected,
  (SELECT json_object_agg(stream_id, removed_before::text) FROM stream_storage
    WHERE stream_id = ANY ($1::integer[])) AS marks,
  (SELECT min(CASE WHEN behind.stream_id = ANY ($1::integer[]) OR behind.stream_id = ${MIXED_STREAM}
                     OR place = ${BEHIND_MAX} THEN behind.segment_id END) >> ${SEGMENT_ID_MS_SHIFT}
    FROM nodes LEFT JOIN checkpoints c USING (node_id)
    CROSS JOIN LATERAL (
      SELECT segments.stream_id, segments.segment_id,
        row_number() OVER (ORDER BY segments.segment_id) AS place
      FROM segments
      WHERE ${nodeOfSegment('segments.segment_id')} = nodes.node_id
        AND segments.segment_id > COALESCE(${MARK}, -1)
      ORDER BY segments.segment_id LIMIT ${BEHIND_MAX}
    ) AS behind)::float8 AS behind_ms`

export class ReadStateStore {
  readonly #postgres: Postgres
  readonly #nowMs: () => number

  constructor(postgres: Postgres, nowMs: () => number = Date.now) {
    this.#postgres = postgres
    this.#nowMs = nowMs
  }

  /** Throws `StoreError`. */
  async read(streamIds: readonly StreamId[]): Promise<ReadState> {
    const nowMs = this.#nowMs()
    const { rows } = await this.#postgres.queryOften<{
      readonly marks: Readonly<Record<string, string>> | null
      readonly behind_ms: number | null
      readonly projected: readonly (readonly [number, string])[] | null
    }>('read_state', STATE_SQL, [streamIds])
    const { marks, behind_ms: behindMs, projected } = rows[0] ?? NO_STATE
    return {
      removedBefore: (streamId) => BigInt(marks?.[streamId] ?? '0') as SegmentId,
      asOfMs: Math.min(nowMs, behindMs ?? nowMs),
      projected: new Map(projected?.map(([nodeId, id]) => [nodeId, BigInt(id) as SegmentId])),
    }
  }
}
