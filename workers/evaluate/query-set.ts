/**
 * Several queries over the events of a segment. A clause that more than one of them needs is asked
 * once for all, and each value of a path once in all; the others of its queries are then asked only
 * where it is true.
 */
import { ClauseTest } from './clause-test.ts'
import type { Evaluators } from './evaluators.ts'
import type { EventCursor } from './event-cursor.ts'
import { PathValues } from './path-values.ts'
import { chooseShared, type NeededClause } from './shared-clauses.ts'

/** Paths of a set whose values are numbered; clauses about others are evaluated. */
const SET_PATHS_MAX = 64

interface NeededQuery {
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

export class QuerySet {
  readonly count: number
  readonly #evaluators: Evaluators
  /** One for each clause, whichever queries have it. */
  readonly #tests = new Map<NeededClause['key'], ClauseTest>()
  readonly #paths = new Map<string, PathValues>()
  readonly #root: Branch
  #asked = { segment: 0, count: 0 }
  /** Steps that are left of what the last segment could cost. */
  left = 0

  /** `queries`: what each needs. */
  constructor(evaluators: Evaluators, queries: readonly (readonly NeededClause[])[]) {
    this.count = queries.length
    this.#evaluators = evaluators
    this.#root = this.#branchOf(
      undefined,
      queries.map((needed, index) => ({ index, needed })),
    )
  }

  /**
   * For each query those of `ordinals`, which rise, that match: events of the segment that the
   * cursor's origin tells. Throws `WorkSpentError` when it would cost more than `steps`.
   */
  find(event: EventCursor, ordinals: readonly number[], steps: number): (readonly number[])[] {
    const count = (ordinals.at(-1) ?? -1) + 1
    for (const values of this.#paths.values()) values.begin(event, count)
    this.#asked = { segment: this.#asked.segment + 1, count }
    this.left = steps
    const found = Array.from({ length: this.count }, (): readonly number[] => [])
    this.#ask(event, this.#root, ordinals, found)
    return found
  }

  #ask(
    event: EventCursor,
    { clause, leaves, branches }: Branch,
    ordinals: readonly number[],
    found: (readonly number[])[],
  ): void {
    const passing = clause === undefined ? ordinals : this.#passing(event, clause, ordinals)
    for (const { index, tests } of leaves) {
      found[index] = tests.reduce((left, test) => this.#passing(event, test, left), passing)
    }
    for (const one of branches) this.#ask(event, one, passing, found)
  }

  #passing(event: EventCursor, test: ClauseTest, ordinals: readonly number[]): readonly number[] {
    if (ordinals.length === 0) return ordinals
    const { segment, count } = this.#asked
    const passing = test.passing(event, ordinals, { segment, count, steps: this.left })
    this.left = test.left
    return passing
  }

  #branchOf(clause: ClauseTest | undefined, queries: readonly NeededQuery[]): Branch {
    const shared = chooseShared(queries.map(({ needed }) => needed))
    const groups = new Map<NeededClause['key'], [NeededClause, NeededQuery[]]>()
    const alone: NeededQuery[] = []
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
      else {
        const others = group.map((one) => without(one, needed))
        branches.push(this.#branchOf(this.#testOf(needed), others))
      }
    }
    const leaves = alone.map(({ index, needed }): Leaf => {
      const cheapFirst = needed.toSorted((a, b) => a.cost - b.cost)
      return { index, tests: cheapFirst.map((one) => this.#testOf(one)) }
    })
    return { clause, leaves, branches }
  }

  #testOf(needed: NeededClause): ClauseTest {
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
    const known = this.#paths.get(path)
    if (known !== undefined || this.#paths.size >= SET_PATHS_MAX) return known
    const values = new PathValues(path)
    this.#paths.set(path, values)
    return values
  }
}

function without({ index, needed }: NeededQuery, clause: NeededClause): NeededQuery {
  return { index, needed: needed.filter(({ key }) => key !== clause.key) }
}
