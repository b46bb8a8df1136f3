/**
 * Which rows of a stream are merged: runs of small neighbours from one window of time. Pure.
 *
 * A merged row holds only segments that all followers of their node have passed. Merged rows do not
 * overlap: each segment of the stream that lies between two members is a member too.
 */
import {
  COMPACT_BYTES_MAX,
  COMPACT_MEMBERS_MAX,
  COMPACT_SMALL_BYTES_MAX,
  COMPACT_SMALL_EVENTS_MAX,
  SEGMENT_EVENTS_MAX,
} from '../limits.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { SizedRow } from '../model/stored-row.ts'
import { isPassed, type PlanOptions, windowOf } from './compaction-windows.ts'

export interface CompactPlan {
  readonly runs: readonly (readonly SizedRow[])[]
  /** Everything below it is dealt with by this plan; undefined: all rows. */
  readonly nextFrom: SegmentId | undefined
  /** The row at `nextFrom` must wait for a checkpoint. */
  readonly isBlocked: boolean
}

export function planRuns(rows: readonly SizedRow[], options: PlanOptions): CompactPlan {
  const runs: SizedRow[][] = []
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

/** The id of its last segment. */
function lastOf({ segments }: SizedRow): SegmentId {
  return segments.at(-1)!.segmentId
}

function isSmall({ rawBytes, eventCount }: SizedRow): boolean {
  return rawBytes <= COMPACT_SMALL_BYTES_MAX && eventCount <= COMPACT_SMALL_EVENTS_MAX
}

class Run {
  readonly rows: SizedRow[] = []
  #events = 0
  #bytes = 0
  #members = 0

  add(row: SizedRow): void {
    this.rows.push(row)
    this.#events += row.eventCount
    this.#bytes += row.rawBytes
    this.#members += row.segments.length
  }

  fits(row: SizedRow): boolean {
    const first = this.rows[0]
    const last = this.rows.at(-1)
    if (first === undefined || last === undefined) return true
    return (
      row.segmentId > lastOf(last) &&
      windowOf(first.segmentId) === windowOf(lastOf(row)) &&
      this.#events + row.eventCount <= SEGMENT_EVENTS_MAX &&
      this.#bytes + row.rawBytes <= COMPACT_BYTES_MAX &&
      this.#members + row.segments.length <= COMPACT_MEMBERS_MAX
    )
  }
}
