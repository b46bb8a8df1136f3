/**
 * Redaction within a string that contains JSON: as the whole string, after a prefix, several times,
 * cut off at its end, or in a string within it. Finds the values to replace, so that the rest of
 * the string stays: the values of keys that name a secret, and strings that look like one.
 *
 * It is not parsed, as most strings that contain JSON are not JSON. A key is found from its colon
 * (`inner-keys.ts`): quotes around it, before them a brace, a comma or the string's beginning. Its
 * value then ends where quotes or brackets of the same spelling close, or where the string around
 * them does. So one pass finds the keys of all levels, and needs no stack. The same pass knows what
 * languages print that is nearly JSON: `{'password': 'x'}`, `{"password"=>"x"}`, `{password: "x"}`;
 * a key without quotes counts within braces only, and before a string only.
 */

import type { ArenaText } from '../../kernel/arena-copy.ts'
import { stringStop } from '../../tape/json-scan.ts'
import { LISTED_NAME, NO_NAME, SECRET_NAME } from '../names/secret-names.ts'
import { isSecretText } from '../names/secret-values.ts'
import { NULL_TEXT, REASON_DENYLISTED, REASON_SECRET, REDACTED_TEXT } from '../rewrite/edits.ts'
import { NO_SECRET, SECRET_BYTES_MIN, type SecretScanner } from '../secrets/secrets.ts'
import { InnerKey } from './inner-key.ts'
import { firstInnerKey, nextInnerKey } from './inner-keys.ts'
import { findClose, isAround, NO_QUOTE, Quote, SINGLE_QUOTE } from './inner-quotes.ts'
import { decodedEnd, valueStart } from './inner-text.ts'

/** Strings that look like a secret are replaced within one another so deep. */
const SECRET_DEPTH_MAX = 4
/** Longer values are not flags, words or paths. */
const VALUE_BYTES_MAX = 256
/** A kind of `InnerEdits` that is not one of the scanner's. */
const BY_NAME = -1

const QUOTE = 0x22
const APOSTROPHE = 0x27
const COMMA = 0x2c
const COLON = 0x3a
const EQUALS = 0x3d
const MORE = 0x3e
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const SPACE = 0x20
const LETTER_U = 0x75

/** The null values of JSON, Python, Ruby and JavaScript. */
const NOTHING = /^(?:n(?:u(?:ll?)?)?|None|nil|undefined)?$/
const FLAG = /^(?:true|false)$/i

/** What is to be replaced, in the order of the text. */
export class InnerEdits {
  count = 0
  readonly start: number[] = []
  readonly end: number[] = []
  /** Whether `[REDACTED]` replaces it, else null does. */
  readonly isString: boolean[] = []
  /** The kind of the secret, or BY_NAME. */
  readonly kind: number[] = []

  add(start: number, end: number, isString: boolean, kind: number): void {
    const index = this.count++
    this.start[index] = start
    this.end[index] = end
    this.isString[index] = isString
    this.kind[index] = kind
  }

  /** Why, and by what. */
  reasonOf(index: number): number {
    const kind = this.kind[index]!
    return kind === BY_NAME ? REASON_DENYLISTED : REASON_SECRET + kind
  }

  textOf(index: number): ArenaText {
    return this.isString[index] === true ? REDACTED_TEXT : NULL_TEXT
  }
}

/** Whether a string in which a secret was found is one of which a part may stay. */
export function mayHoldKeys(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start]
  if (first === SPACE || first === BACKSLASH || first === APOSTROPHE) return true
  return bytes.subarray(start, end).includes(OPEN_OBJECT)
}

export class InnerJson {
  readonly edits = new InnerEdits()
  readonly #scanner: SecretScanner
  #bytes: Uint8Array = new Uint8Array(0)
  #view: DataView = new DataView(new ArrayBuffer(0))
  /** Where the text begins and ends that is looked at: a string, or a string within it. */
  #start = 0
  #end = 0
  readonly #key = new InnerKey()
  readonly #open = new Quote()
  readonly #close = new Quote()
  #redacted = Buffer.alloc(0)

