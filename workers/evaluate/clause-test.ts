/**
 * A clause of several queries, asked about the events of a segment: each event is evaluated at most
 * once for all of them, and each value of a path with few of them once in all (`path-values.ts`).
 */

import type { Evaluator } from './evaluator.ts'
import type { EventCursor } from './event-cursor.ts'
import { NOT_KEPT, type PathValues, VALUES_MAX } from './path-values.ts'

/** What is remembered of a value or an event: 0 is nothing. */
const FALSE = 1
const TRUE = 2

export class ClauseTest {
  readonly #evaluator: Evaluator
  /** Of the path that the clause is about; undefined for other clauses. */
  readonly #values: PathValues | undefined
  /** By the number of the value. */
  readonly #ofValue: Uint8Array
  /** By the event's ordinal in the segment. */
  #ofEvent = new Uint8Array(0)
  #segment = 0

  constructor(evaluator: Evaluator, values?: PathValues) {
    this.#evaluator = evaluator
    this.#values = values
    this.#ofValue = new Uint8Array(values === undefined ? 0 : VALUES_MAX + 1)
  }

  /**
   * Which of `ordinals` it is true of: events of the segment that the cursor's origin tells, the
   * `segment`th that its worker looks at, from 1, of `count` events. Throws `WorkSpentError`, when
   * it would cost more than `steps`.
   */
  passing(event: EventCursor, ordinals: readonly number[], asked: Asked): readonly number[] {
    this.#evaluator.work.left = asked.steps
    this.#begin(event, asked)
    const passing: number[] = []
    const numbers = this.#values?.numbers
    const { firstEvent } = event.origin
    for (const ordinal of ordinals) {
      // A look-up, for nearly all: what follows is for what was not met before.
      const number = numbers === undefined ? NOT_KEPT : numbers[ordinal]!
      let answer = number < 0 ? 0 : this.#ofValue[number]!
      if (answer === 0) {
        event.moveTo(firstEvent + ordinal)
        answer = this.#answer(event, ordinal)
      }
      if (answer === TRUE) passing.push(ordinal)
    }
    return passing
  }

  /** Steps that are left. */
  get left(): number {
    return this.#evaluator.work.left
  }

  #begin(event: EventCursor, { segment, count }: Asked): void {
    if (this.#segment === segment) return
    this.#segment = segment
    this.#evaluator.begin(event)
    if (this.#ofEvent.length < count) this.#ofEvent = new Uint8Array(2 * count)
    else this.#ofEvent.fill(0, 0, count)
  }

  #answer(event: EventCursor, ordinal: number): number {
    const number = this.#values?.numberOf(event, ordinal, this.#evaluator.work) ?? NOT_KEPT
    const known = number === NOT_KEPT ? this.#ofEvent : this.#ofValue
    const place = number === NOT_KEPT ? ordinal : number
    if (known[place] === 0) known[place] = this.#evaluator.matches(event) ? TRUE : FALSE
    return known[place]!
  }
}

export interface Asked {
  readonly segment: number
  readonly count: number
  readonly steps: number
}
