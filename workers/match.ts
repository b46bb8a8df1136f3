/**
 * Tests the events of stored segments against queries: search over what ClickHouse does not have
 * yet, and live tails.
 *
 *   stored payloads --decode--> events --each query's evaluator--> matches, event records
 *
 * A query ends at its limit, or when it has used its share of the task's work. The result says
 * where it ended; it has always tested at least one event, so that a reader who continues makes
 * progress. A payload that no longer decodes is left out and reported.
 */
import { MATCH_COST_MAX, MATCH_EVENTS_MAX, MATCH_RECORDS_BYTES_MAX } from '../src/limits.ts'
import type { DamagedRead, SegmentRead } from '../src/model/batch/segment-read.ts'
import type {
  MatchedEvents,
  MatchQuery,
  MatchResult,
  MatchStop,
  MatchTask,
} from '../src/pool/messages.ts'
import type { Evaluator } from './evaluate/evaluator.ts'
import { Evaluators } from './evaluate/evaluators.ts'
import { EventCursor } from './evaluate/event-cursor.ts'
import { QuerySet } from './evaluate/query-set.ts'
import { timeMsOf, timeNanosOf } from './evaluate/system-test.ts'
import { isBefore, type Moment, momentOf } from './evaluate/time-test.ts'
import { WorkSpentError } from './evaluate/work.ts'
import { EventRecords } from './event-records.ts'
import { PayloadDecoder } from './segment/payload-decoder.ts'
import { JsonTape } from './tape/json-tape.ts'
import { PathTrie } from './tape/path-trie.ts'

const NS_PER_MS = 1_000_000n
const INT64_MAX = (1n << 63n) - 1n
/**
 * More queries than this do not lower a query's share: it is enough for a word in the largest
 * event.
 */
const SHARES_MAX = 32
/** What part of a task's work goes to looking at queries together, before each is by itself. */
const SET_SHARE = 4

/** A query under way. */
interface Search {
  readonly evaluator: Evaluator
  readonly from: Moment | undefined
  readonly to: Moment | undefined
  readonly limit: number
  /** What it may still cost. */
  left: number
  /** Indexes of its matches in the task's result. */
  readonly places: number[]
  /** Its matches in the read under way, by their turn in it. */
  order: number[]
  stopped: MatchStop | undefined
  /** Events, and those of them that cost too much. */
  looked: number
  undecided: number
}

/** The events of one read, in the order that it asks for. */
interface ReadOrder {
  readonly read: SegmentRead
  readonly index: number
  readonly count: number
  ordinalOf(turn: number): number
}

export class MatchPipeline {
  readonly #stored: PayloadDecoder
  readonly #evaluators = new Evaluators()
  readonly #cursor = new EventCursor()
  readonly #records = new EventRecords()
  #found: FoundEvent[] = []
  /** All queries of the task, while they are looked at together, and what that may cost. */
  #set: QuerySet | undefined
  #setLeft = 0

  constructor(stored = new PayloadDecoder(new JsonTape(new PathTrie()))) {
    this.#stored = stored
  }

  run(task: Omit<MatchTask, 'kind'>): Omit<MatchResult, 'kind'> {
    const { reads, queries, withRecords, format } = task
    this.#found = []
    this.#records.begin(format)
    this.#stored.reset()
    const searches = queries.map((query) => this.#begin(query, queries.length))
    this.#set = this.#setOf(task, searches)
    this.#setLeft = MATCH_COST_MAX / SET_SHARE
    const damaged: DamagedRead[] = []
    for (const [index, read] of reads.entries()) {
      if (searches.every(({ stopped }) => stopped !== undefined)) break
      const reason = this.#stored.decode(read.payload)
      if (reason === undefined) this.#matchRead(read, index, searches, withRecords)
      else damaged.push({ index, reason })
    }
    this.#stored.reset()
    this.#evaluators.trim()
    const results = searches.map(({ places, stopped, undecided }) => {
      return { events: Uint32Array.from(places), stopped, undecided }
    })
    return { queries: results, events: this.#takeEvents(), damaged }
  }

  #begin(query: MatchQuery, queries: number): Search {
    const { text, eventTime, limit } = query
    return {
      evaluator: this.#evaluators.of(text, query.textFields),
      from: eventTime && momentOf(eventTime.fromNs),
      to: eventTime && momentOf(eventTime.toNs),
      limit: Math.min(limit, MATCH_EVENTS_MAX),
      left: MATCH_COST_MAX / Math.min(queries, SHARES_MAX),
      places: [],
      order: [],
      stopped: undefined,
      looked: 0,
      undecided: 0,
    }
  }

  /** Only queries that look at everything: where one ends at its limit it tells the next event. */
  #setOf(
    { reads, queries }: Pick<MatchTask, 'reads' | 'queries'>,
    searches: readonly Search[],
  ): QuerySet | undefined {
    const events = reads.reduce((sum, read) => sum + read.toOrdinal - read.fromOrdinal, 0)
    const isWhole = searches.every(({ limit, from }) => limit >= events && from === undefined)
    const isPlain = reads.every(({ ordinals }) => ordinals === undefined)
    if (queries.length < 2 || !isWhole || !isPlain) return undefined
    return new QuerySet(
      this.#evaluators,
      searches.map(({ evaluator }) => evaluator.needed),
    )
  }

