/** Rows that compaction merges or splits, in the worker's own session. */
import type { SegmentId } from '../../model/segment-id.ts'
import { type RowColumns, type SizedRow, storedRow } from '../../model/stored-row.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Queryable } from '../postgres.ts'

export interface SizedColumns extends RowColumns {
  readonly raw_bytes: number
  readonly payload_bytes: number
}

/** Of `segments`. */
export const SIZED_COLUMNS =
  'stream_id, segment_id, event_count, members, raw_bytes, octet_length(payload) AS payload_bytes'

export function sizedRow(row: SizedColumns): SizedRow {
  return { ...storedRow(row), rawBytes: row.raw_bytes, payloadBytes: row.payload_bytes }
}

/** Payloads in the order of `rowIds`; undefined when one of these rows no longer exists. */
export async function readRowPayloads(
  session: Queryable,
  streamId: StreamId,
  rowIds: readonly SegmentId[],
): Promise<Uint8Array[] | undefined> {
  const { rows } = await session.query<{ segment_id: string; payload: Uint8Array }>(
    `SELECT segment_id, payload FROM segments
     WHERE stream_id = $1 AND segment_id = ANY ($2::bigint[])`,
    [streamId, rowIds.map(String)],
  )
  const byId = new Map(rows.map((row) => [row.segment_id, row.payload]))
  const payloads = rowIds.map((id) => byId.get(String(id)))
  return payloads.every((payload) => payload !== undefined) ? payloads : undefined
}
