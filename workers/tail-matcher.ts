/**
 * Tests events against the queries of live tails while ingest has them on the tape: what the task
 * `match` finds in a payload, without decompressing and decoding it. Bounded: what costs more than
 * TAIL_SIEVE_… is left to that task.
 *
 *   events on the tape --each query's evaluator--> which match, their records as far as known
 */
import { LRUCache } from 'lru-cache'
import { parse } from '../src/language/parse.ts'
import {
  NO_RECEIPT_MS,
  NO_SEGMENT_ID,
  type SievedEvents,
  type SievedMatches,
  type WatchedQueries,
} from '../src/model/batch/sieved-events.ts'
import type { EventRange } from './block/native-block.ts'
import { Evaluators } from './evaluate/evaluators.ts'
import { EventCursor, type TapedEvents } from './evaluate/event-cursor.ts'
import { QuerySet } from './evaluate/query-set.ts'
import { neededClauses } from './evaluate/shared-clauses.ts'
import { WorkSpentError } from './evaluate/work.ts'
import { EventRecords } from './event-records.ts'

/**
 * What the queries of a stream's tails may cost while ingest has its events on the tape: steps of
 * about a nanosecond an event, a segment and a query that is new, and bytes of records. Past either
 * the segment is matched from its payload, after its commit.
 */
export const TAIL_SIEVE_EVENT_STEPS = 6_000
export const TAIL_SIEVE_SEGMENT_STEPS = 200_000
export const TAIL_SIEVE_QUERY_STEPS = 4_000_000
export const TAIL_SIEVE_BYTES_MAX = 256 * 1024

/** Sets of queries that are kept compiled. */
const SETS_KEPT_MAX = 16
/** The segment that the events will be of is not known yet. */
const READ = {
  payload: new Uint8Array(0),
  segmentId: NO_SEGMENT_ID,
  ingestedAtMs: NO_RECEIPT_MS,
  fromOrdinal: 0,
  toOrdinal: 0,
  newestFirst: false,
}

export class TailMatcher {
  readonly #sets = new LRUCache<number, QuerySet>({ max: SETS_KEPT_MAX })
  readonly #evaluators = new Evaluators()
  readonly #cursor = new EventCursor()
  readonly #records = new EventRecords()
  /** What may be spent beside a segment's own on queries that are new. */
  #extra = 0

  run(taped: TapedEvents, range: EventRange, watched: WatchedQueries): SievedEvents {
    const { setId } = watched
    const { first, count } = range
    const set = this.#setOf(watched)
    this.#cursor.begin(taped)
    this.#cursor.origin = { ...READ, firstEvent: first }
    const own = TAIL_SIEVE_SEGMENT_STEPS + count * TAIL_SIEVE_EVENT_STEPS
    const all = Array.from({ length: count }, (_, ordinal) => ordinal)
    try {
      const byQuery = set.find(this.#cursor, all, own + this.#extra)
      const found = this.#write(byQuery, taped, range)
      this.#extra = Math.min(this.#extra, set.left)
      return { setId, found }
    } catch (error) {
      if (!(error instanceof WorkSpentError)) throw error
      this.#extra = 0
      return { setId, found: undefined }
    }
  }

  /** What was found, with records; undefined when they are too large. */
  #write(
    byQuery: readonly (readonly number[])[],
    taped: TapedEvents,
    { first, count }: EventRange,
  ): SievedMatches | undefined {
    const isFound = new Uint8Array(count)
    for (const found of byQuery) for (const ordinal of found) isFound[ordinal] = 1
    const ordinals: number[] = []
    for (let ordinal = 0; ordinal < count; ordinal++) {
      if (isFound[ordinal] === 1) ordinals.push(ordinal)
    }
    const recordEnd = new Uint32Array(ordinals.length)
    const placeOf = new Map<number, number>()
    this.#records.begin()
    for (const [place, ordinal] of ordinals.entries()) {
      placeOf.set(ordinal, place)
      this.#records.write(READ, taped, ordinal, first + ordinal)
      recordEnd[place] = this.#records.length
      if (this.#records.length > TAIL_SIEVE_BYTES_MAX) return undefined
    }
    const matches = byQuery.flatMap((found) => [
      found.length,
      ...found.map((ordinal) => placeOf.get(ordinal)!),
    ])
    return {
      matches: Uint32Array.from(matches),
      ordinals: Uint32Array.from(ordinals),
      records: this.#records.take(),
      recordEnd,
    }
  }

  #setOf({ setId, json }: WatchedQueries): QuerySet {
    const set = this.#sets.get(setId) ?? this.#compile(json)
    this.#sets.set(setId, set)
    return set
  }

  #compile(json: string): QuerySet {
    const [textFields, ...texts] = JSON.parse(json) as [readonly string[], ...string[]]
    const before = this.#evaluators.size
    const needed = texts.map((text) => neededClauses(parse(text), textFields))
    const set = new QuerySet(this.#evaluators, needed)
    // Their regular expressions are compiled when they meet the first text.
    this.#extra += TAIL_SIEVE_QUERY_STEPS * (this.#evaluators.size - before)
    this.#evaluators.trim()
    return set
  }
}
