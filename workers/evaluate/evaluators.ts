/** The evaluators of a worker, kept from task to task: a tail asks the same for an hour. */

import { parse } from '../../src/language/parse.ts'
import { MATCH_QUERIES_KEPT_MAX } from '../../src/limits.ts'
import { Evaluator } from './evaluator.ts'
import { RegexMemory } from './regexes.ts'

export class Evaluators {
  /** Those asked for last are last. */
  readonly #kept = new Map<string, Evaluator>()
  readonly #memory = new RegexMemory()

  /** How many are kept. */
  get size(): number {
    return this.#kept.size
  }

  /** Precondition: `text` parses. */
  of(text: string, textFields: readonly string[], isAllText = false): Evaluator {
    const key = JSON.stringify([text, isAllText, ...textFields])
    const evaluator =
      this.#kept.get(key) ?? new Evaluator(parse(text), { textFields, isAllText }, this.#memory)
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
