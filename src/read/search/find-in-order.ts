/** The first events that a request means, in its order: that of receipt, or of event times. */
import {
  boundaryCursor,
  type EventId,
  formatEventId,
  formatTimedId,
  type TimedId,
  timedBoundary,
} from '../../model/event-id.ts'
import type { SourceStream } from '../../model/field-catalog.ts'
import type { IdRange } from '../../model/segment-place.ts'
import { findByEventTime } from './find-by-event-time.ts'
import { type EventSearch, type FoundEvents, findEvents } from './find-events.ts'
import type { SearchRequest } from './search-request.ts'
import type { SearchSources } from './search-sources.ts'

/** Where a page begins: an event, or a bound between two. */
export type Cursor = EventId | TimedId

export interface OrderedSearch
  extends Pick<EventSearch, 'newestFirst' | 'limit' | 'deadlineMs' | 'shown'> {
  readonly request: SearchRequest
  readonly streams: readonly SourceStream[]
  /** Which segments count. */
  readonly ids: IdRange
  /** Exclusive, in the order of the request. */
  readonly before: Cursor | undefined
  readonly after: Cursor | undefined
}

/** `frontier` is in segment ids, or by event time in nanoseconds since 1970. */
export async function findInOrder(
  sources: SearchSources,
  { request, ids, before, after, ...asked }: OrderedSearch,
  signal: AbortSignal,
  nowMs: () => number,
): Promise<FoundEvents> {
  const { query, queryText, fromNs, toNs } = request
  const search = { ...asked, query, queryText }
  if (isByEventTime(request)) {
    // The request's cursors are of its order.
    const cursors = { before: before as TimedId | undefined, after: after as TimedId | undefined }
    const range = { fromNs, toNs }
    return findByEventTime(sources, { ...search, ...cursors, range, ids }, signal, nowMs)
  }
  return findEvents(sources, { ...search, ...ids, before, after }, signal, nowMs)
}

export function isByEventTime({ timeBasis }: Pick<SearchRequest, 'timeBasis'>): boolean {
  return timeBasis === 'event_time'
}

/** Where the range begins and ends, as `frontier` says it. */
export function rangeEnds(
  request: Pick<SearchRequest, 'timeBasis' | 'fromNs' | 'toNs'>,
  ids: IdRange,
): readonly [start: bigint, end: bigint] {
  return isByEventTime(request) ? [request.fromNs, request.toNs] : [ids.start, ids.end]
}

/** The cursor behind what was looked at. */
export function boundaryOf(
  frontier: bigint,
  newestFirst: boolean,
  request: Pick<SearchRequest, 'timeBasis'>,
): Cursor {
  return isByEventTime(request)
    ? timedBoundary(frontier, newestFirst)
    : boundaryCursor(frontier, newestFirst)
}

/** As `readSearchRequest` reads it. */
export function formatCursor(cursor: Cursor, request: Pick<SearchRequest, 'timeBasis'>): string {
  return isByEventTime(request) ? formatTimedId(cursor as TimedId) : formatEventId(cursor)
}
