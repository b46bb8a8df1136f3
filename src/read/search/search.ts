/**
 * A page of the events that match, as JSON. Records are those of the event list: payloads are the
 * stored bytes, spliced in.
 */
import { IngestError } from '../../errors.ts'
import { EVENTS_PAGE_BYTES_MAX } from '../../limits.ts'
import type { EventId, EventKey } from '../../model/event-id.ts'
import type { SourceStream } from '../../model/field-catalog.ts'
import { type SegmentId, segmentIdAt, segmentIdMs } from '../../model/segment-id.ts'
import { type Honesty, honestMembers, type TimeRange } from '../answer-coverage.ts'
import { missesPaths } from '../depends-on-catalog.ts'
import type { AskedStreams } from '../read-deps.ts'
import type { FoundEvents, Shortfall } from './find-events.ts'
import { boundaryOf, findInOrder, formatCursor, isByEventTime, rangeEnds } from './find-in-order.ts'
import {
  type DamagedSegment,
  type RecordOptions,
  type RecordReaders,
  readRecords,
} from './read-records.ts'
import { idRange, type SearchRequest } from './search-request.ts'
import type { FoundEvent, SearchSources } from './search-sources.ts'

export interface SearchDeps extends RecordReaders {
  /** The catalogs and the marks of streams. */
  readonly openStreams: (streams: AskedStreams) => Promise<readonly SourceStream[]>
  readonly sources: SearchSources
  readonly nowMs: () => number
}

export interface SearchTask {
  readonly request: SearchRequest
  readonly streams: AskedStreams
  /** Records name their stream. */
  readonly includesStreamId: boolean
}

export const REASONS = {
  late: 'the time was over before the whole range was searched (timeout_ms)',
  behind:
    'too many events wait to be projected (SEARCH_PENDING_EVENTS_MAX); the rest was not searched',
  away: 'ClickHouse does not answer; the newest events were searched without it',
} as const satisfies Record<Shortfall, string>

/** ClickHouse's part of a stream with fields that were never learned. */
export const UNLEARNED_FIELDS =
  'fields past the caps of a stream were never learned: among "*" and words they are not looked at'

const NS_PER_MS = 1_000_000n

/** In pieces that make up the answer. Throws `malformed`, `unavailable`, `overloaded`. */
export async function search(
  deps: SearchDeps,
  { request, streams, includesStreamId }: SearchTask,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const startMs = deps.nowMs()
  const newestFirst = isDownwards(request)
  const sources = await deps.openStreams(streams)
  const shown = { format: { kind: 'list', fields: request.fields }, includesStreamId } as const
  const found = await findInOrder(
    deps.sources,
    {
      ids: idRange(request),
      request,
      streams: sources,
      before: request.before,
      after: request.after,
      newestFirst,
      limit: request.limit,
      deadlineMs: startMs + request.timeoutMs,
      shown,
    },
    signal,
    deps.nowMs,
  )
  assertAnswered(found, request)
  const isForwards = (request.order === 'newest') === newestFirst
  const page = await readPage(deps, found, { ...shown, isReversed: !isForwards })
  const pieces = isForwards ? page.pieces : page.pieces.toReversed()
  const { damaged } = page
  const members = {
    ...cursorsOf(page, found, request),
    ...(damaged.length > 0 && {
      damaged: damaged.map(({ segmentId, events }) => ({ segment_id: segmentId, events })),
    }),
    ...honestMembers({
      ...shortfallOf(found, request, sources),
      asOfMs: startMs,
      nowMs: startMs,
    }),
  }
  const tail = JSON.stringify(members).slice(1)
  return Buffer.concat([
    Buffer.from('{"events":['),
    ...withCommas(pieces),
    Buffer.from(`],${tail}`),
  ])
}

/** From where the page is read: against its order, when what is before its cursor is wanted. */
function isDownwards({ order, before, after }: SearchRequest): boolean {
  return order === 'newest' ? after === undefined : before !== undefined
}

