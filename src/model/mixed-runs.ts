/**
 * Mixed segments: events of several streams in one payload, one run per stream. Many small batches
 * then cost one row of the raw store and one block, not one each.
 *
 * A run is a segment of its stream, with an id of its own. So an event's id does not show that its
 * segment is mixed, and does not change when compaction moves the run to a row of its stream.
 */
import type { SegmentId } from './segment-id.ts'
import type { StreamId } from './stream.ts'

/** The stream number of mixed rows in `segments`. No stream has this number. */
export const MIXED_STREAM = 0 as StreamId

export interface MixedRun {
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  readonly eventCount: number
}

/** A run as it is stored: a segment of its stream. */
export interface SegmentRun extends MixedRun {
  /** Bytes of its events as JSON, and as they were sent. */
  readonly rawBytes: number
  readonly sentBytes: number
  /** The run's share of the payload. */
  readonly storedBytes: number
}
