/**
 * What merging and splitting have in common: they work through windows of time one after another,
 * and touch only segments that no follower of their node needs any more. Pure.
 */
import { COMPACT_WINDOW_MS } from '../limits.ts'
import { type SegmentId, segmentIdMs, segmentIdNode } from '../model/segment-id.ts'

export interface PlanOptions {
  /** By node. Without an entry, no follower has passed any of its segments. */
  readonly checkpoints: ReadonlyMap<number, SegmentId>
  /** Rows below it do not wait for a checkpoint any more: they are passed by. */
  readonly waitedBefore: bigint
  /** There are more rows after these, so a run at the end may continue. */
  readonly hasMore: boolean
}

/** Which window of time a segment belongs to. */
export function windowOf(id: SegmentId): number {
  return Math.floor(segmentIdMs(id) / COMPACT_WINDOW_MS)
}

/** Whether all followers of the node have passed `last`, the newest segment of a row. */
export function isPassed(last: SegmentId, { checkpoints }: Pick<PlanOptions, 'checkpoints'>) {
  const checkpoint = checkpoints.get(segmentIdNode(last))
  return checkpoint !== undefined && last <= checkpoint
}
