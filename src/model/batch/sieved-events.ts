/** Queries of live tails that workers test while they encode, and what these match. */
import type { StreamId } from '../stream.ts'

/** The queries of a stream's live tails, tested while its events are encoded. */
export interface WatchedQueries {
  readonly streamId: StreamId
  /** Unique to each set of queries. */
  readonly setId: number
  /** JSON: `[textFields, ...queries]`. The queries are valid and need nothing set by commit. */
  readonly json: string
}

/** What watched queries match in a segment, or in one run of a mixed segment. */
export interface SievedEvents {
  readonly setId: number
  /** Undefined when the test would cost more than it may. */
  readonly found: SievedMatches | undefined
}

export interface SievedMatches {
  /** Per query: how many events it matches, then their indexes in `ordinals`, ascending. */
  readonly matches: Uint32Array
  /** Events that at least one query matches, as ordinals in the segment; ascending. */
  readonly ordinals: Uint32Array
  /** Event records as in the event list, without separators and without what commit sets. */
  readonly records: Uint8Array
  readonly recordEnd: Uint32Array
}

/** The placeholders in records of `SievedMatches` for what commit sets. */
export const NO_SEGMENT_ID = '0000000000000000000'
export const NO_RECEIPT_MS = 0