  /** Finds the matches of all queries in one read; false when each is to be looked at by itself. */
  #searchAll(searches: readonly Search[], { read, count, ordinalOf }: ReadOrder): boolean {
    const set = this.#set
    if (set === undefined || searches.length < set.count) return false
    const { newestFirst } = read
    const first = ordinalOf(newestFirst ? count - 1 : 0)
    const ordinals = Array.from({ length: count }, (_, at) => first + at)
    try {
      const found = set.find(this.#cursor, ordinals, this.#setLeft)
      this.#setLeft = set.left
      for (const [index, search] of searches.entries()) {
        const order = found[index]!.map((ordinal) => ordinal - first)
        search.order = newestFirst ? order.map((at) => count - 1 - at).reverse() : order
        search.looked += count
      }
      return true
    } catch (error) {
      if (!(error instanceof WorkSpentError)) throw error
      this.#set = undefined
      return false
    }
  }

  #matchRead(read: SegmentRead, index: number, searches: Search[], withRecords: boolean): void {
    const firstEvent = read.firstEvent ?? 0
    const from = Math.max(0, read.fromOrdinal)
    const to = Math.min(this.#stored.events.count - firstEvent, read.toOrdinal)
    const some = read.ordinals?.filter((ordinal) => ordinal >= from && ordinal < to)
    const count = some?.length ?? Math.max(0, to - from)
    const ordinalOf = (turn: number) => {
      const at = read.newestFirst ? count - 1 - turn : turn
      return some?.[at] ?? from + at
    }
    const order = { read, index, count, ordinalOf }
    this.#cursor.begin(this.#stored)
    this.#cursor.origin = { ...read, firstEvent }
    const running = searches.filter(({ stopped }) => stopped === undefined)
    if (!this.#searchAll(running, order)) {
      for (const search of running) this.#search(search, order)
    }
    this.#keep(running, order, withRecords)
  }

  /** Finds the matches of one query in one read. */
  #search(search: Search, order: ReadOrder): void {
    const { index, count, ordinalOf } = order
    const { evaluator, places, limit } = search
    const cursor = this.#cursor
    const { work } = evaluator
    const { firstEvent } = cursor.origin
    search.order = []
    work.left = search.left
    evaluator.begin(cursor)
    for (let turn = 0; turn < count; turn++) {
      const ordinal = ordinalOf(turn)
      const isFull = places.length + search.order.length >= limit
      cursor.moveTo(firstEvent + ordinal)
      if (!isFull && tryMatch(search, cursor, turn)) continue
      search.stopped = { reason: isFull ? 'limit' : 'cost', read: index, ordinal }
      break
    }
    search.left = work.left
  }

  /** Keeps what some query matched, each event once, while there is room for records. */
  #keep(searches: readonly Search[], order: ReadOrder, withRecords: boolean): void {
    const { read, index, count, ordinalOf } = order
    const isFound = new Uint8Array(count)
    for (const search of searches) for (const turn of search.order) isFound[turn] = 1
    const placeOf = new Map<number, number>()
    let end = count
    for (let turn = 0; turn < count; turn++) {
      if (isFound[turn] === 0) continue
      if (this.#records.length >= MATCH_RECORDS_BYTES_MAX) {
        end = turn
        break
      }
      placeOf.set(turn, this.#found.length)
      this.#add(read, index, ordinalOf(turn), withRecords)
    }
    for (const search of searches) {
      for (const turn of search.order) {
        const place = placeOf.get(turn)
        if (place !== undefined) search.places.push(place)
      }
      const isCut = end < count && (search.order.at(-1) ?? -1) >= end
      const isRunning = end < count && search.stopped === undefined
      if (isCut || isRunning) {
        search.stopped = { reason: 'bytes', read: index, ordinal: ordinalOf(end) }
      }
    }
  }

  #add(read: SegmentRead, index: number, ordinal: number, withRecord: boolean): void {
    const event = (read.firstEvent ?? 0) + ordinal
    this.#cursor.moveTo(event)
    const timeNs = BigInt(timeMsOf(this.#cursor)) * NS_PER_MS + BigInt(timeNanosOf(this.#cursor))
    if (withRecord) this.#records.write(read, this.#stored, ordinal, event)
    this.#found.push({ read: index, ordinal, timeNs, jsonEnd: this.#records.length })
  }

  #takeEvents(): MatchedEvents {
    const found = this.#found
    this.#found = []
    return {
      count: found.length,
      read: Uint32Array.from(found, ({ read }) => read),
      ordinal: Uint32Array.from(found, ({ ordinal }) => ordinal),
      timeNs: BigInt64Array.from(found, ({ timeNs }) => clamped(timeNs)),
      json: this.#records.take(),
      jsonEnd: Uint32Array.from(found, ({ jsonEnd }) => jsonEnd),
    }
  }
}

interface FoundEvent {
  readonly read: number
  readonly ordinal: number
  readonly timeNs: bigint
  readonly jsonEnd: number
}

/** Looks at the event at the cursor; false when there is nothing left to do it with. */
function tryMatch(search: Search, cursor: EventCursor, turn: number): boolean {
  const { evaluator } = search
  try {
    if (isInRange(cursor, search) && evaluator.matches(cursor)) search.order.push(turn)
  } catch (error) {
    if (!(error instanceof WorkSpentError)) throw error
    if (search.looked > 0) return false
    // All that there was did not do for one event: the next task must not begin with it again.
    search.undecided++
    evaluator.work.left = 0
  }
  search.looked++
  return true
}

function isInRange(event: EventCursor, { from, to }: Search): boolean {
  if (from === undefined || to === undefined) return true
  const ms = timeMsOf(event)
  const nanos = timeNanosOf(event)
  return !isBefore(ms, nanos, from.ms, from.nanos) && isBefore(ms, nanos, to.ms, to.nanos)
}

/** Times past what 64 bits hold in nanoseconds: the years before 1678 and from 2262 on. */
function clamped(ns: bigint): bigint {
  if (ns > INT64_MAX) return INT64_MAX
  return ns < -INT64_MAX ? -INT64_MAX : ns
}
