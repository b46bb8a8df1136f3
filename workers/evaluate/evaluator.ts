/**
 * Whether events on the tape match a query (docs/language.md). The tree is compiled once; the cost
 * of an event is then that of the byte ranges that clauses read. Nothing is parsed into values.
 */
import type { Query } from '../../src/language/query-tree.ts'
import { type CompiledQuery, compileQuery } from './compile-query.ts'
import type { EventCursor } from './event-cursor.ts'
import { EventPattern } from './event-pattern.ts'
import { Regexes, RegexMemory } from './regexes.ts'
import { type NeededClause, neededClauses } from './shared-clauses.ts'
import { Work } from './work.ts'

/** What an event costs beside what its clauses count. */
const EVENT_STEPS = 50

export class Evaluator {
  /** What it may cost; set by the caller. */
  readonly work = new Work()
  /** Each is true of every event that matches. */
  readonly needed: readonly NeededClause[]
  readonly #regexes: Regexes
  readonly #pattern: EventPattern
  readonly #compiled: CompiledQuery

  /** `textFields`: the stream's setting. */
  constructor(query: Query, textFields: readonly string[], memory = new RegexMemory()) {
    this.needed = neededClauses(query, textFields)
    this.#regexes = new Regexes(this.work, memory)
    this.#pattern = new EventPattern(textFields)
    this.#compiled = compileQuery(query, textFields, {
      work: this.work,
      regexes: this.#regexes,
      pattern: this.#pattern,
    })
  }

  /** Before the events of a batch: `event` has begun it. */
  begin(event: EventCursor): void {
    this.#pattern.begin(event)
    this.#compiled.begin(event)
  }

  /** Whether the event that the cursor is at matches. Throws `WorkSpentError`. */
  matches(event: EventCursor): boolean {
    this.work.spend(EVENT_STEPS)
    return this.#compiled.test(event, event.start, event.end, 0)
  }

  /** Gives back what its regular expressions and patterns hold. */
  dispose(): void {
    this.#regexes.forget()
    this.#pattern.dispose()
  }
}
