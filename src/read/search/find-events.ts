/**
 * The first events of a range that match, in reading order, by their ids.
 *
 * Subtle: a segment that was acknowledged before is either past its node's checkpoint, and then
 * listed, or in the projection. So in each window checkpoints are read before the projection is
 * queried, and the result is the union of both: an event in both has the same id. Windows follow
 * one another without a gap, so the events found so far are always the first ones.
 */
import {
  EVENTS_PAGE_BYTES_MAX,
  SEARCH_CHUNK_EVENTS,
  SEARCH_CHUNK_EVENTS_MAX,
  SEARCH_PENDING_EVENTS_MAX,
} from '../../limits.ts'
import {
  compareEvents,
  type EventId,
  type EventKey,
  mergeEvents,
  ORDINAL_MAX,
} from '../../model/event-id.ts'
import type {
  IdRange,
  PendingList,
  PendingSegment,
  SegmentExtent,
} from '../../model/segment-place.ts'
import type { IdQuestion } from '../../store/projection/reads/id-store.ts'
import { observedFor } from '../depends-on-catalog.ts'
import {
  type FoundEvent,
  type Matched,
  type RecordRoom,
  type SearchSources,
  type Shown,
  SourceFailure,
  type Wanted,
} from './search-sources.ts'
import { asksForId, WindowSize } from './window-size.ts'

export interface EventSearch extends Omit<Wanted, 'eventTime'>, IdRange {
  /** Exclusive bounds beside the range of segments. */
  readonly before: EventId | undefined
  readonly after: EventId | undefined
  readonly newestFirst: boolean
  readonly limit: number
  /** By `nowMs`. */
  readonly deadlineMs: number
  /** How they will be shown: what is decoded to be found is written at once. */
  readonly shown?: Shown
}

export interface FoundEvents {
  /** In reading order, at most `limit`. */
  readonly events: readonly FoundEvent[]
  /** There are more behind them. */
  readonly hasMore: boolean
  /** What was looked at: from where reading began up to here, in segment ids. */
  readonly frontier: bigint
  /** Why the range was not read to its end although there is room for more events. */
  readonly shortfall: Shortfall | undefined
  /** Events that were passed over, as nobody knows whether they match. */
  readonly undecided: number
}

/** `late`: no time left; `behind`: too much waits to be projected; `away`: no projection. */
export type Shortfall = 'late' | 'behind' | 'away'

/** Events of a segment whose count is not known. */
const EVENTS_UNKNOWN = 8_192

export async function findEvents(
  sources: SearchSources,
  asked: EventSearch,
  signal: AbortSignal,
  nowMs: () => number,
): Promise<FoundEvents> {
  const observed = observedFor([asked.query], asked.streams)
  const search = { ...asked, ...withinCursors(asked), observed, eventTime: undefined }
  const { streams, newestFirst } = search
  const none = newestFirst ? search.start : search.end
  if (search.start >= search.end) {
    return { events: [], hasMore: false, frontier: none, shortfall: undefined, undecided: 0 }
  }
  const isPlain = search.query.kind === 'all'
  const [extent, pending] = await Promise.all([
    sources.readExtent(streams, search),
    isPlain ? sources.listAll(streams, search) : sources.listPending(streams, search),
  ])
  if (extent === undefined) {
    return { events: [], hasMore: false, frontier: none, shortfall: undefined, undecided: 0 }
  }
  const finder = new EventFinder(sources, search, signal, nowMs)
  return finder.run(extent, pending, isPlain)
}

/** A cursor's own segment may hold more events on the far side of it. */
function withinCursors({ start, end, before, after }: EventSearch): IdRange {
  const low = after && after.segmentId + (after.ordinal === ORDINAL_MAX ? 1n : 0n)
  const high = before && before.segmentId + (before.ordinal === 0 ? 0n : 1n)
  return {
    start: low !== undefined && low > start ? low : start,
    end: high !== undefined && high < end ? high : end,
  }
}

type Search = EventSearch & Pick<IdQuestion, 'observed'> & Pick<Wanted, 'eventTime'>

