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
} from '../src/model/batch/sieved-events.ts'
import type { EventRange } from './block/native-block.ts'
import { ClauseTest } from './evaluate/clause-test.ts'
import { Evaluators } from './evaluate/evaluators.ts'
import { EventCursor, type TapedEvents } from './evaluate/event-cursor.ts'
import { PathValues } from './evaluate/path-values.ts'
import { chooseShared, type NeededClause, neededClauses } from './evaluate/shared-clauses.ts'
import { WorkSpentError } from './evaluate/work.ts'
import { EventRecords } from './event-records.ts'

/** Sets of queries that are kept compiled. */
const SETS_KEPT_MAX = 16
/** Paths of a set whose values are numbered; clauses about others are evaluated. */
const SET_PATHS_MAX = 64
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
  /** Without what the branches above it have. */
  readonly needed: readonly NeededClause[]
}

/** A query at its branch: all of `tests` are true of what matches, the cheapest first. */
interface Leaf {
  readonly index: number
  readonly tests: readonly ClauseTest[]
}

/** Queries that need the same clause: they look only at events for which it is true. */
interface Branch {
  /** Undefined at the root. */
  readonly clause: ClauseTest | undefined
  readonly leaves: readonly Leaf[]
  readonly branches: readonly Branch[]
}

interface QuerySet {
  readonly root: Branch
  readonly paths: ReadonlyMap<string, PathValues>
  readonly count: number
}

export class Sieve {
  readonly #sets = new LRUCache<number, QuerySet>({ max: SETS_KEPT_MAX })
  readonly #evaluators = new Evaluators()
  readonly #cursor = new EventCursor()
  readonly #records = new EventRecords()
  /** What may still be spent on the segment, and beside that on queries that are new. */
  #left = 0
  #extra = 0
  #segment = 0
  #count = 0

  run(taped: TapedEvents, range: EventRange, watched: WatchedQueries): SievedEvents {
    const { setId } = watched
    const set = this.#setOf(watched)
    this.#cursor.begin(taped)
    this.#cursor.origin = { ...READ, firstEvent: range.first }
    const own = TAIL_SIEVE_SEGMENT_STEPS + range.count * TAIL_SIEVE_EVENT_STEPS
    this.#left = own + this.#extra
    for (const values of set.paths.values()) values.begin(this.#cursor, range.count)
    this.#segment++
    this.#count = range.count
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
    const { clause, leaves, branches } = branch
    const passing = clause === undefined ? ordinals : this.#passing(clause, ordinals)
    for (const { index, tests } of leaves) {
      byQuery[index] = tests.reduce((left, test) => this.#passing(test, left), passing)
    }
    for (const one of branches) this.#ask(one, passing, byQuery)
  }

  /** The ones of `ordinals` that match. Throws `WorkSpentError`. */
  #passing(test: ClauseTest, ordinals: readonly number[]): readonly number[] {
    if (ordinals.length === 0) return ordinals
    const asked = { segment: this.#segment, count: this.#count, steps: this.#left }
    const passing = test.passing(this.#cursor, ordinals, asked)
    this.#left = test.left
    return passing
  }

  #setOf({ setId, json }: WatchedQueries): QuerySet {
    const set = this.#sets.get(setId) ?? this.#compile(json)
    this.#sets.set(setId, set)
    return set
  }

  #compile(json: string): QuerySet {
    const [textFields, ...texts] = JSON.parse(json) as [readonly string[], ...string[]]
    const before = this.#evaluators.size
    const set = new SetTests(this.#evaluators)
    const queries = texts.map((one, index) => {
      return { index, needed: neededClauses(parse(one), textFields) }
    })
    const root = branchOf(set, undefined, queries)
    // Their regular expressions are compiled when they meet the first text.
    this.#extra += TAIL_SIEVE_QUERY_STEPS * (this.#evaluators.size - before)
    this.#evaluators.trim()
    return { root, paths: set.paths, count: queries.length }
  }
}

/** The tests of a set: one for each clause, whichever queries have it. */
class SetTests {
  readonly #evaluators: Evaluators
  readonly #tests = new Map<NeededClause['key'], ClauseTest>()
  readonly paths = new Map<string, PathValues>()

  constructor(evaluators: Evaluators) {
    this.#evaluators = evaluators
  }

  of(needed: NeededClause): ClauseTest {
    const { key, path } = needed
    let test = this.#tests.get(key)
    if (test === undefined) {
      const values = path === undefined ? undefined : this.#valuesOf(path)
      test = new ClauseTest(this.#evaluators.ofClause(needed), values)
      this.#tests.set(key, test)
    }
    return test
  }

  #valuesOf(path: string): PathValues | undefined {
    const known = this.paths.get(path)
    if (known !== undefined || this.paths.size >= SET_PATHS_MAX) return known
    const values = new PathValues(path)
    this.paths.set(path, values)
    return values
  }
}

function branchOf(
  set: SetTests,
  clause: ClauseTest | undefined,
  queries: readonly SievedQuery[],
): Branch {
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
    group[1].push(query)
  }
  const branches: Branch[] = []
  for (const [needed, group] of groups.values()) {
    if (group.length === 1) alone.push(...group)
    else
      branches.push(
        branchOf(
          set,
          set.of(needed),
          group.map((one) => without(one, needed)),
        ),
      )
  }
  const leaves = alone.map(({ index, needed }): Leaf => {
    const cheapFirst = needed.toSorted((a, b) => a.cost - b.cost)
    return { index, tests: cheapFirst.map((one) => set.of(one)) }
  })
  return { clause, leaves, branches }
}

function without({ index, needed }: SievedQuery, clause: NeededClause): SievedQuery {
  return { index, needed: needed.filter(({ key }) => key !== clause.key) }
}
