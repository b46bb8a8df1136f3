/**
 * Reads JSON token by token, for a document whose structure is known: no tape, no strings. Judges
 * as `JSON.parse` does. Throws a `JsonSyntaxError`, so at most once per document.
 *
 * Subtle: there are no bounds checks. The byte after the document is a line feed followed by
 * `TAPE_PADDING` bytes: no token can run past it unnoticed.
 */

import type { ByteSource } from '../build/scalar-writer.ts'
import { kernels } from '../kernel/kernels.ts'
import { IS_ESCAPE, IS_HEX, stringStop } from '../tape/json-scan.ts'
import {
  SYNTAX_COLON,
  SYNTAX_COMMA,
  SYNTAX_ESCAPE,
  SYNTAX_KEY,
  SYNTAX_NUMBER,
  SYNTAX_STRING,
  SYNTAX_VALUE,
  TAPE_ERRORS,
} from '../tape/json-syntax.ts'

export const QUOTE = 0x22
const BACKSLASH = 0x5c
export const COMMA = 0x2c
const COLON = 0x3a
export const MINUS = 0x2d
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d
export const OPEN_ARRAY = 0x5b
export const CLOSE_ARRAY = 0x5d
const SPACE = 0x20
const LITERALS = ['null', 'true', 'false'].map((text) => Buffer.from(text))
/** Results of `literal`. */
export const LITERAL_NULL = 0
export const LITERAL_TRUE = 1

export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError'
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

export class JsonReader {
  readonly source: ByteSource
  pos: number
  /** What `string` found, between the quotes, and whether it holds escapes. */
  stringStart = 0
  stringEnd = 0
  isEscaped = false
  readonly #end: number
  /** Open brackets while a value is skipped. */
  #open = new Uint8Array(64)

  constructor(source: ByteSource, start: number, end: number) {
    this.source = source
    this.pos = start
    this.#end = end
  }

  fail(message: string, at = this.pos): never {
    const isCutShort = at >= this.#end
    throw new JsonSyntaxError(isCutShort ? 'the body ends inside a value' : message, at)
  }

  #failSyntax(code: number, at = this.pos): never {
    return this.fail(TAPE_ERRORS[code]!, at)
  }

  /** The next byte that is not white space, or -1 at the end. */
  peek(): number {
    const { bytes } = this.source
    let { pos } = this
    while (pos < this.#end) {
      const byte = bytes[pos]!
      if (byte > SPACE) break
      if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
      pos++
    }
    this.pos = pos
    return pos < this.#end ? bytes[pos]! : -1
  }

  /** Reads a key and its colon; the key is then in `stringStart`..`stringEnd`. */
  key(): void {
    if (this.peek() !== QUOTE) this.#failSyntax(SYNTAX_KEY)
    this.string()
    if (this.peek() !== COLON) this.#failSyntax(SYNTAX_COLON)
    this.pos++
  }

  /** After a member or an element: true when another one follows, false after `close`. */
  more(close: number): boolean {
    const byte = this.peek()
    if (byte !== COMMA && byte !== close) this.#failSyntax(SYNTAX_COMMA)
    this.pos++
    return byte === COMMA
  }

  /** Opens an object or array at its bracket: false when it is empty, and read already. */
  open(close: number): boolean {
    this.pos++
    if (this.peek() !== close) return true
    this.pos++
    return false
  }

  /** Reads the string at its quote. */
  string(): void {
    const { bytes, view } = this.source
    this.stringStart = this.pos + 1
    this.isEscaped = false
    let pos = this.stringStart
    for (;;) {
      pos = stringStop(view, pos)
      const byte = bytes[pos]
      if (byte === QUOTE) break
      if (byte !== BACKSLASH) this.#failSyntax(SYNTAX_STRING, pos)
      this.isEscaped = true
      const kind = bytes[pos + 1]!
      if (IS_ESCAPE[kind] === 1) {
        pos += 2
        continue
      }
      if (kind !== 0x75) this.#failSyntax(SYNTAX_ESCAPE, pos)
      for (let i = pos + 2; i < pos + 6; i++) {
        if (IS_HEX[bytes[i]!] === 0) this.#failSyntax(SYNTAX_ESCAPE, pos)
      }
      pos += 6
    }
    this.stringEnd = pos
    this.pos = pos + 1
  }

  /** The same, quicker for long ones, of bytes of the arena. */
  longString(): void {
    const { byteOffset } = this.source.bytes
    const start = this.pos + 1
    const end = kernels.stringEnd(byteOffset + start)
    if (end === 0) return this.string() // It says what is wrong.
    this.isEscaped = end < 0
    this.stringStart = start
    this.stringEnd = Math.abs(end) - byteOffset
    this.pos = this.stringEnd + 1
  }

  /** Reads the number at its first character; true when it is written as an integer. */
  number(): boolean {
    const { bytes } = this.source
    const start = this.pos
    let pos = bytes[start] === MINUS ? start + 1 : start
    const firstDigit = pos
    while ((bytes[pos]! - 0x30) >>> 0 < 10) pos++
    const digits = pos - firstDigit
    if (digits === 0 || (digits > 1 && bytes[firstDigit] === 0x30)) {
      this.#failSyntax(SYNTAX_NUMBER)
    }
    const isInteger = bytes[pos] !== 0x2e && bytes[pos] !== 0x65 && bytes[pos] !== 0x45
    if (bytes[pos] === 0x2e) pos = this.#digits(pos + 1)
    if (bytes[pos] === 0x65 || bytes[pos] === 0x45) {
      pos++
      if (bytes[pos] === 0x2b || bytes[pos] === MINUS) pos++
      pos = this.#digits(pos)
    }
    this.pos = pos
    return isInteger
  }

  #digits(start: number): number {
    const { bytes } = this.source
    let pos = start
    while ((bytes[pos]! - 0x30) >>> 0 < 10) pos++
    if (pos === start) this.#failSyntax(SYNTAX_NUMBER)
    return pos
  }

  /** Reads null, true or false: 0, 1 or 2. */
  literal(): number {
    const { bytes } = this.source
    const { pos } = this
    for (const [kind, text] of LITERALS.entries()) {
      let i = 0
      while (i < text.length && bytes[pos + i] === text[i]) i++
      if (i < text.length) continue
      this.pos = pos + i
      return kind
    }
    return this.#failSyntax(SYNTAX_VALUE)
  }

  /** Whether null is next; it is then read. */
  isNull(): boolean {
    if (this.peek() !== 0x6e) return false
    return this.literal() === LITERAL_NULL
  }

  /** Reads over any value, however deep. */
  skipValue(): void {
    let depth = 0
    for (;;) {
      const byte = this.peek()
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        const close = byte + 2 // Both closing brackets are two after their opening ones.
        if (this.open(close)) {
          if (depth === this.#open.length) this.#growOpen()
          this.#open[depth++] = close
          if (byte === OPEN_OBJECT) this.key()
          continue
        }
      } else if (byte === QUOTE) this.string()
      else if (byte === MINUS || (byte - 0x30) >>> 0 < 10) this.number()
      else this.literal()
      while (depth > 0 && !this.more(this.#open[depth - 1]!)) depth--
      if (depth === 0) return
      if (this.#open[depth - 1] === CLOSE_OBJECT) this.key()
    }
  }

  #growOpen(): void {
    const grown = new Uint8Array(this.#open.length * 2)
    grown.set(this.#open)
    this.#open = grown
  }
}