class EventFinder {
  readonly #sources: SearchSources
  readonly #search: Search
  readonly #signal: AbortSignal
  readonly #nowMs: () => number
  readonly #found: FoundEvent[] = []
  readonly #records: RecordRoom | undefined
  /** Where the next window begins, and where the range ends. */
  #at = 0n
  #end = 0n
  #pending: PendingList | undefined
  #chunkEvents = SEARCH_CHUNK_EVENTS
  #evaluated = 0
  #undecided = 0
  /** All segments are listed, so the projection is not asked: it is away, or has nothing to add. */
  #isRaw = false

  constructor(sources: SearchSources, search: Search, signal: AbortSignal, nowMs: () => number) {
    this.#sources = sources
    this.#search = search
    this.#signal = signal
    this.#nowMs = nowMs
    const { shown, streams } = search
    // Of several streams most of what matches may never be shown.
    const isShown = shown !== undefined && streams.length === 1
    this.#records = isShown ? { ...shown, bytesLeft: EVENTS_PAGE_BYTES_MAX / 2 } : undefined
  }

  async run(extent: SegmentExtent, pending: PendingList, isRaw: boolean): Promise<FoundEvents> {
    const { newestFirst, limit } = this.#search
    const isRare = asksForId(this.#search.query)
    const size = new WindowSize(extent, isRare)
    // All that is pending has to be looked at anyway: while the projection is asked, too.
    if (isRare) this.#chunkEvents = 2 * SEARCH_CHUNK_EVENTS_MAX
    this.#pending = pending
    this.#isRaw = isRaw
    const begin = newestFirst ? extent.end : extent.start
    this.#at = begin
    this.#end = newestFirst ? extent.start : extent.end
    while (this.#at !== this.#end && this.#found.length <= limit) {
      const window = this.#nextWindow(await this.#listed(), size.span)
      // Of the raw store alone something is there at once: even without time such a search gets on.
      const isQuick = this.#at === begin && !window.asksProjection
      if (this.#nowMs() >= this.#search.deadlineMs && !isQuick) return this.#result('late')
      if (!isRaw && this.#isTooMuch(window.segments)) {
        return this.#result(this.#isRaw ? 'away' : 'behind')
      }
      const startedAt = this.#nowMs()
      const failure = await this.#read(window)
      if (failure === 'late') return this.#result('late')
      if (failure === 'away') {
        this.#isRaw = true
        this.#pending = undefined
        continue
      }
      if (window.asksProjection) size.grow(this.#nowMs() - startedAt)
      this.#chunkEvents = Math.min(SEARCH_CHUNK_EVENTS_MAX, this.#chunkEvents * 2)
    }
    return this.#result(undefined)
  }

  #result(shortfall: Shortfall | undefined): FoundEvents {
    const { limit, newestFirst, start, end } = this.#search
    const events = this.#found.slice(0, limit)
    const hasMore = this.#found.length > limit
    const isWhole = shortfall === undefined && !hasMore
    const frontier = isWhole ? (newestFirst ? start : end) : this.#at
    const told = hasMore ? undefined : shortfall
    return { events, hasMore, frontier, shortfall: told, undecided: this.#undecided }
  }

  /** What is pending where the next window begins. */
  async #listed(): Promise<PendingList> {
    const { newestFirst, streams, observed } = this.#search
    const list = this.#pending
    const isUsable =
      list !== undefined &&
      (newestFirst
        ? list.complete.start < this.#at && this.#at <= list.complete.end
        : list.complete.start <= this.#at && this.#at < list.complete.end)
    if (isUsable) return list
    const [start, end] = newestFirst ? [this.#end, this.#at] : [this.#at, this.#end]
    const range = { start, end, newestFirst, observed }
    this.#pending = await (this.#isRaw
      ? this.#sources.listAll(streams, range)
      : this.#sources.listPending(streams, range))
    return this.#pending
  }

  /** The next stretch of which the pending segments are a chunk, and the rest not too much. */
  #nextWindow({ segments, complete, projected }: PendingList, span: bigint): Window {
    const { newestFirst } = this.#search
    const projectedMax = [...projected.values()].reduce((a, b) => (a > b ? a : b), 0n)
    const ahead = segments.filter(({ segmentId }) => {
      return newestFirst ? segmentId < this.#at : segmentId >= this.#at
    })
    const chunk = takeChunk(ahead, this.#chunkEvents)
    const bounds = [this.#end, newestFirst ? complete.start : complete.end]
    const last = chunk.at(-1)
    if (last !== undefined && chunk.length < ahead.length) {
      bounds.push(newestFirst ? last.segmentId : last.segmentId + 1n)
    }
    // What is pending beyond it is all there is: the projection need not be asked.
    const isBeyond = (bound: bigint) => this.#isRaw || bound > projectedMax
    const nearest = () => bounds.reduce((a, b) => (a > b === newestFirst ? a : b))
    const isPendingAlone = isBeyond(newestFirst ? nearest() : this.#at)
    if (!isPendingAlone) bounds.push(newestFirst ? this.#at - span : this.#at + span)
    const bound = nearest()
    const range = newestFirst ? { start: bound, end: this.#at } : { start: this.#at, end: bound }
    const inside = chunk.filter(({ segmentId: id }) => id >= range.start && id < range.end)
    return { ...range, segments: inside, projected, asksProjection: !isPendingAlone }
  }

  #isTooMuch(segments: readonly PendingSegment[]): boolean {
    this.#evaluated += eventsOf(segments)
    const isFirst = this.#evaluated === eventsOf(segments)
    return this.#evaluated > SEARCH_PENDING_EVENTS_MAX && !isFirst
  }

  /** Adds the window's events; else says what failed. */
  async #read(window: Window): Promise<SourceFailure['kind'] | undefined> {
    const { limit } = this.#search
    const missing = limit + 1 - this.#found.length
    const gone = new AbortController()
    const signal = AbortSignal.any([this.#signal, gone.signal])
    const range = { start: window.start, end: window.end }
    const msMax = this.#search.deadlineMs - this.#nowMs()
    // By the marks of the list: what is beyond them is in it.
    const { projected } = window
    const streams = this.#search.streams.map((stream) => ({ ...stream, projected }))
    const question = { ...this.#search, streams, range, limit: missing, msMax }
    const onUndecided = (events: number) => {
      this.#undecided += events
    }
    const isLate = () => this.#nowMs() >= this.#search.deadlineMs
    const records = this.#records
    const toMatch = { ...this.#search, limit: missing, onUndecided, isLate, records }
    try {
      const [projected, matched] = await Promise.all([
        window.asksProjection ? this.#sources.findIds(question, signal) : [],
        window.segments.length > 0
          ? this.#sources.match(toMatch, window.segments, signal)
          : NOTHING_MATCHED,
      ])
      this.#add(window, projected, matched)
      return matched.unread && 'late'
    } catch (cause) {
      gone.abort()
      if (cause instanceof SourceFailure) return cause.kind
      throw cause
    }
  }

  /** What was found up to where both were read. */
  #add(window: Window, projected: readonly EventKey[], { events, unread }: Matched): void {
    const { newestFirst, before, after, limit } = this.#search
    const { start, end } = readPart(window, unread, newestFirst)
    const inRange = events.filter((key) => {
      if (before !== undefined && compareEvents(key, before) >= 0) return false
      return after === undefined || compareEvents(key, after) > 0
    })
    const merged = mergeEvents<FoundEvent>([inRange, projected], newestFirst).filter(
      ({ segmentId }) => {
        return segmentId >= start && segmentId < end
      },
    )
    this.#found.push(...merged.slice(0, limit + 1 - this.#found.length))
    this.#at = newestFirst ? start : end
  }
}

const NOTHING_MATCHED: Matched = { events: [], unread: undefined }

/** The window without what lies behind its first unread segment. */
function readPart(
  { start, end }: IdRange,
  unread: PendingSegment | undefined,
  newestFirst: boolean,
): IdRange {
  if (unread === undefined) return { start, end }
  const { segmentId } = unread
  return newestFirst ? { start: segmentId + 1n, end } : { start, end: segmentId }
}

interface Window extends IdRange, Pick<PendingList, 'segments' | 'projected'> {
  readonly asksProjection: boolean
}

/** The first ones, of about so many events; at least one. */
export function takeChunk(
  segments: readonly PendingSegment[],
  events: number,
): readonly PendingSegment[] {
  let count = 0
  let sum = 0
  for (const segment of segments) {
    if (count > 0 && sum >= events) break
    sum += eventsOf([segment])
    count++
  }
  return segments.slice(0, count)
}

export function eventsOf(segments: readonly PendingSegment[]): number {
  return segments.reduce((sum, { eventCount }) => sum + (eventCount || EVENTS_UNKNOWN), 0)
}
