/** The event that is being looked at, and the batch that it is of. */
import type { EventFacts } from '../facts/event-facts.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { unescapeInto } from '../tape/json-string.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import type { PathTrie } from '../tape/path-trie.ts'
import { ESCAPED } from '../tape/tape-types.ts'

/** The batch's events on the tape, and what is known of them. */
export interface TapedEvents {
  readonly tape: JsonTape
  readonly bytes: Uint8Array
  readonly events: DecodedEvents
  readonly facts: EventFacts
}

/** The stored segment that an event is of: what its payload does not say. */
export interface EventOrigin {
  readonly segmentId: string
  readonly ingestedAtMs: number
  /** Events of the batch before the segment's first. */
  readonly firstEvent: number
}

const NOTHING = Buffer.alloc(0)
const NO_ENTRY = -1

export class EventCursor {
  entries: Int32Array = new Int32Array(0)
  bytes: Buffer = NOTHING
  trie!: PathTrie
  facts!: EventFacts
  events!: DecodedEvents
  origin: EventOrigin = { segmentId: '', ingestedAtMs: 0, firstEvent: 0 }
  /** Index in the batch. */
  event = 0
  /** Its entries on the tape, half-open. */
  start = 0
  end = 0
  /** Where `textOf` found the text: a range of these bytes. */
  text: Buffer = NOTHING
  textStart = 0
  textEnd = 0
  #unescaped: Buffer = NOTHING
  /** The entry whose text `#unescaped` holds. */
  #unescapedEntry = NO_ENTRY
  #unescapedLength = 0

  /** To be called before events of another batch, or of the same one decoded again. */
  begin({ tape, bytes, events, facts }: TapedEvents): void {
    this.entries = tape.entries
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.trie = tape.trie
    this.facts = facts
    this.events = events
    this.#unescapedEntry = NO_ENTRY
  }

  moveTo(event: number): void {
    this.event = event
    this.start = this.events.tapeStart[event]!
    this.end = this.events.tapeEnd[event]!
  }

  /** Finds the string at an entry, as UTF-8 without escapes; returns how many bytes were read. */
  textOf(at: number): number {
    const start = this.entries[at + 2]!
    const end = this.entries[at + 3]!
    if (this.entries[at + 1] !== ESCAPED) {
      this.text = this.bytes
      this.textStart = start
      this.textEnd = end
      return 0
    }
    const isNew = this.#unescapedEntry !== at
    if (isNew) this.#unescape(at, start, end)
    this.text = this.#unescaped
    this.textStart = 0
    this.textEnd = this.#unescapedLength
    return isNew ? end - start : 0
  }

  #unescape(at: number, start: number, end: number): void {
    if (this.#unescaped.length < end - start) {
      this.#unescaped = Buffer.allocUnsafeSlow(Math.max(1_024, 2 * (end - start)))
    }
    this.#unescapedLength = unescapeInto(this.bytes, start, end, this.#unescaped, 0)
    this.#unescapedEntry = at
  }
}