/** Throws `unavailable` when nothing could be searched because there is no projection. */
function assertAnswered(
  { shortfall, events, frontier }: FoundEvents,
  request: SearchRequest,
): void {
  if (shortfall !== 'away' || events.length > 0) return
  if (!rangeEnds(request, idRange(request)).includes(frontier)) return
  throw new IngestError('unavailable', 'ClickHouse does not answer; the event list does')
}

interface Page {
  readonly pieces: readonly Uint8Array[]
  /** In the order in which they were read. */
  readonly events: readonly FoundEvent[]
  readonly damaged: readonly DamagedSegment[]
  readonly hasMore: boolean
}

/** The events of a page, up to about EVENTS_PAGE_BYTES_MAX. */
async function readPage(
  deps: SearchDeps,
  found: FoundEvents,
  options: RecordOptions,
): Promise<Page> {
  const pieces: Uint8Array[] = []
  const damaged: DamagedSegment[] = []
  let bytes = 0
  let last: EventKey | undefined
  for await (const piece of readRecords(deps, found.events, options)) {
    pieces.push(piece.bytes)
    damaged.push(...piece.damaged)
    bytes += piece.bytes.length
    last = piece.last
    if (bytes >= EVENTS_PAGE_BYTES_MAX / 2) break
  }
  const count = last === undefined ? 0 : found.events.indexOf(last) + 1
  const isCut = count < found.events.length
  return { pieces, damaged, events: found.events.slice(0, count), hasMore: isCut || found.hasMore }
}

function cursorsOf(page: Page, { frontier, shortfall }: FoundEvents, request: SearchRequest) {
  const { order, before, after } = request
  const isForwards = isDownwards(request) === (order === 'newest')
  const [first, last] = [page.events[0], page.events.at(-1)]
  const boundary =
    shortfall === undefined ? undefined : boundaryOf(frontier, isDownwards(request), request)
  const onwards = page.hasMore ? last : boundary
  const back = first ?? before ?? after
  const textOf = (cursor: EventId | undefined) => {
    return cursor === undefined ? null : formatCursor(cursor, request)
  }
  return isForwards
    ? { next: textOf(onwards), previous: textOf(first ?? (order === 'newest' ? after : before)) }
    : // Against the order: the cursor itself lies before the page, so there always is something.
      { next: textOf(first), previous: textOf(onwards ?? last ?? back) }
}

function shortfallOf(
  { shortfall, frontier, undecided }: FoundEvents,
  request: SearchRequest,
  sources: readonly SourceStream[],
): Pick<Honesty, 'shortfall'> {
  const reasons = [
    ...(shortfall === undefined ? [] : [REASONS[shortfall]]),
    ...(undecided > 0
      ? [`${undecided} events were passed over: damaged, or too much work for this query`]
      : []),
    ...(missesPaths([request.query], sources) ? [UNLEARNED_FIELDS] : []),
  ]
  if (reasons.length === 0) return {}
  const covered = shortfall === undefined ? undefined : coveredUpTo(frontier, request)
  return { shortfall: { reason: reasons.join('; '), covered } }
}

/** What of the range was searched before `frontier`; by receipt whole milliseconds. */
function coveredUpTo(frontier: bigint, request: SearchRequest): TimeRange {
  const { fromNs, toNs } = request
  const ms = segmentIdMs(frontier as SegmentId)
  const isWhole = frontier === segmentIdAt(ms)
  const receiptNs = BigInt(isDownwards(request) && !isWhole ? ms + 1 : ms) * NS_PER_MS
  const atNs = isByEventTime(request) ? frontier : receiptNs
  const insideNs = atNs < fromNs ? fromNs : atNs > toNs ? toNs : atNs
  return isDownwards(request) ? { fromNs: insideNs, toNs } : { fromNs, toNs: insideNs }
}

function withCommas(pieces: readonly Uint8Array[]): Uint8Array[] {
  const some = pieces.filter(({ length }) => length > 0)
  return some.flatMap((piece, index) => (index === 0 ? [piece] : [COMMA, piece]))
}

const COMMA = Buffer.from(',')
