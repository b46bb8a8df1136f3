/**
 * Walks over the members of one JSON object by hand, for objects that are not events: each key and
 * each value is judged by the tape and leaves nothing on it. Between `next` calls the caller lets
 * the tape judge the value and says where it ended.
 */
import { SYNTAX_COLON, SYNTAX_COMMA, SYNTAX_KEY } from '../tape/json-syntax.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import { ROOT } from '../tape/path-trie.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const CLOSE_OBJECT = 0x7d

export class JsonMembers {
  /** The key's bytes without the quotes, as spelled. */
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  /** Of the last value that `skip` took, unless it was an object or array: see tape entries. */
  valueType = 0
  scalarStart = 0
  scalarEnd = 0
  /** Behind the object once `next` returned false; -1 when it is broken, the tape then says why. */
  end = 0
  readonly #tape: JsonTape
  readonly #lineFeedIsSpace: boolean
  #bytes: Uint8Array = new Uint8Array(0)
  /** Behind the last value; at the opening brace before the first key. */
  #pos = 0
  #isFirst = true

  constructor(tape: JsonTape, lineFeedIsSpace = false) {
    this.#tape = tape
    this.#lineFeedIsSpace = lineFeedIsSpace
  }

  /** `open` is the position of the opening brace. */
  enter(bytes: Uint8Array, open: number): void {
    this.#bytes = bytes
    this.#pos = open
    this.#isFirst = true
  }

  /** Moves to the next member's value. */
  next(): boolean {
    const tape = this.#tape
    const bytes = this.#bytes
    let pos = tape.space(this.#isFirst ? this.#pos + 1 : this.#pos)
    if (bytes[pos] === CLOSE_OBJECT) {
      this.end = pos + 1
      return false
    }
    if (!this.#isFirst) {
      if (bytes[pos] !== COMMA) return this.#fail(SYNTAX_COMMA, pos)
      pos = tape.space(pos + 1)
    }
    this.#isFirst = false
    if (bytes[pos] !== QUOTE) return this.#fail(SYNTAX_KEY, pos)
    const keyEnd = this.skip(pos)
    if (keyEnd < 0) return false
    this.keyStart = pos + 1
    this.keyEnd = keyEnd - 1
    pos = tape.space(keyEnd)
    if (bytes[pos] !== COLON) return this.#fail(SYNTAX_COLON, pos)
    this.valueStart = tape.space(pos + 1)
    return true
  }

  /** Judges the value at `start` and forgets it. Returns where it ended or -1. */
  skip(start: number): number {
    const tape = this.#tape
    const mark = tape.length
    // Paths of array elements at the root: no event has such paths, as events are objects.
    const end = tape.parse(start, tape.trie.elementOf(ROOT), this.#lineFeedIsSpace)
    if (tape.length > mark) {
      const { entries } = tape
      this.valueType = entries[mark + 1]!
      this.scalarStart = entries[mark + 2]!
      this.scalarEnd = entries[mark + 3]!
    }
    tape.length = mark
    return this.leave(end)
  }

  /** The value was judged by the caller and ended at `end`; -1 when it is broken. Returns `end`. */
  leave(end: number): number {
    this.#pos = end
    if (end < 0) this.end = -1
    return end
  }

  /** Whether the key is spelled `word`. */
  isKey(word: Uint8Array): boolean {
    const { length } = word
    if (this.keyEnd - this.keyStart !== length) return false
    for (let i = 0; i < length; i++) if (this.#bytes[this.keyStart + i] !== word[i]) return false
    return true
  }

  #fail(code: number, at: number): false {
    this.#tape.errorCode = code
    this.#tape.errorAt = at
    this.end = -1
    return false
  }
}
