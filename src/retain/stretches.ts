/**
 * What merging and splitting go by alike: the stretches of time that are dealt with one after
 * another, and the segments that nobody who follows their node needs any more. Pure.
 */
import { COMPACT_WINDOW_MS } from '../limits.ts'
import { type SegmentId, segmentIdMs, segmentIdNode } from '../model/segment-id.ts'

export interface PlanOptions {
  /** By node; one without an entry has been followed nowhere. */
  readonly checkpoints: ReadonlyMap<number, SegmentId>
  /** Rows below it do not wait for a checkpoint any more: they are passed by. */
  readonly waitedBefore: bigint
  /** More rows follow behind these: a run at the end may go on. */
  readonly hasMore: boolean
}

/** Which stretch of time a segment belongs to. */
export function windowOf(id: SegmentId): number {
  return Math.floor(segmentIdMs(id) / COMPACT_WINDOW_MS)
}

/** Everybody who follows the node's segments has been past `last`, the newest of a row. */
export function isPassed(last: SegmentId, { checkpoints }: Pick<PlanOptions, 'checkpoints'>) {
  const checkpoint = checkpoints.get(segmentIdNode(last))
  return checkpoint !== undefined && last <= checkpoint
}
