/**
 * Skips a JSON value that is not put on the tape because it nests too deep or is too large, and
 * judges its syntax nevertheless: a body with an error in it must not be accepted because the error
 * is in an element that is rejected. Accepts exactly what `JSON.parse` accepts. Cold.
 *
 * Without recursion: a body full of brackets has millions of levels. One bit per level says whether
 * it is an object.
 */
import {
  SYNTAX_COLON,
  SYNTAX_COMMA,
  SYNTAX_ESCAPE,
  SYNTAX_KEY,
  SYNTAX_NUMBER,
  SYNTAX_STRING,
  SYNTAX_VALUE,
} from './json-syntax.ts'

const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const ZERO = 0x30
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const LITERALS = ['true', 'false', 'null'].map((text) => Buffer.from(text))

export class JsonSkipper {
  /** What is wrong, as in `TAPE_ERRORS`, and where. */
  errorCode = 0
  errorAt = 0
  #bytes: Uint8Array = new Uint8Array(0)
  #end = 0
  #levels = new Uint8Array(64)
  #depth = 0

  /** Where the value at `start` ends, -1 when it is not valid or not over by `end`. */
  skip(bytes: Uint8Array, start: number, end: number): number {
    this.#bytes = bytes
    this.#end = end
    this.#depth = 0
    let pos = this.space(start)
    let isValueNext = true
    while (pos >= 0) {
      if (isValueNext) {
        isValueNext = this.#opens(pos)
        pos = isValueNext ? this.#first(pos) : this.#valueEnd(pos)
      } else if (this.#depth === 0) {
        return pos
      } else {
        pos = this.space(pos)
        isValueNext = this.#at(pos) === COMMA
        pos = isValueNext ? this.#member(this.space(pos + 1)) : this.#close(pos)
      }
    }
    return -1
  }

  /** Whether brackets open here that have something in them. */
  #opens(pos: number): boolean {
    const byte = this.#at(pos)
    if (byte !== OPEN_OBJECT && byte !== OPEN_ARRAY) return false
    return this.#at(this.space(pos + 1)) !== closing(byte)
  }

  /** Enters brackets: where the first value in them begins. */
  #first(pos: number): number {
    this.#push(this.#at(pos) === OPEN_OBJECT)
    return this.#member(this.space(pos + 1))
  }

  /** Past a scalar or empty brackets. */
  #valueEnd(pos: number): number {
    const byte = this.#at(pos)
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) return this.space(pos + 1) + 1
    if (byte === QUOTE) return this.#string(pos)
    if (byte === MINUS || isDigit(byte)) return this.#number(pos)
    for (const literal of LITERALS) {
      const end = pos + literal.length
      if (end <= this.#end && literal.equals(this.#bytes.subarray(pos, end))) return end
    }
    return this.#fail(SYNTAX_VALUE, pos)
  }

  /** In an object past the key and its colon, in an array nothing. */
  #member(pos: number): number {
    if (!this.#isInObject) return pos
    if (this.#at(pos) !== QUOTE) return this.#fail(SYNTAX_KEY, pos)
    const keyEnd = this.#string(pos)
    if (keyEnd < 0) return -1
    const colon = this.space(keyEnd)
    if (this.#at(colon) !== COLON) return this.#fail(SYNTAX_COLON, colon)
    return this.space(colon + 1)
  }

  #close(pos: number): number {
    const wanted = this.#isInObject ? CLOSE_OBJECT : CLOSE_ARRAY
    if (this.#at(pos) !== wanted) return this.#fail(SYNTAX_COMMA, pos)
    this.#depth--
    return pos + 1
  }

  get #isInObject(): boolean {
    const level = this.#depth - 1
    return (this.#levels[level >> 3]! & (1 << (level & 7))) !== 0
  }

  #push(isObject: boolean): void {
    const level = this.#depth++
    if (level >> 3 === this.#levels.length) {
      const levels = new Uint8Array(2 * this.#levels.length)
      levels.set(this.#levels)
      this.#levels = levels
    }
    if (isObject) this.#levels[level >> 3] = this.#levels[level >> 3]! | (1 << (level & 7))
    else this.#levels[level >> 3] = this.#levels[level >> 3]! & ~(1 << (level & 7))
  }

  #string(pos: number): number {
    for (let i = pos + 1; i < this.#end; i++) {
      const byte = this.#bytes[i]!
      if (byte === QUOTE) return i + 1
      if (byte < SPACE) return this.#fail(SYNTAX_STRING, i)
      if (byte !== BACKSLASH) continue
      const escaped = this.#at(++i)
      if (escaped === 0x75) {
        for (let digit = 0; digit < 4; digit++) {
          if (!isHexDigit(this.#at(++i))) return this.#fail(SYNTAX_ESCAPE, i)
        }
      } else if (!isEscape(escaped)) return this.#fail(SYNTAX_ESCAPE, i)
    }
    return this.#fail(SYNTAX_STRING, this.#end)
  }

  #number(pos: number): number {
    let at = this.#at(pos) === MINUS ? pos + 1 : pos
    at = this.#at(at) === ZERO ? at + 1 : this.#digits(at)
    if (at >= 0 && this.#at(at) === DOT) at = this.#digits(at + 1)
    if (at >= 0 && (this.#at(at) | 0x20) === 0x65) {
      const sign = this.#at(at + 1)
      at = this.#digits(sign === MINUS || sign === 0x2b ? at + 2 : at + 1)
    }
    return at
  }

  /** Past one digit or more. */
  #digits(pos: number): number {
    let at = pos
    while (isDigit(this.#at(at))) at++
    return at > pos ? at : this.#fail(SYNTAX_NUMBER, at)
  }

  /** Past white space. */
  space(pos: number): number {
    let at = pos
    while (isSpace(this.#at(at))) at++
    return at
  }

  /** 0, which begins nothing, at the end. */
  #at(pos: number): number {
    return pos < this.#end ? this.#bytes[pos]! : 0
  }

  #fail(code: number, at: number): number {
    this.errorCode = code
    this.errorAt = Math.min(at, this.#end)
    return -1
  }
}

function closing(byte: number): number {
  return byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66)
}

/** `"`, `\`, `/`, b, f, n, r, t. */
function isEscape(byte: number): boolean {
  return byte === QUOTE || byte === BACKSLASH || byte === 0x2f || 'bfnrt'.includes(charOf(byte))
}

function charOf(byte: number): string {
  return byte === 0 ? '?' : String.fromCharCode(byte)
}
