/** Segments as they are read from the raw store. A row may hold several. */
import type { SegmentId } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'

export interface StoredSegment {
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  readonly payload: Uint8Array
  /** Of a row of several: which of its events. */
  readonly part?: StoredPart
  /** Of a merged row: its id, by which rows are read on. (Of a mixed one: by its last run's.) */
  readonly rowId?: SegmentId
}

export interface StoredPart {
  readonly first: number
  /** Events of each segment. */
  readonly counts: readonly number[]
}

/** Segments to learn from at once: whole rows, or those side by side in one, which is read once. */
export interface LearnedRow extends Pick<StoredSegment, 'streamId' | 'payload' | 'part'> {
  readonly segments: readonly StoredSegment[]
}

/** Puts segments of one row, next to each other, together. */
export function* joinRows(segments: readonly StoredSegment[]): Generator<LearnedRow> {
  let row: StoredSegment[] = []
  let end = 0
  for (const segment of segments) {
    const { payload, part } = segment
    const isNext = part !== undefined && row[0]?.payload === payload && part.first === end
    if (!isNext && row.length > 0) yield joined(row)
    if (!isNext) row = []
    row.push(segment)
    end = part === undefined ? 0 : part.counts.reduce((sum, count) => sum + count, part.first)
  }
  if (row.length > 0) yield joined(row)
}

function joined(segments: readonly StoredSegment[]): LearnedRow {
  const { streamId, payload, part } = segments[0]!
  if (part === undefined) return { streamId, payload, segments }
  const counts = segments.flatMap((segment) => segment.part?.counts ?? [])
  return { streamId, payload, part: { first: part.first, counts }, segments }
}
