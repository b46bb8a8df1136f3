/**
 * What the tails of a stream ask, for ingest to look at while it has the events decoded, and what
 * it then found. A segment tells the set that it was asked about; tails may have come and gone
 * since, so the last sets are remembered.
 */
import { LRUCache } from 'lru-cache'
import { parse } from '../language/parse.ts'
import type { Query } from '../language/query-tree.ts'
import type { SievedEvents, SievedMatches, WatchedQueries } from '../model/batch/sieved-events.ts'
import type { StreamId } from '../model/stream.ts'

/** For so long that is not tried again then. */
export const TAIL_SIEVE_REST_MS = 1_000

/** What ingest has found in a segment, and for which queries. */
export interface SievedSegment {
  readonly texts: readonly string[]
  readonly found: SievedMatches
}

/** Sets before the newest that segments under way may still be of. */
const SETS_KEPT_MAX = 8
/** What commit gives: an event's id and receipt time, which may be its event time. */
const OF_COMMIT: ReadonlySet<string> = new Set(['_id', '_ingested_at', '_event_time'])

let setsMade = 0

export class QuerySets {
  readonly #streamId: StreamId
  readonly #texts = new LRUCache<number, readonly string[]>({ max: SETS_KEPT_MAX })
  #watched: WatchedQueries | undefined
  #isStale = true
  /** A set that has all queries of now. */
  #coveringId = 0
  /** Until then ingest is asked nothing: it took too long. Monotonic. */
  #restUntilMs = 0

  constructor(streamId: StreamId) {
    this.#streamId = streamId
  }

  /** Queries, or where words are looked for, may be others than before. */
  changed(): void {
    this.#isStale = true
    this.#coveringId = 0
  }

  /** What ingest is to look for; undefined for nothing. */
  watched(
    queries: () => Iterable<string>,
    textFields: readonly string[],
    nowMs: number,
  ): WatchedQueries | undefined {
    if (nowMs < this.#restUntilMs) return undefined
    if (this.#isStale) {
      this.#isStale = false
      const texts = [...new Set(queries())]
      const json = JSON.stringify([textFields, ...texts])
      if (json !== this.#watched?.json) this.#watched = this.#makeSet(json, texts)
    }
    return this.#watched
  }

  /** What was found for these queries; undefined when some of them was not asked. */
  find({ setId, found }: SievedEvents, queries: () => Iterable<string>): SievedSegment | undefined {
    const texts = this.#texts.get(setId)
    if (texts === undefined) return undefined
    if (found === undefined) {
      this.#restUntilMs = performance.now() + TAIL_SIEVE_REST_MS
      return undefined
    }
    if (this.#coveringId !== setId) {
      const asked = new Set(texts)
      for (const query of queries()) if (!asked.has(query)) return undefined
      this.#coveringId = setId
    }
    return { texts, found }
  }

  #makeSet(json: string, texts: readonly string[]): WatchedQueries | undefined {
    if (texts.length === 0 || texts.some((text) => asksOfCommit(parse(text)))) return undefined
    const setId = ++setsMade
    this.#texts.set(setId, texts)
    return { streamId: this.#streamId, setId, json }
  }
}

function asksOfCommit(query: Query): boolean {
  switch (query.kind) {
    case 'and':
    case 'or':
      return query.clauses.some(asksOfCommit)
    case 'not':
      return asksOfCommit(query.clause)
    case 'field':
      return query.field.kind === 'system' && OF_COMMIT.has(query.field.name)
    case 'all':
    case 'text':
    case 'element':
      return false
  }
}
