/**
 * Tests events against the queries of live tails while ingest has them on the tape: what the task
 * `match` finds in a payload, without decompressing and decoding it. Bounded: what costs more than
 * TAIL_SIEVE_… is left to that task.
 *
 *   events on the tape --each query's evaluator--> which match, their records as far as known
 */
import {
  TAIL_SIEVE_BYTES_MAX,
  TAIL_SIEVE_EVENT_STEPS,
  TAIL_SIEVE_QUERY_STEPS,
  TAIL_SIEVE_SEGMENT_STEPS,
} from '../src/limits.ts'
import {
  NO_RECEIPT_MS,
  NO_SEGMENT_ID,
  type SievedEvents,
  type SievedMatches,
  type WatchedQueries,
} from '../src/model/batch.ts'
import type { EventRange } from './block/native-block.ts'
import type { TextPaths } from './evaluate/compile-query.ts'
import type { Evaluator } from './evaluate/evaluator.ts'
import { Evaluators } from './evaluate/evaluators.ts'
import { EventCursor, type TapedEvents } from './evaluate/event-cursor.ts'
import { chooseShared, type NeededClause } from './evaluate/shared-clauses.ts'
import { WorkSpentError } from './evaluate/work.ts'
import { EventRecords } from './event-records.ts'

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

interface SievedQuery {
  /** Its place in the set. */
  readonly index: number
  readonly evaluator: Evaluator
  /** Without what the branches above it have. */
  readonly needed: readonly NeededClause[]
}

/** Queries that need the same clause: they look only at events for which it is true. */
interface Branch {
  /** Undefined at the root. */
  readonly clause: Evaluator | undefined
  readonly queries: readonly SievedQuery[]
  readonly branches: readonly Branch[]
}

interface QuerySet {
  readonly root: Branch
  readonly count: number
}

export class Sieve {
  /** Those asked for last are last. */
  readonly #sets = new Map<number, QuerySet>()
  readonly #evaluators = new Evaluators()
  readonly #cursor = new EventCursor()
  readonly #records = new EventRecords()
  /** What may still be spent on the segment, and beside that on queries that are new. */
  #left = 0
  #extra = 0

  run(taped: TapedEvents, range: EventRange, watched: WatchedQueries): SievedEvents {
    const { setId } = watched
    const set = this.#setOf(watched)
    this.#cursor.begin(taped)
    this.#cursor.origin = { ...READ, firstEvent: range.first }
    const own = TAIL_SIEVE_SEGMENT_STEPS + range.count * TAIL_SIEVE_EVENT_STEPS
    this.#left = own + this.#extra
    try {
      const found = this.#find(set, taped, range)
      this.#extra = Math.min(this.#extra, this.#left)
      return { setId, found }
    } catch (error) {
      if (!(error instanceof WorkSpentError)) throw error
      this.#extra = 0
      return { setId, found: undefined }
    }
  }

  /** Throws `WorkSpentError`. */
  #find(
    { root, count: queries }: QuerySet,
    taped: TapedEvents,
    { first, count }: EventRange,
  ): SievedMatches | undefined {
    const all = Array.from({ length: count }, (_, ordinal) => ordinal)
    const byQuery = Array.from({ length: queries }, (): readonly number[] => [])
    this.#ask(root, all, byQuery)
    const isFound = new Uint8Array(count)
    for (const found of byQuery) for (const ordinal of found) isFound[ordinal] = 1
    const ordinals = all.filter((ordinal) => isFound[ordinal] === 1)
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

  /** Throws `WorkSpentError`. */
  #ask(branch: Branch, ordinals: readonly number[], byQuery: (readonly number[])[]): void {
    const { clause, queries, branches } = branch
    const passing = clause === undefined ? ordinals : this.#passing(clause, ordinals)
    for (const { index, evaluator } of queries) byQuery[index] = this.#passing(evaluator, passing)
    for (const one of branches) this.#ask(one, passing, byQuery)
  }

  /** The ones of `ordinals` that match. Throws `WorkSpentError`. */
  #passing(evaluator: Evaluator, ordinals: readonly number[]): number[] {
    const passing: number[] = []
    if (ordinals.length === 0) return passing
    const cursor = this.#cursor
    const { work } = evaluator
    const { firstEvent } = cursor.origin
    work.left = this.#left
    evaluator.begin(cursor)
    for (const ordinal of ordinals) {
      cursor.moveTo(firstEvent + ordinal)
      if (evaluator.matches(cursor)) passing.push(ordinal)
    }
    this.#left = work.left
    return passing
  }

  #setOf({ setId, json }: WatchedQueries): QuerySet {
    const set = this.#sets.get(setId) ?? this.#compile(json)
    this.#sets.delete(setId)
    this.#sets.set(setId, set)
    if (this.#sets.size > SETS_KEPT_MAX) this.#sets.delete([...this.#sets.keys()][0]!)
    return set
  }

  #compile(json: string): QuerySet {
    const [{ textFields, isAllText }, ...texts] = JSON.parse(json) as [TextPaths, ...string[]]
    const before = this.#evaluators.size
    const evaluators = texts.map((text) => this.#evaluators.of(text, textFields, isAllText))
    // Their regular expressions are compiled when they meet the first text.
    this.#extra += TAIL_SIEVE_QUERY_STEPS * (this.#evaluators.size - before)
    const queries = evaluators.map((evaluator, index) => {
      return { index, evaluator, needed: evaluator.needed }
    })
    const root = this.#branch(undefined, queries)
    this.#evaluators.trim()
    return { root, count: queries.length }
  }

  #branch(clause: Evaluator | undefined, queries: readonly SievedQuery[]): Branch {
    const shared = chooseShared(queries.map(({ needed }) => needed))
    const groups = new Map<NeededClause['key'], [NeededClause, SievedQuery[]]>()
    const alone: SievedQuery[] = []
    for (const [at, query] of queries.entries()) {
      const one = shared[at]
      if (one === undefined) {
        alone.push(query)
        continue
      }
      const group = groups.get(one.key) ?? [one, []]
      groups.set(one.key, group)
      group[1].push({ ...query, needed: query.needed.filter(({ key }) => key !== one.key) })
    }
    const branches: Branch[] = []
    for (const [needed, group] of groups.values()) {
      if (group.length === 1) alone.push(...group)
      else branches.push(this.#branch(this.#evaluators.ofClause(needed), group))
    }
    return { clause, queries: alone, branches }
  }
}
