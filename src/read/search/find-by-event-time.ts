/**
 * The first events of a range that match, in the order of their event times; equal ones by their
 * ids.
 *
 * An event that was just acknowledged may be of any time. So all that the projection may lack is
 * evaluated first, of which the first ones of the page are kept. The projection is asked for one
 * stretch of event time after another, the first so long that it may have a page, until the page is
 * full. Checkpoints are read before the projection, so that an event is in one of the two; one that
 * is in both has the same id.
 */
import { SEARCH_CHUNK_EVENTS_MAX, SEARCH_PENDING_EVENTS_MAX } from '../../limits.ts'
import { compareTimed, mergeEvents, type TimedId, type TimedKey } from '../../model/event-id.ts'
import { SEGMENT_ID_MS_SHIFT } from '../../model/segment-id.ts'
import type { IdRange, NodeMarks, PendingList, PendingSegment } from '../../model/segment-place.ts'
import type { TimeRange } from '../answer-coverage.ts'
import { observedFor } from '../depends-on-catalog.ts'
import { eventsOf, type FoundEvents, type Shortfall, takeChunk } from './find-events.ts'
import { type SearchSources, SourceFailure, type Wanted } from './search-sources.ts'
import { asksForId, WindowSize } from './window-size.ts'

export interface TimedSearch extends Omit<Wanted, 'eventTime'> {
  readonly range: TimeRange
  /** Which segments count. */
  readonly ids: IdRange
  /** Exclusive. */
  readonly before: TimedId | undefined
  readonly after: TimedId | undefined
  readonly newestFirst: boolean
  readonly limit: number
  /** By `nowMs`. */
  readonly deadlineMs: number
}

/** `frontier` is in nanoseconds since 1970. */
export interface FoundByTime extends FoundEvents {
  readonly events: readonly TimedKey[]
}

const NS_PER_MS = 1_000_000n

export async function findByEventTime(
  sources: SearchSources,
  search: TimedSearch,
  signal: AbortSignal,
  nowMs: () => number,
): Promise<FoundByTime> {
  const finder = new TimedFinder(sources, search, signal, nowMs)
  return finder.run()
}

class TimedFinder {
  readonly #sources: SearchSources
  readonly #search: TimedSearch
  readonly #signal: AbortSignal
  readonly #nowMs: () => number
  readonly #observed: NodeMarks | undefined
  /** Within the cursors. */
  readonly #range: TimeRange
  #found: TimedKey[] = []
  /** Of what waits, the first in reading order, that are not found yet. */
  #waiting: TimedKey[] = []
  #undecided = 0
  /** Where the next stretch begins. */
  #atNs: bigint

  constructor(
    sources: SearchSources,
    search: TimedSearch,
    signal: AbortSignal,
    nowMs: () => number,
  ) {
    this.#sources = sources
    this.#search = search
    this.#signal = signal
    this.#nowMs = nowMs
    this.#observed = observedFor([search.query], search.streams)
    this.#range = withinCursors(search)
    this.#atNs = search.newestFirst ? this.#range.toNs : this.#range.fromNs
  }

