/** Where a stream's segments are: in which row of the raw store, and which of its events. */
import type { SegmentId } from './segment-id.ts'

export interface SegmentInfo {
  readonly segmentId: SegmentId
  readonly eventCount: number
  /** Bytes of its events as sent; within a merged row its share of them. */
  readonly rawBytes: number
  /** Where its events are; without it, they are a row of their own from the first event on. */
  readonly place?: SegmentPlace
}

export interface SegmentPlace {
  readonly row: SegmentId
  /** The row holds several streams' segments, and never changes. */
  readonly isMixed: boolean
  /**
   * Events of the row. One of the same id with another count is another row, merged since.
   * Undefined for a mixed row.
   */
  readonly rowEventCount: number | undefined
  /** Events of the row before the segment's first. */
  readonly firstEvent: number
}

/** Tells the rows of a stream's segments apart. */
export function rowKeyText({ row, isMixed }: Pick<SegmentPlace, 'row' | 'isMixed'>): string {
  return isMixed ? `mixed ${row}` : String(row)
}

export function placeOf({ segmentId, eventCount, place }: SegmentInfo): SegmentPlace {
  if (place !== undefined) return place
  return { row: segmentId, isMixed: false, rowEventCount: eventCount, firstEvent: 0 }
}
