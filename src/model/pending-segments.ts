/**
 * Segments that are in the raw store and perhaps not yet in the projection, as search knows them:
 * those past their node's checkpoint, and those that were set aside.
 */
import type { SegmentId } from './segment-id.ts'
import type { StreamId } from './stream.ts'

/** Segments with `start <= id < end`. */
export interface IdRange {
  readonly start: bigint
  readonly end: bigint
}

export interface SegmentKey {
  readonly streamId: StreamId
  readonly segmentId: SegmentId
}

export interface PendingSegment extends SegmentKey {
  /** 0 where it is not known. */
  readonly eventCount: number
}

export interface PendingList {
  /** In reading order, within `complete`. */
  readonly segments: readonly PendingSegment[]
  /** The part of the range in which none is missing; it begins where reading does. */
  readonly complete: IdRange
  /** Behind this id every segment is pending: the projection has nothing that is not listed. */
  readonly passedMax: SegmentId
}

/** Where a range of some streams has segments, and how dense they are where reading begins. */
export interface SegmentExtent extends IdRange {
  readonly eventsPerMs: number
}

/** A segment with the payload that its events are in. */
export interface FoundSegment extends SegmentKey {
  readonly eventCount: number
  readonly payload: Uint8Array
  /** Events of the payload before the segment's first. */
  readonly firstEvent: number
}
