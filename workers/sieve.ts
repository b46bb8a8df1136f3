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
import type { Evaluator } from './evaluate/evaluator.ts'
import { Evaluators } from './evaluate/evaluators.ts'
import { EventCursor, type TapedEvents } from './evaluate/event-cursor.ts'
import { chooseShared } from './evaluate/shared-clauses.ts'
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

interface QuerySet {
  readonly queries: readonly SievedQuery[]
  readonly gates: readonly Gate[]
}

interface SievedQuery {
  readonly evaluator: Evaluator
  readonly gate: Gate | undefined
}

/** A clause that several queries need: they look only at events for which it is true. */
interface Gate {
  readonly evaluator: Evaluator
  passed: readonly number[]
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
    { queries, gates }: QuerySet,
    taped: TapedEvents,
    { first, count }: EventRange,
  ): SievedMatches | undefined {
    const all = Array.from({ length: count }, (_, ordinal) => ordinal)
    for (const gate of gates) gate.passed = this.#passing(gate.evaluator, all)
    const isFound = new Uint8Array(count)
    const byQuery = queries.map(({ evaluator, gate }) => {
      const passing = this.#passing(evaluator, gate?.passed ?? all)
      for (const ordinal of passing) isFound[ordinal] = 1
      return passing
    })
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
    const [textFields, ...texts] = JSON.parse(json) as [string[], ...string[]]
    const before = this.#evaluators.size
    const evaluators = texts.map((text) => this.#evaluators.of(text, textFields))
    // Their regular expressions are compiled when they meet the first text.
    this.#extra += TAIL_SIEVE_QUERY_STEPS * (this.#evaluators.size - before)
    const gates = new Map<string, Gate>()
    const shared = chooseShared(evaluators.map(({ needed }) => needed))
    const queries = evaluators.map((evaluator, index) => {
      const clause = shared[index]
      if (clause === undefined) return { evaluator, gate: undefined }
      const gate = gates.get(clause.key) ?? {
        evaluator: this.#evaluators.ofClause(clause),
        passed: [],
      }
      gates.set(clause.key, gate)
      return { evaluator, gate }
    })
    this.#evaluators.trim()
    return { queries, gates: [...gates.values()] }
  }
}
