/** The pattern of the event that a query looks at, found once for all of its clauses. */
import { TextPlaces } from '../facts/text-places.ts'
import type { EventCursor } from './event-cursor.ts'
import type { Work } from './work.ts'

/** Of an event, and of a byte of its text that is read. */
const EVENT_STEPS = 200
const BYTE_STEPS = 15
const NO_EVENT = -1

export class EventPattern {
  /** Of the event that was found last. */
  low = 0
  high = 0
  readonly #textFields: readonly string[]
  /** Made when a query asks for a pattern at all. */
  #places: TextPlaces | undefined
  #event = NO_EVENT

  /** `textFields`: the stream's setting. */
  constructor(textFields: readonly string[]) {
    this.#textFields = textFields
  }

  /** Before the events of a batch. */
  begin({ trie, facts }: EventCursor): void {
    this.#event = NO_EVENT
    this.#places?.begin(trie, facts)
  }

  /** Whether the event that the cursor is at has a pattern. Throws `WorkSpentError`. */
  find(event: EventCursor, work: Work): boolean {
    if (event.event !== this.#event) this.#read(event, work)
    return this.low !== 0 || this.high !== 0
  }

  #read(cursor: EventCursor, work: Work): void {
    const { bytes, trie, facts, events, event } = cursor
    if (this.#places === undefined) {
      this.#places = new TextPlaces(this.#textFields)
      this.#places.begin(trie, facts)
    }
    const found = facts.patterns.find(cursor, bytes, events, facts, this.#places, event)
    work.spend(EVENT_STEPS + BYTE_STEPS * found.bytesRead)
    this.low = found.low
    this.high = found.high
    this.#event = event
  }

  /** Gives back what it has of the arena. */
  dispose(): void {
    this.#places?.dispose()
    this.#places = undefined
  }
}
