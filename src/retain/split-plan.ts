/**
 * Which mixed rows are split together, and into which rows of their streams. Pure.
 *
 * A row of a stream is made of neighbours only, like those that compaction merges: of one window
 * of time, with nothing else of the stream between them.
 */
import {
  COMPACT_BYTES_MAX,
  COMPACT_MEMBERS_MAX,
  SEGMENT_EVENTS_MAX,
  SPLIT_BYTES_MAX,
  SPLIT_SEGMENTS_MAX,
} from '../limits.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { SizedRow } from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'
import type { SplitRow, StoredRun } from '../store/raw/split-store.ts'
import { isPassed, type PlanOptions, windowOf } from './compaction-windows.ts'

export interface ChunkOptions extends Omit<PlanOptions, 'hasMore'> {
  /** Rows that could not be split. */
  readonly damaged: ReadonlySet<SegmentId>
}

export interface SplitChunk {
  readonly rows: readonly SizedRow[]
  /**
   * `alone`: one row that waited too long for its node's checkpoint. Each stream has one run in it,
   * so each run becomes a row by itself, to be found by its id should the node come back.
   */
  readonly kind: 'merged' | 'alone' | 'damaged'
  /** The last row that was looked at: taken, or waiting for a checkpoint. */
  readonly through: SegmentId
}

/** The first of `rows` that can be split together; of rows that all wait, none. */
export function takeChunk(rows: readonly SizedRow[], options: ChunkOptions): SplitChunk {
  const taken: SizedRow[] = []
  let through = 0n as SegmentId
  let [bytes, segments] = [0, 0]
  for (const row of rows) {
    const kind = kindOf(row, options)
    if (taken.length > 0) {
      bytes += row.rawBytes
      segments += row.segments.length
      // What follows a row that stays is not put into one row with what lies before it.
      if (kind !== 'merged' || bytes > SPLIT_BYTES_MAX || segments > SPLIT_SEGMENTS_MAX) break
    } else {
      bytes = row.rawBytes
      segments = row.segments.length
    }
    through = row.segmentId
    if (kind === 'waiting') continue
    if (kind !== 'merged') return { rows: [row], kind, through }
    taken.push(row)
  }
  return { rows: taken, kind: 'merged', through }
}

function kindOf(row: SizedRow, options: ChunkOptions): SplitChunk['kind'] | 'waiting' {
  if (options.damaged.has(row.segmentId)) return 'damaged'
  const last = row.segments.at(-1)!.segmentId
  if (isPassed(last, options)) return 'merged'
  return last < options.waitedBefore ? 'alone' : 'waiting'
}

/**
 * The rows that `runs` become, by stream and id. `between` has ids of other rows of the streams, in
 * no order.
 */
export function planRows(
  runs: readonly StoredRun[],
  between: ReadonlyMap<StreamId, readonly SegmentId[]>,
): SplitRow[] {
  const rows: SplitRow[] = []
  let current: Current | undefined
  for (const run of runs.toSorted(byStreamAndId)) {
    if (current?.streamId !== run.streamId) {
      const others = between.get(run.streamId) ?? []
      current = new Current(run.streamId, others.toSorted(compare))
    }
    const isParted = current.goesPastOther(run.segmentId)
    if (isParted || !current.fits(run)) rows.push(current.begin())
    current.add(run)
  }
  return rows
}

function byStreamAndId(a: StoredRun, b: StoredRun): number {
  return a.streamId - b.streamId || compare(a.segmentId, b.segmentId)
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b)
}

/** The row that is being filled, of one stream after the other. */
class Current {
  readonly streamId: StreamId
  readonly #others: readonly SegmentId[]
  #nextOther = 0
  #runs: StoredRun[] = []
  #events = 0
  #bytes = 0

  constructor(streamId: StreamId, others: readonly SegmentId[]) {
    this.streamId = streamId
    this.#others = others
  }

  begin(): SplitRow {
    this.#runs = []
    this.#events = 0
    this.#bytes = 0
    return { streamId: this.streamId, runs: this.#runs }
  }

  add(run: StoredRun): void {
    this.#runs.push(run)
    this.#events += run.eventCount
    this.#bytes += run.rawBytes
  }

  /** Whether another row begins between the run before and this one. Ids must rise. */
  goesPastOther(id: SegmentId): boolean {
    const before = this.#nextOther
    while ((this.#others[this.#nextOther] ?? id) < id) this.#nextOther++
    return this.#nextOther > before
  }

  fits(run: StoredRun): boolean {
    const first = this.#runs[0]
    return (
      first !== undefined &&
      windowOf(first.segmentId) === windowOf(run.segmentId) &&
      this.#runs.length < COMPACT_MEMBERS_MAX &&
      this.#events + run.eventCount <= SEGMENT_EVENTS_MAX &&
      this.#bytes + run.rawBytes <= COMPACT_BYTES_MAX
    )
  }
}
