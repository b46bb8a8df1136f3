/**
 * How long a stretch of time a search reads next. Whole tables are slow to search and the newest
 * rows fast, so a search reads growing windows until its page is full: the first sized by the
 * density of events there, the next ones by how long the last one took.
 */

import type { Query } from '../../language/query-tree.ts'
import {
  SEARCH_GROWTH_MAX,
  SEARCH_GROWTH_MIN,
  SEARCH_RARE_FACTOR,
  SEARCH_WINDOW_MS_MIN,
  SEARCH_WINDOW_TARGET_MS,
} from '../../limits.ts'
import { SEGMENT_ID_MS_SHIFT } from '../../model/segment-id.ts'
import type { SegmentExtent } from '../../model/segment-place.ts'

/** The first stretch that a search asks the projection for: about so much, of so long. */
export const SEARCH_WINDOW_ROWS = 32_768
export const SEARCH_WINDOW_BYTES = 64 * 1024 * 1024

/** What any query may cost, however little it reads. */
const OVERHEAD_MS = 10
const SPAN_MS_MAX = 2 ** 42

/** Where reading begins. */
type EventDensity = Pick<SegmentExtent, 'eventsPerMs' | 'eventBytes'>

export class WindowSize {
  #ms: number

  /** `isRare`: few events match, so a small window would only mean one more query. */
  constructor({ eventsPerMs, eventBytes }: EventDensity, isRare = false) {
    const fitting = SEARCH_WINDOW_BYTES / Math.max(1, eventBytes)
    const rows = Math.min(SEARCH_WINDOW_ROWS, fitting) * (isRare ? SEARCH_RARE_FACTOR : 1)
    const ms = eventsPerMs > 0 ? rows / eventsPerMs : 0
    this.#ms = Math.min(SPAN_MS_MAX, Math.max(SEARCH_WINDOW_MS_MIN, ms))
  }

  /** As a distance of segment ids. */
  get span(): bigint {
    return BigInt(Math.ceil(this.#ms)) << BigInt(SEGMENT_ID_MS_SHIFT)
  }

  /** The last window took so long: the next may take about SEARCH_WINDOW_TARGET_MS. */
  grow(tookMs: number): void {
    const factor = SEARCH_WINDOW_TARGET_MS / Math.max(0.5, tookMs - OVERHEAD_MS)
    const bounded = Math.min(SEARCH_GROWTH_MAX, Math.max(SEARCH_GROWTH_MIN, factor))
    this.#ms = Math.min(SPAN_MS_MAX, this.#ms * bounded)
  }
}

/** Letters and digits in a row, as ids have them. */
const ID_LENGTH_MIN = 16

/**
 * Whether the query asks for an id, such as that of a trace: a long word with digits in it. An
 * index then rules out nearly all rows.
 */
export function asksForId(query: Query): boolean {
  if (query.kind === 'and') return query.clauses.some(asksForId)
  if (query.kind !== 'field' || query.test.kind !== 'value') return false
  const { text } = query.test.value
  return text.length >= ID_LENGTH_MIN && /^[\w-]+$/.test(text) && /[0-9]/.test(text)
}
