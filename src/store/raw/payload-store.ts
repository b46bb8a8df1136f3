/**
 * Payloads by segment ids. Which row holds a segment and that row's payload come from one
 * statement, so from one snapshot: compaction cannot merge a row between two reads.
 */
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import { decodeMembers } from '../../model/segment-members.ts'
import type { FoundSegment, SegmentKey } from '../../model/segment-place.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres } from '../postgres.ts'
import { ROW_SPAN } from './event-store.ts'

export class PayloadStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /**
   * By segment id. Segments that retention has removed, or that are of another stream, are absent.
   * Those in one row share its payload. Throws `StoreError`.
   */
  async read(keys: readonly SegmentKey[]): Promise<Map<SegmentId, FoundSegment>> {
    if (keys.length === 0) return new Map()
    const { rows } = await this.#postgres.query<FoundRow>(SQL, [
      keys.map(({ streamId }) => streamId),
      keys.map(({ segmentId }) => String(segmentId)),
    ])
    const found = new Map<SegmentId, FoundSegment>()
    for (const row of rows) {
      const { payload } = row
      for (const [index, id] of row.wanted_ids.entries()) {
        const segmentId = BigInt(id) as SegmentId
        const streamId = row.wanted_streams[index] as StreamId
        const place = placeIn(row, index, segmentId)
        if (place === undefined) continue
        const eventBytes = row.raw_bytes / Math.max(1, row.event_count)
        found.set(segmentId, { streamId, segmentId, payload, eventBytes, ...place })
      }
    }
    return found
  }
}

interface FoundRow {
  readonly stream_id: number
  readonly segment_id: string
  readonly event_count: number
  readonly raw_bytes: number
  readonly members: Uint8Array | null
  readonly payload: Uint8Array
  /** The segments that were asked for; for a mixed row also where their events are. */
  readonly wanted_streams: readonly number[]
  readonly wanted_ids: readonly string[]
  readonly firsts: readonly number[]
  readonly counts: readonly number[]
}

interface PlaceInRow {
  readonly firstEvent: number
  readonly eventCount: number
}

/** Undefined when a merged row that reaches over the segment does not hold it. */
function placeIn(row: FoundRow, index: number, segmentId: SegmentId): PlaceInRow | undefined {
  if (row.stream_id === MIXED_STREAM) {
    return { firstEvent: row.firsts[index]!, eventCount: row.counts[index]! }
  }
  const first = BigInt(row.segment_id) as SegmentId
  if (row.members === null) {
    return first === segmentId ? { firstEvent: 0, eventCount: row.event_count } : undefined
  }
  let firstEvent = 0
  for (const member of decodeMembers(row.members, first)) {
    if (member.segmentId === segmentId) return { firstEvent, eventCount: member.eventCount }
    firstEvent += member.eventCount
  }
  return undefined
}

const SQL = `
  WITH wanted AS (
    SELECT w.stream_id, w.segment_id
    FROM unnest($1::integer[], $2::bigint[]) AS w (stream_id, segment_id)
    LEFT JOIN stream_storage st ON st.stream_id = w.stream_id
    WHERE w.segment_id >= COALESCE(st.removed_before, 0)
  ), places AS (
    SELECT w.stream_id AS wanted_stream, w.segment_id AS wanted_id, s.stream_id, s.segment_id,
      0 AS first, 0 AS count
    FROM wanted w JOIN segments s ON s.stream_id = w.stream_id AND s.segment_id = w.segment_id
    UNION ALL
    SELECT w.stream_id, w.segment_id, s.stream_id, s.segment_id, 0, 0
    FROM wanted w JOIN segments s ON s.stream_id = w.stream_id
      AND s.last_segment_id IS NOT NULL AND s.segment_id < w.segment_id
      AND s.segment_id >= w.segment_id - ${ROW_SPAN} AND s.last_segment_id >= w.segment_id
    UNION ALL
    SELECT w.stream_id, w.segment_id, ${MIXED_STREAM}, r.row_id, r.first_event, r.event_count
    FROM wanted w JOIN segment_runs r ON r.stream_id = w.stream_id AND r.segment_id = w.segment_id
  ), grouped AS (
    SELECT stream_id, segment_id, array_agg(wanted_stream) AS wanted_streams,
      array_agg(wanted_id::text) AS wanted_ids, array_agg(first) AS firsts,
      array_agg(count) AS counts
    FROM places GROUP BY stream_id, segment_id
  )
  SELECT g.*, s.event_count, s.raw_bytes, s.members, s.payload
  FROM grouped g JOIN segments s ON s.stream_id = g.stream_id AND s.segment_id = g.segment_id`