  constructor(scanner: SecretScanner) {
    this.#scanner = scanner
  }

  /**
   * Finds the edits of a string in which the scanner found a secret of `kind`, or NO_SECRET.
   * Returns whether they remove every secret; else the whole string is replaced. Hot.
   */
  find(bytes: Uint8Array, view: DataView, start: number, end: number, kind: number): boolean {
    this.edits.count = 0
    const first = kind === NO_SECRET ? firstInnerKey(bytes, start, end) : start
    if (first === end) return true
    this.#view = view
    this.#begin(bytes, start, end)
    if (kind !== NO_SECRET) return this.#findSecrets(0)
    this.#findNames(first)
    return true
  }

  #begin(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes
    this.#start = start
    this.#end = end
    this.#key.begin(bytes, start)
  }

  /** Goes through the keys that may name a secret, from the first one's colon on. */
  #findNames(first: number): void {
    const bytes = this.#bytes
    let sign = first
    while (sign < this.#end) {
      const name = this.#key.read(sign) ? this.#key.judge() : NO_NAME
      const from = name === NO_NAME ? sign + 1 : this.#editValue(sign + 1, name)
      sign = nextInnerKey(bytes, this.#start, from, this.#end)
    }
  }

  /**
   * Goes through all keys, as any string may look like a secret: the innermost one that does is
   * replaced. Returns whether none is left in the text.
   */
  #findSecrets(depth: number): boolean {
    const { edits } = this
    const bytes = this.#bytes
    const before = edits.count
    const [start, end] = [this.#start, this.#end]
    let at = start
    while (at < end) {
      const byte = bytes[at]
      if (byte !== COLON && (byte !== MORE || bytes[at - 1] !== EQUALS)) {
        at++
      } else if (!this.#key.read(at)) {
        at++
      } else {
        const count = edits.count
        const name = this.#key.judge()
        const after = name === NO_NAME ? at + 1 : this.#editValue(at + 1, name)
        at = edits.count > count ? after : this.#findInValue(at + 1, depth)
      }
    }
    return edits.count > before && !this.#isSecretLeft(before)
  }

  /** Looks for secrets in the string at `pos`, if one begins there; returns where to go on. */
  #findInValue(pos: number, depth: number): number {
    const bytes = this.#bytes
    const { edits } = this
    const at = valueStart(bytes, pos, this.#end)
    if (!this.#open.read(bytes, at, this.#end) || isAround(this.#open, this.#key.quote)) return pos
    findClose(bytes, this.#end, this.#open, this.#close)
    const start = this.#open.end
    const end = this.#close.textEnd
    const after = Math.max(this.#close.end, pos)
    if (end - start < SECRET_BYTES_MIN) return after
    const kind = this.#scan(start, end)
    const before = edits.count
    const [outerStart, outerEnd] = [this.#start, this.#end]
    const { braces, bracesAt } = this.#key
    this.#begin(bytes, start, end)
    let isDone = true
    if (kind !== NO_SECRET) {
      isDone = depth < SECRET_DEPTH_MAX && this.#findSecrets(depth + 1)
    } else {
      const first = firstInnerKey(bytes, start, end)
      if (first < end) this.#findNames(first)
    }
    if (!isDone) {
      edits.count = before
      edits.add(start, end, true, kind)
    }
    this.#start = outerStart
    this.#end = outerEnd
    this.#key.resume(outerStart, braces, bracesAt)
    return after
  }

  #scan(start: number, end: number): number {
    const isPlain = stringStop(this.#view, start) >= end
    return isPlain ? this.#scanner.scan(start, end) : this.#scanner.scanEscaped(start, end)
  }

  /** What the edits make of the string that `find` looked at; valid until the next call. */
  redacted(): Buffer {
    return this.#write(0)
  }

  /** Whether the text still holds a secret once the edits from `first` on are done. */
  #isSecretLeft(first: number): boolean {
    const { length } = this.#write(first)
    return this.#scanner.scanCopy(this.#redacted, length) !== NO_SECRET
  }

  /** Writes the text with the edits from `first` on. */
  #write(first: number): Buffer {
    const { edits } = this
    const bytes = this.#bytes
    const lengthMax = this.#end - this.#start + (edits.count - first) * REDACTED_TEXT.length
    if (this.#redacted.length < lengthMax) this.#redacted = Buffer.allocUnsafeSlow(lengthMax * 2)
    const out = this.#redacted
    let length = 0
    let pos = this.#start
    for (let i = first; i < edits.count; i++) {
      out.set(bytes.subarray(pos, edits.start[i]!), length)
      length += edits.start[i]! - pos
      const text = edits.textOf(i)
      out.set(text.bytes, length)
      length += text.length
      pos = edits.end[i]!
    }
    out.set(bytes.subarray(pos, this.#end), length)
    return out.subarray(0, length + this.#end - pos)
  }

  /** Judges the value after a key that is so sure of it; returns where to go on. */
  #editValue(pos: number, name: number): number {
    const bytes = this.#bytes
    const { edits } = this
    const [open, close, key] = [this.#open, this.#close, this.#key.quote]
    const at = valueStart(bytes, pos, this.#end)
    if (!open.read(bytes, at, this.#end)) {
      return key.form === NO_QUOTE || name < SECRET_NAME ? pos : this.#editOther(at, name)
    }
    // The object ended after its colon.
    if (isAround(open, key)) return pos
    findClose(bytes, this.#end, open, close)
    const start = open.end
    const end = close.textEnd
    const isCutOff = start === end && close.form === NO_QUOTE
    if (!isCutOff && isSecretString(name, bytes, start, end)) {
      edits.add(start, end, true, BY_NAME)
    }
    return close.end
  }

  /** The same for a value that is not a string. */
  #editOther(at: number, name: number): number {
    const bytes = this.#bytes
    const first = bytes[at]!
    if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
      // `[REDACTED]`, `[FILTERED]`: somebody was here before.
      if (first === OPEN_ARRAY && (bytes[at + 1]! - 0x41) >>> 0 < 26) return at
      const end = this.#containerEnd(at)
      this.edits.add(at, end, false, BY_NAME)
      return end
    }
    let end = at
    while (end < this.#end) {
      // Nobody spells digits and letters, but JSON allows to.
      if (bytes[end] === BACKSLASH && bytes[end + 1] === LETTER_U) end += 2
      else if (endsLiteral(bytes[end]!)) break
      else end++
    }
    end = Math.min(end, this.#end)
    const text = decodedEnd(bytes, at, end)
    const isFlag = name < LISTED_NAME && FLAG.test(text)
    if (!isFlag && !NOTHING.test(text)) this.edits.add(at, end, false, BY_NAME)
    return end
  }

  /** The end of the object or array at `at`, or of the string that it is in. */
  #containerEnd(open: number): number {
    const bytes = this.#bytes
    const [quote, close, key] = [this.#open, this.#close, this.#key.quote]
    let depth = 0
    let at = open
    while (at < this.#end) {
      const byte = bytes[at]
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        depth++
        at++
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        depth--
        at++
        if (depth === 0) return at
      } else if (byte !== BACKSLASH && byte !== QUOTE && byte !== APOSTROPHE) {
        at++
      } else if (!quote.read(bytes, at, this.#end)) {
        at = quote.end
      } else if (isAround(quote, key)) {
        return at
      } else if (quote.form === SINGLE_QUOTE && key.form !== SINGLE_QUOTE) {
        at = quote.end
      } else {
        findClose(bytes, this.#end, quote, close)
        at = close.end
        if (close.form === NO_QUOTE) return at
      }
    }
    return this.#end
  }
}

function endsLiteral(byte: number): boolean {
  if (byte <= SPACE || byte === COMMA || byte === BACKSLASH) return true
  if (byte === QUOTE || byte === APOSTROPHE) return true
  return byte === CLOSE_OBJECT || byte === CLOSE_ARRAY
}

/** Whether a string under a name of this kind is a secret. One that was redacted is left alone. */
function isSecretString(name: number, bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > VALUE_BYTES_MAX) return true
  const text = decodedEnd(bytes, start, end)
  return text !== '[REDACTED]' && isSecretText(name, text)
}