  async run(): Promise<FoundByTime> {
    const { streams, ids, newestFirst, limit } = this.#search
    const { fromNs, toNs } = this.#range
    const endNs = newestFirst ? fromNs : toNs
    if (fromNs >= toNs || ids.start >= ids.end) return this.#result(endNs, undefined)
    // Of receipt, but what arrives in a second most often happened in one.
    const extent = await this.#sources.readExtent(streams, { ...ids, newestFirst })
    if (extent === undefined) return this.#result(endNs, undefined)
    const pending = await this.#readPending()
    if (typeof pending === 'string') return this.#result(this.#atNs, pending)
    const size = new WindowSize(extent, asksForId(this.#search.query))
    while (this.#atNs !== endNs && this.#found.length <= limit) {
      const startedAt = this.#nowMs()
      if (startedAt >= this.#search.deadlineMs) return this.#result(this.#atNs, 'late')
      const spanNs = (size.span >> BigInt(SEGMENT_ID_MS_SHIFT)) * NS_PER_MS
      const stretch = newestFirst
        ? { fromNs: max(fromNs, this.#atNs - spanNs), toNs: this.#atNs }
        : { fromNs: this.#atNs, toNs: min(toNs, this.#atNs + spanNs) }
      const failure = await this.#readStretch(stretch, pending)
      if (failure !== undefined) return this.#result(this.#atNs, failure)
      size.grow(this.#nowMs() - startedAt)
    }
    return this.#result(this.#atNs, undefined)
  }

  #result(frontier: bigint, shortfall: Shortfall | undefined): FoundByTime {
    const { limit } = this.#search
    const hasMore = this.#found.length > limit
    return {
      events: this.#found.slice(0, limit),
      hasMore,
      frontier,
      shortfall: hasMore ? undefined : shortfall,
      undecided: this.#undecided,
    }
  }

  /** Evaluates all that the projection may lack; the marks up to which it has everything else. */
  async #readPending(): Promise<NodeMarks | Shortfall> {
    const { ids, deadlineMs } = this.#search
    let marks: NodeMarks | undefined
    let evaluated = 0
    for (let end = ids.end; end > ids.start; ) {
      const list = await this.#listPending({ start: ids.start, end })
      // The first marks are the lowest: what is beyond them was listed.
      marks ??= list.projected
      for (let at = 0; at < list.segments.length; ) {
        const chunk = takeChunk(list.segments.slice(at), SEARCH_CHUNK_EVENTS_MAX)
        at += chunk.length
        evaluated += eventsOf(chunk)
        if (evaluated > SEARCH_PENDING_EVENTS_MAX) return 'behind'
        if (this.#nowMs() >= deadlineMs) return 'late'
        if (!(await this.#match(chunk))) return 'late'
      }
      end = list.complete.start
    }
    return marks ?? new Map()
  }

  #listPending(range: IdRange): Promise<PendingList> {
    const { streams } = this.#search
    const of = { ...range, newestFirst: true, observed: this.#observed }
    return this.#sources.listPending(streams, of)
  }

  /** False when there was no time for all of them. */
  async #match(segments: readonly PendingSegment[]): Promise<boolean> {
    const { newestFirst, limit, deadlineMs } = this.#search
    const { events, unread } = await this.#sources.match(
      {
        ...this.#search,
        eventTime: this.#range,
        before: undefined,
        after: undefined,
        // All of them: the workers know them by their ids.
        limit: Number.MAX_SAFE_INTEGER,
        onUndecided: (count) => {
          this.#undecided += count
        },
        isLate: () => this.#nowMs() >= deadlineMs,
        records: undefined,
      },
      segments,
      this.#signal,
    )
    const timed = events.flatMap(({ timeNs, record: _, ...key }) => {
      return timeNs === undefined ? [] : [{ ...key, timeNs }]
    })
    const all = [...this.#waiting, ...timed.filter((key) => this.#isAsked(key))]
    this.#waiting = mergeEvents([all], newestFirst, compareTimed).slice(0, limit + 1)
    return unread === undefined
  }

  /** Adds the events of a stretch; else says what failed. */
  async #readStretch(stretch: TimeRange, projected: NodeMarks): Promise<Shortfall | undefined> {
    const { newestFirst, limit, ids, before, after, deadlineMs } = this.#search
    const missing = limit + 1 - this.#found.length
    const question = {
      ...this.#search,
      // By the marks of the list: what is beyond them was evaluated.
      streams: this.#search.streams.map((stream) => ({ ...stream, projected })),
      eventTime: stretch,
      range: ids,
      before,
      after,
      limit: missing,
      observed: this.#observed,
      msMax: deadlineMs - this.#nowMs(),
    }
    try {
      const stored = await this.#sources.findTimed(question, this.#signal)
      const isIn = ({ timeNs }: TimedKey) => timeNs >= stretch.fromNs && timeNs < stretch.toNs
      const waiting = this.#waiting.filter(isIn)
      const merged = mergeEvents([waiting, stored], newestFirst, compareTimed)
      this.#found.push(...merged.slice(0, missing))
      this.#atNs = newestFirst ? stretch.fromNs : stretch.toNs
      return undefined
    } catch (cause) {
      if (cause instanceof SourceFailure) return cause.kind
      throw cause
    }
  }

  #isAsked(key: TimedKey): boolean {
    const { before, after, ids } = this.#search
    if (key.segmentId < ids.start || key.segmentId >= ids.end) return false
    if (before !== undefined && compareTimed(key, before) >= 0) return false
    return after === undefined || compareTimed(key, after) > 0
  }
}

function withinCursors({ range, before, after }: TimedSearch): TimeRange {
  return {
    fromNs: after === undefined ? range.fromNs : max(range.fromNs, after.timeNs),
    toNs: before === undefined ? range.toNs : min(range.toNs, before.timeNs + 1n),
  }
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
