/**
 * Which rows of a stream are merged: runs of small neighbours from one stretch of time. Pure.
 *
 * A merged row holds only segments that everybody who follows a node's segments has passed, and
 * rows in it do not overlap: what lies between two members is a member too.
 */
import {
  COMPACT_BYTES_MAX,
  COMPACT_MEMBERS_MAX,
  COMPACT_SMALL_BYTES_MAX,
  COMPACT_SMALL_EVENTS_MAX,
  COMPACT_WINDOW_MS,
  SEGMENT_EVENTS_MAX,
} from '../limits.ts'
import { type SegmentId, segmentIdMs, segmentIdNode } from '../model/segment-id.ts'
import type { RowInfo } from '../store/compaction-store.ts'

export interface PlanOptions {
  /** By node; one without an entry has been followed nowhere. */
  readonly checkpoints: ReadonlyMap<number, SegmentId>
  /** Rows below it do not wait for a checkpoint any more: they are passed by. */
  readonly waitedBefore: bigint
  /** More rows follow behind these: a run at the end may go on. */
  readonly hasMore: boolean
}

export interface CompactPlan {
  readonly runs: readonly (readonly RowInfo[])[]
  /** Everything below it is dealt with by this plan; undefined: all rows. */
  readonly nextFrom: SegmentId | undefined
  /** The row at `nextFrom` must wait for a checkpoint. */
  readonly isBlocked: boolean
}

export function planRuns(rows: readonly RowInfo[], options: PlanOptions): CompactPlan {
  const runs: RowInfo[][] = []
  let run = new Run()
  const close = () => {
    if (run.rows.length > 1) runs.push(run.rows)
    run = new Run()
  }
  for (const row of rows) {
    const { segmentId } = row
    const hasPassed = isPassed(segmentId, options)
    if (!hasPassed && segmentId >= options.waitedBefore) {
      close()
      return { runs, nextFrom: segmentId, isBlocked: true }
    }
    if (!hasPassed || !isSmall(row)) {
      close()
      continue
    }
    if (!run.fits(row)) close()
    run.add(row)
  }
  const [first] = run.rows
  if (options.hasMore && first !== undefined) {
    return { runs, nextFrom: first.segmentId, isBlocked: false }
  }
  close()
  return { runs, nextFrom: undefined, isBlocked: false }
}

function isSmall({ rawBytes, eventCount }: RowInfo): boolean {
  return rawBytes <= COMPACT_SMALL_BYTES_MAX && eventCount <= COMPACT_SMALL_EVENTS_MAX
}

class Run {
  readonly rows: RowInfo[] = []
  #events = 0
  #bytes = 0
  #members = 0

  add(row: RowInfo): void {
    this.rows.push(row)
    this.#events += row.eventCount
    this.#bytes += row.rawBytes
    this.#members += row.members.length
  }

  fits(row: RowInfo): boolean {
    const first = this.rows[0]
    const last = this.rows.at(-1)
    if (first === undefined || last === undefined) return true
    return (
      row.segmentId > last.lastSegmentId &&
      windowOf(first.segmentId) === windowOf(row.lastSegmentId) &&
      this.#events + row.eventCount <= SEGMENT_EVENTS_MAX &&
      this.#bytes + row.rawBytes <= COMPACT_BYTES_MAX &&
      this.#members + row.members.length <= COMPACT_MEMBERS_MAX
    )
  }
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
