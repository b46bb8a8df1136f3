/** Segments of streams as readers list them, and how far nodes have got with theirs. */
import type { StreamSegment } from './projection.ts'
import type { SegmentId } from './segment-id.ts'
import type { RowSegment } from './stored-row.ts'

export interface SegmentInfo {
  readonly segmentId: SegmentId
  readonly eventCount: number
  /** Bytes of its events as sent; within a merged row, its share of the row's bytes. */
  readonly rawBytes: number
}

/** A committed segment of a stream, and the node that its row is of. */
export interface CommittedEntry extends RowSegment {
  readonly node: number
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

/**
 * A segment that is in the raw store and perhaps not in the projection: past its node's checkpoint,
 * or set aside.
 */
export interface PendingSegment extends StreamSegment {
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
