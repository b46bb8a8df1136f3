import type { SegmentId } from './segment-id.ts'
import type { StreamId } from './stream.ts'

/** Columns of a projection table, in the order of its Native blocks. */
export const PROJECTION_COLUMNS = [
  ['segment_id', 'UInt64'],
  ['ordinal', 'UInt32'],
  ['ingested_at', "DateTime64(3, 'UTC')"],
  ['event_time', "DateTime64(9, 'UTC')"],
  ['shape', 'UInt64'],
  ['payload', 'JSON(max_dynamic_paths=1024)'],
] as const

/** Of the table that small streams share: `events_0`, for `MIXED_STREAM`. */
export const MIXED_PROJECTION_COLUMNS = [['stream_id', 'UInt32'], ...PROJECTION_COLUMNS] as const

/** A Native block without the column `stream_id`, and whose its rows are. */
export interface MixedBlock {
  readonly bytes: Uint8Array
  /** In the order of the rows; all of them. */
  readonly rows: readonly StreamRows[]
}

export interface StreamRows {
  readonly streamId: StreamId
  readonly count: number
}

/** A segment of a stream; ids are unique over all streams. */
export interface StreamSegment {
  readonly streamId: StreamId
  readonly segmentId: SegmentId
}
