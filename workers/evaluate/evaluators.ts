/** The evaluators of a worker, kept from task to task: a tail asks the same for an hour. */

import { parse } from '../../src/language/parse.ts'
import { Evaluator } from './evaluator.ts'
import { RegexMemory } from './regexes.ts'
import type { NeededClause } from './shared-clauses.ts'

/** Queries that a worker keeps ready for the next task. */
export const MATCH_QUERIES_KEPT_MAX = 256

export class Evaluators {
  /** Those asked for last are last. */
  readonly #kept = new Map<string, Evaluator>()
  readonly #memory = new RegexMemory()

  /** How many are kept. */
  get size(): number {
    return this.#kept.size
  }

  /** Precondition: `text` parses. */
  of(text: string, textFields: readonly string[]): Evaluator {
    const key = JSON.stringify([text, ...textFields])
    return this.#keep(key, () => new Evaluator(parse(text), textFields, this.#memory))
  }

  /** Of a clause that several queries need. */
  ofClause({ key, clause, textFields }: NeededClause): Evaluator {
    return this.#keep(key, () => new Evaluator(clause, textFields, this.#memory))
  }

  #keep(key: string, make: () => Evaluator): Evaluator {
    const evaluator = this.#kept.get(key) ?? make()
    this.#kept.delete(key)
    this.#kept.set(key, evaluator)
    return evaluator
  }

  /** After a task: gives up what was not asked for lately. */
  trim(): void {
    for (const [key, evaluator] of this.#kept) {
      if (this.#kept.size <= MATCH_QUERIES_KEPT_MAX) return
      this.#kept.delete(key)
      evaluator.dispose()
    }
  }
}
