/** Where a stream's segments are: the row of the raw store, and the events within the row. */
import type { SegmentId } from './segment-id.ts'
import type { StreamId } from './stream.ts'

export interface SegmentInfo {
  readonly segmentId: SegmentId
  readonly eventCount: number
  /** Bytes of its events as sent; within a merged row, its share of the row's bytes. */
  readonly rawBytes: number
  /** Where its events are; if absent, the segment has a row of its own. */
  readonly place?: SegmentPlace
}

export interface SegmentPlace {
  readonly row: SegmentId
  /** The row holds several streams' segments, and never changes. */
  readonly isMixed: boolean
  /**
   * Events of the row. A row of the same id with another count is another row, merged since.
   * Undefined for a mixed row.
   */
  readonly rowEventCount: number | undefined
  /** Events of the row before the segment's first. */
  readonly firstEvent: number
}

/** A key for the rows of a stream's segments. */
export function rowKeyText({ row, isMixed }: Pick<SegmentPlace, 'row' | 'isMixed'>): string {
  return isMixed ? `mixed ${row}` : String(row)
}

export function placeOf({ segmentId, eventCount, place }: SegmentInfo): SegmentPlace {
  if (place !== undefined) return place
  return { row: segmentId, isMixed: false, rowEventCount: eventCount, firstEvent: 0 }
}

/** A committed segment of a stream: a row of its own, or a run in a mixed one. */
export interface CommittedEntry {
  readonly node: number
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  readonly eventCount: number
  readonly place: SegmentPlace
}

/** The segments of a row; `runs` are those of a mixed one. */
export function entriesOfRow(
  node: number,
  row: {
    readonly streamId: StreamId
    readonly segmentId: SegmentId
    readonly eventCount: number
    readonly runs?: readonly Pick<CommittedEntry, 'streamId' | 'segmentId' | 'eventCount'>[]
  },
): CommittedEntry[] {
  const { streamId, segmentId, eventCount, runs } = row
  if (runs === undefined) {
    const place = { row: segmentId, isMixed: false, rowEventCount: eventCount, firstEvent: 0 }
    return [{ node, streamId, segmentId, eventCount, place }]
  }
  let events = 0
  return runs.map((run) => {
    const firstEvent = events
    events += run.eventCount
    const place = { row: segmentId, isMixed: true, rowEventCount: undefined, firstEvent }
    const { streamId: of, segmentId: id, eventCount: count } = run
    return { node, streamId: of, segmentId: id, eventCount: count, place }
  })
}

/** Segments with `start <= id < end`. */
export interface IdRange {
  readonly start: bigint
  readonly end: bigint
}

/** For each node, the segment up to which something was done with all of its segments. */
export type NodeMarks = ReadonlyMap<number, SegmentId>

/** Whether `marks` are at least as far as `others` on every node. */
export function coversMarks(marks: NodeMarks, others: NodeMarks): boolean {
  return [...others].every(([nodeId, segmentId]) => (marks.get(nodeId) ?? 0n) >= segmentId)
}

/** How far all of them have come: the least mark of each node. */
export function leastMarks(all: readonly NodeMarks[]): NodeMarks {
  const nodes = new Set(all.flatMap((marks) => [...marks.keys()]))
  const least = (nodeId: number) => {
    const ids = all.map((marks) => marks.get(nodeId) ?? (0n as SegmentId))
    return ids.toSorted((a, b) => (a < b ? -1 : 1))[0]!
  }
  return new Map([...nodes].map((nodeId) => [nodeId, least(nodeId)]))
}

export interface SegmentKey {
  readonly streamId: StreamId
  readonly segmentId: SegmentId
}

/**
 * A segment that is in the raw store and perhaps not in the projection: past its node's checkpoint,
 * or set aside.
 */
export interface PendingSegment extends SegmentKey {
  /** 0 if unknown. */
  readonly eventCount: number
}

export interface PendingList {
  /** In reading order, within `complete`. */
  readonly segments: readonly PendingSegment[]
  /** The part of the range that is listed completely; it begins where reading does. */
  readonly complete: IdRange
  /** Up to these, unlisted segments are in the projection; beyond them all are pending. */
  readonly projected: NodeMarks
}

/** Where a range of some streams has segments, and how dense they are where reading begins. */
export interface SegmentExtent extends IdRange {
  /** Where reading begins, 0 if unknown; and the mean size there, in bytes of JSON. */
  readonly eventsPerMs: number
  readonly eventBytes: number
}

/** A segment with the payload that its events are in. */
export interface FoundSegment extends SegmentKey {
  readonly eventCount: number
  readonly payload: Uint8Array
  /** Events of the payload before the segment's first. */
  readonly firstEvent: number
  /** Mean size of the payload's events, in bytes of JSON. */
  readonly eventBytes: number
}
