/**
 * Event pages: which events of which segments a request for the event list asks for, decided from
 * the segments' counts and sizes before any payload is read.
 */

import { malformed } from '../errors.ts'
import { EVENTS_PAGE_BYTES_MAX, EVENTS_PAGE_DEFAULT, EVENTS_PAGE_MAX } from '../limits.ts'
import { type EventId, tryParseEventId } from '../model/event-id.ts'
import { ceilMs } from '../model/rfc3339.ts'
import { SEGMENT_ID_MAX, type SegmentId, segmentIdAt } from '../model/segment-id.ts'
import type { SegmentInfo } from '../model/segment-place.ts'
import { readTime } from './body-fields.ts'

export interface PageQuery {
  readonly limit: number
  /** Exclusive cursors, at most one of them. */
  readonly before: EventId | undefined
  readonly after: EventId | undefined
  /** Segments with `start <= id < end`. */
  readonly start: bigint
  readonly end: bigint
}

/** Events of one segment from `fromOrdinal` up to, not including, `toOrdinal`. */
export interface SegmentSlice {
  readonly segmentId: SegmentId
  readonly fromOrdinal: number
  readonly toOrdinal: number
}

export interface PagePlan {
  /** Newest first. */
  readonly slices: readonly SegmentSlice[]
  /** Whether there are more events in the direction in which the list was read. */
  readonly hasMore: boolean
}

const TIME = { type: 'string', format: 'date-time' } as const
/** The parameters of a page of events. */
export const EVENTS_QUERY = {
  properties: {
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: EVENTS_PAGE_MAX,
      default: EVENTS_PAGE_DEFAULT,
      description: 'Events of a page',
    },
    before: {
      type: 'string',
      description: "An event's id: the page holds the events right before it, which are older",
    },
    after: {
      type: 'string',
      description: "An event's id: the page holds the events right after it, which are newer",
    },
    from: { ...TIME, description: 'Receipt time, RFC 3339, in the range' },
    to: { ...TIME, description: 'Receipt time, RFC 3339, not itself in the range' },
  },
} as const

/** Precondition: the parameters match `EVENTS_QUERY`. Throws `malformed`. */
export function readPageQuery(query: Readonly<Record<string, unknown>>): PageQuery {
  const limit = Number(query.limit ?? EVENTS_PAGE_DEFAULT)
  const before = readCursor('before', query.before)
  const after = readCursor('after', query.after)
  if (before !== undefined && after !== undefined) {
    throw malformed('"before" and "after" exclude each other')
  }
  const from = readIdBound('from', query.from) ?? 0n
  const to = readIdBound('to', query.to) ?? SEGMENT_ID_MAX
  return pageWithin({ from, to }, { limit, before, after })
}

/** The query of a page of the segments with `from <= id < to`. */
export function pageWithin(
  { from, to }: { readonly from: bigint; readonly to: bigint },
  { limit, before, after }: Pick<PageQuery, 'limit' | 'before' | 'after'>,
): PageQuery {
  // The cursor's own segment may hold more events on the far side of the cursor.
  const start = after !== undefined && after.segmentId > from ? after.segmentId : from
  const end = before !== undefined && before.segmentId < to ? before.segmentId + 1n : to
  return { limit, before, after, start, end }
}

/** How many segments decide a page: each but the cursor's own adds at least one event. */
export function segmentsToList(query: PageQuery): number {
  return query.limit + 2
}

/**
 * `segments` are in reading order: oldest first with `after`, else newest first. A page ends early
 * at EVENTS_PAGE_BYTES_MAX, estimated by the mean event of each segment, and has at least one
 * event.
 */
export function planPage(query: PageQuery, segments: readonly SegmentInfo[]): PagePlan {
  const slices: SegmentSlice[] = []
  let eventsLeft = query.limit
  let bytesLeft = EVENTS_PAGE_BYTES_MAX
  let hasMore = false
  for (const segment of segments) {
    const { start, end } = ordinalsInRange(query, segment)
    if (start >= end) continue
    const eventBytes = segment.rawBytes / segment.eventCount
    const fitting = slices.length === 0 ? 1 : 0
    const affordable = Math.max(fitting, Math.floor(bytesLeft / Math.max(1, eventBytes)))
    const taken = Math.min(end - start, eventsLeft, affordable)
    if (taken > 0) slices.push(sliceOf(query, segment.segmentId, { start, end, taken }))
    eventsLeft -= taken
    bytesLeft -= taken * eventBytes
    if (taken < end - start) {
      hasMore = true
      break
    }
  }
  if (query.after !== undefined) slices.reverse()
  return { slices, hasMore }
}

function ordinalsInRange(query: PageQuery, segment: SegmentInfo): { start: number; end: number } {
  const { before, after } = query
  return {
    start: segment.segmentId === after?.segmentId ? after.ordinal + 1 : 0,
    end:
      segment.segmentId === before?.segmentId
        ? Math.min(before.ordinal, segment.eventCount)
        : segment.eventCount,
  }
}

/** The first `taken` events in reading order: the oldest with `after`, else the newest. */
function sliceOf(
  query: PageQuery,
  segmentId: SegmentId,
  range: { readonly start: number; readonly end: number; readonly taken: number },
): SegmentSlice {
  return query.after !== undefined
    ? { segmentId, fromOrdinal: range.start, toOrdinal: range.start + range.taken }
    : { segmentId, fromOrdinal: range.end - range.taken, toOrdinal: range.end }
}

/** The event that a cursor names, if there is one. Throws `malformed`. */
export function readCursor(name: string, value: unknown): EventId | undefined {
  if (value === undefined) return undefined
  const id = typeof value === 'string' ? tryParseEventId(value) : undefined
  if (id === undefined) throw malformed(`"${name}" must be the id of an event`)
  return id
}

function readIdBound(name: string, value: unknown): bigint | undefined {
  return value === undefined ? undefined : idBound(readTime(name, value))
}

/**
 * The first segment id at or after a time, so that `from` is inclusive and `to` exclusive: an id's
 * milliseconds are its upper bits, so a time range is a range of ids.
 */
export function idBound(ns: bigint): bigint {
  const id = segmentIdAt(Number(ceilMs(ns)))
  // biome-ignore lint/complexity/useMathMinMax: `Math.min` knows no bigint.
  return id < SEGMENT_ID_MAX ? id : SEGMENT_ID_MAX
}
