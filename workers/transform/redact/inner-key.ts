/**
 * The key of a value within text that contains JSON, read backwards from the colon after the key. A
 * key in quotes follows a brace, a comma or the text's beginning; one without quotes only a brace,
 * or a comma within braces.
 */

import { judgeName } from '../names/secret-names.ts'
import { NO_QUOTE, Quote, SINGLE_QUOTE } from './inner-quotes.ts'
import { decodedEnd, isNameByte, isStringPrefix, spaceStart } from './inner-text.ts'

const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const MORE = 0x3e
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Names remembered. */
const NAMES_MAX = 1_024

export class InnerKey {
  /** The quote before the key read last; without a form where it has no quotes. */
  readonly quote = new Quote()
  readonly #close = new Quote()
  #bytes: Uint8Array = new Uint8Array(0)
  /** Where the text begins. */
  #textStart = 0
  #start = 0
  #end = 0
  /** Names are judged slowly, and there are few that a kernel takes for secret. */
  readonly #judged = new Map<string, number>()
  /** Braces that are open at `bracesAt`. */
  braces = 0
  bracesAt = 0

  /** The text whose keys are read next, in their order. */
  begin(bytes: Uint8Array, start: number): void {
    this.#bytes = bytes
    this.#textStart = start
    this.braces = 0
    this.bracesAt = start
  }

  /** The same text once more, after one within it. */
  resume(start: number, braces: number, bracesAt: number): void {
    this.#textStart = start
    this.braces = braces
    this.bracesAt = bracesAt
  }

  /**
   * How surely the key read last names a secret. A key with dots is judged both by its last segment
   * and as one name: `db.pin`, `api.key`; `password.policy` names none.
   */
  judge(): number {
    const name = decodedEnd(this.#bytes, this.#start, this.#end)
    const known = this.#judged.get(name)
    if (known !== undefined) return known
    const dot = name.lastIndexOf('.')
    const last = judgeName(name.slice(dot + 1))
    const judged = dot < 0 ? last : Math.max(last, judgeName(name.replaceAll('.', '_')))
    if (this.#judged.size === NAMES_MAX) this.#judged.clear()
    this.#judged.set(name, judged)
    return judged
  }

  /** Whether a key ends before `:`, or `=>` whose last byte is at `sign`. */
  read(sign: number): boolean {
    const bytes = this.#bytes
    const start = this.#textStart
    let end = bytes[sign] === MORE ? sign - 1 : sign
    while (end > start && bytes[end - 1] === SPACE) end--
    const [open, close] = [this.quote, this.#close]
    if (!close.readBefore(bytes, start, end)) return this.#readBareKey(end)
    const last = bytes[end - 1]
    let at = close.start
    while (at > start) {
      const isOpen = bytes[at - 1] === last && open.readBefore(bytes, start, at)
      if (isOpen && open.form === close.form) break
      at--
    }
    if (at === start || open.backslashes !== close.backslashes) return false
    this.#start = open.end
    this.#end = close.start
    if (open.form === SINGLE_QUOTE && this.#isOverMembers()) return false
    let from = open.start
    if (open.form === SINGLE_QUOTE && isStringPrefix(bytes, start, from - 1)) from--
    from = spaceStart(bytes, start, from)
    return from === start || isBeforeMember(bytes[from - 1]!)
  }

  /**
   * Whether apostrophes are around members of JSON, as in `{"a {'": 1, "b': c": 2}`: they are of
   * its strings, and there is no such key.
   */
  #isOverMembers(): boolean {
    const bytes = this.#bytes
    for (let i = this.#start; i < this.#end - 1; i++) {
      if (bytes[i] === QUOTE && (bytes[i + 1] === COLON || bytes[i + 1] === COMMA)) return true
    }
    return false
  }

  /** The same of a key without quotes, a name or what Ruby calls a symbol. */
  #readBareKey(end: number): boolean {
    const bytes = this.#bytes
    const start = this.#textStart
    let from = end
    while (from > start && isNameByte(bytes[from - 1]!)) from--
    if (from === end) return false
    this.#start = from
    this.#end = end
    this.quote.form = NO_QUOTE
    this.quote.backslashes = 0
    if (from > start && bytes[from - 1] === COLON) from--
    from = spaceStart(bytes, start, from)
    return from > start && isBeforeMember(bytes[from - 1]!) && this.#isInBraces(from)
  }

  /** Whether a brace is open at `at`; asked in ascending order. */
  #isInBraces(at: number): boolean {
    const bytes = this.#bytes
    let braces = this.braces
    for (let i = this.bracesAt; i < at; i++) {
      const byte = bytes[i]
      if (byte === OPEN_OBJECT) braces++
      else if (byte === CLOSE_OBJECT && braces > 0) braces--
    }
    this.braces = braces
    this.bracesAt = Math.max(at, this.bracesAt)
    return braces > 0
  }
}

function isBeforeMember(byte: number): boolean {
  return byte === OPEN_OBJECT || byte === COMMA
}
