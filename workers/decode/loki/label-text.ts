/**
 * Labels as Loki's protobuf has them: the text `{name="value", …}`, values quoted as Go quotes
 * strings. Names are identifiers, or quoted as well; `'` and backticks quote too, and a comma at
 * the end is allowed, as the parser of Loki takes them. A stream without such a text has no
 * labels.
 */
import { LOKI_PAIRS_MAX } from '../../../src/limits.ts'
import type { Pairs } from './pairs.ts'

const OPEN = 0x7b
const CLOSE = 0x7d
const EQUALS = 0x3d
const COMMA = 0x2c
const BACKSLASH = 0x5c
const BACKTICK = 0x60
const DOUBLE = 0x22
const SINGLE = 0x27
const LINE_FEED = 0x0a
const CODE_POINT_MAX = 0x10ffff
/** What follows a backslash, to the byte it stands for. */
const ESCAPES = new Map(
  Object.entries({ a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '\\': BACKSLASH }).map(
    ([letter, byte]) => [letter.charCodeAt(0), byte],
  ),
)
/** What follows a backslash before digits, to how many these are. */
const HEX_DIGITS: ReadonlyMap<number, number> = new Map([
  [0x78, 2],
  [0x75, 4],
  [0x55, 8],
])

/** Reads the text `start`..`end` of `bytes` into `pairs`; returns why it is none. */
export function readLabelText(
  bytes: Uint8Array,
  start: number,
  end: number,
  pairs: Pairs,
): string | undefined {
  pairs.clear()
  if (start === end) return undefined
  const reader = new LabelReader(bytes, start, end, pairs)
  const fault = reader.read()
  return fault === undefined
    ? undefined
    : `labels are not {name="value", …}: ${fault} at byte ${reader.at - start}`
}

class LabelReader {
  at: number
  readonly #bytes: Uint8Array
  readonly #end: number
  readonly #pairs: Pairs

  constructor(bytes: Uint8Array, start: number, end: number, pairs: Pairs) {
    this.#bytes = bytes
    this.at = start
    this.#end = end
    this.#pairs = pairs
  }

  read(): string | undefined {
    const pairs = this.#pairs
    const { text } = pairs
    // Nothing gets longer by being unquoted.
    text.reserve(this.#end - this.at)
    if (!this.#isNext(OPEN)) return "no '{'"
    while (!this.#isNext(CLOSE)) {
      const name = text.length
      const isName = isQuote(this.#peek()) ? this.#quoted() : this.#identifier()
      if (!isName) return 'no name'
      const nameEnd = text.length
      if (!this.#isNext(EQUALS)) return "no '='"
      if (!isQuote(this.#peek()) || !this.#quoted()) return 'no quoted value'
      if (!pairs.add(name, nameEnd, nameEnd, text.length)) {
        return `over ${LOKI_PAIRS_MAX} labels (LOKI_PAIRS_MAX)`
      }
      if (!this.#isNext(COMMA) && this.#peek() !== CLOSE) return "no ',' or '}'"
    }
    return this.#peek() < 0 ? undefined : "text behind '}'"
  }

  /** The next byte that is not white space, or -1 at the end. */
  #peek(): number {
    while (this.at < this.#end && isSpace(this.#bytes[this.at]!)) this.at++
    return this.at < this.#end ? this.#bytes[this.at]! : -1
  }

  #isNext(byte: number): boolean {
    if (this.#peek() !== byte) return false
    this.at++
    return true
  }

  #identifier(): boolean {
    const bytes = this.#bytes
    const start = this.at
    while (this.at < this.#end && isNameByte(bytes[this.at]!, this.at === start)) {
      this.#write(bytes[this.at++]!)
    }
    return this.at > start
  }

  /** Reads the string at its quote; false where it is none. */
  #quoted(): boolean {
    const bytes = this.#bytes
    const quote = bytes[this.at++]!
    while (this.at < this.#end) {
      const byte = bytes[this.at]!
      if (byte === quote) {
        this.at++
        return true
      }
      if (quote === BACKTICK) this.#write(byte)
      else if (byte === LINE_FEED) return false
      else if (byte === BACKSLASH) {
        if (!this.#escape(quote)) return false
        continue
      } else this.#write(byte)
      this.at++
    }
    return false
  }

  #escape(quote: number): boolean {
    const kind = this.at + 1 < this.#end ? this.#bytes[this.at + 1]! : -1
    const byte = kind === quote ? quote : ESCAPES.get(kind)
    if (byte !== undefined) {
      this.at += 2
      this.#write(byte)
      return true
    }
    const digits = HEX_DIGITS.get(kind)
    if (digits === undefined) {
      const octal = this.#number(this.at + 1, 3, 8)
      if (octal < 0 || octal > 0xff) return false
      this.at += 4
      this.#write(octal)
      return true
    }
    const value = this.#number(this.at + 2, digits, 16)
    if (value < 0) return false
    if (digits > 2 && (value > CODE_POINT_MAX || (value >= 0xd800 && value < 0xe000))) return false
    this.at += 2 + digits
    if (digits === 2) this.#write(value)
    else for (const each of Buffer.from(String.fromCodePoint(value))) this.#write(each)
    return true
  }

  /** The number of so many digits, or -1. */
  #number(start: number, digits: number, base: number): number {
    if (start + digits > this.#end) return -1
    let value = 0
    for (let i = start; i < start + digits; i++) {
      const byte = this.#bytes[i]!
      const letter = byte | 0x20
      let digit = byte - 0x30
      if (digit > 9) digit = letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : base
      if (digit < 0 || digit >= base) return -1
      value = value * base + digit
    }
    return value
  }

  #write(byte: number): void {
    const { text } = this.#pairs
    text.bytes[text.length++] = byte
  }
}

function isQuote(byte: number): boolean {
  return byte === DOUBLE || byte === SINGLE || byte === BACKTICK
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === LINE_FEED || byte === 0x0d
}

function isNameByte(byte: number, isFirst: boolean): boolean {
  const letter = byte | 0x20
  if ((letter >= 0x61 && letter <= 0x7a) || byte === 0x5f || byte === 0x3a) return true
  return !isFirst && byte >= 0x30 && byte <= 0x39
}
