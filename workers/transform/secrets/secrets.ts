/**
 * Says whether a string value holds something that looks like a secret. Bytes in, a kind out.
 *
 * Two searches, both linear in the value whatever is in it:
 *
 * 1. Every token lies within one run of at least `RUN_BYTES_MIN` token bytes. Runs that long are
 *    found as in Boyer-Moore search: look at the last byte of a window; if it is not a token byte,
 *    the next window begins after it. Most of a log is short words, so most bytes are never
 *    looked at. Within a run a token can begin only where a word does, and then two bytes select
 *    the formats to compare (`secret-matcher.ts`).
 * 2. Signs: a colon may be that of a URL with a password or, like an equals sign, follow the name
 *    of a credential; an `@` may end a connection string, a V be that of PRIVATE KEY. Each is
 *    judged by its surroundings, within a bound.
 *
 * The alternative, one regular expression over the batch, costs more (`bench/transform/secrets`).
 * Values with escapes are judged in their decoded form, so no spelling hides a token. If that still
 * has escapes (JSON within a string, bodies as nginx logs them), those are decoded as well, and so
 * are percent-encoded signs.
 */
import { unescapeInto } from '../../tape/json-string.ts'
import { isPercentMark } from './credential-marks.ts'
import { encodedKeyAt } from './encoded-pem.ts'
import { decodePercents, unescapeLoosely } from './loose-escapes.ts'
import { BYTE_CLASS } from './secret-formats.ts'
import { privateKeyAt } from './secret-marks.ts'
import {
  AUTHORIZATION,
  NO_SECRET,
  PRIVATE_KEY,
  SECRET_KINDS,
  SecretMatcher,
  URL_PASSWORD,
} from './secret-matcher.ts'
import { credentialAt, isBasicAt } from './text-credentials.ts'
import { dsnPasswordAt, urlPasswordAt } from './url-credentials.ts'

export { NO_SECRET, SECRET_KINDS } from './secret-matcher.ts'

/** The shortest: `Basic ` and 16 bytes. */
const RUN_BYTES_MIN = 16
/** `a://:b@c` is the shortest value with a secret in it. */
export const SECRET_BYTES_MIN = 8
const AT = 0x40
const APOSTROPHE = 0x27
const COLON = 0x3a
const SLASH = 0x2f
const EQUALS = 0x3d
const PERCENT = 0x25
const LETTER_B = 0x62
/** The V of PRIVATE KEY: rare in logs. */
const LETTER_V = 0x56
const IS_MARK = new Uint8Array(256)
for (const char of "@:=%V'") IS_MARK[char.charCodeAt(0)] = 1
/** How often a decoded value is decoded once more: JSON in JSON in JSON. */
const NESTED_ESCAPES_MAX = 3

export class SecretScanner {
  readonly #matcher = new SecretMatcher()
  #bytes: Buffer = Buffer.alloc(0)
  #view: DataView = viewOf(this.#bytes)
  #decoded = Buffer.allocUnsafeSlow(16 * 1024)
  #decodedView: DataView = viewOf(this.#decoded)
  /** Whether the value scanned last spells a mark with a percent sign. */
  #hasPercentMark = false

  /** Starts a batch: values are ranges of `bytes`. */
  begin(bytes: Uint8Array): void {
    this.moved(bytes)
  }

  /** The batch's bytes now lie here. */
  moved(bytes: Uint8Array): void {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#view = viewOf(bytes)
  }

  /** Judges a value without escapes: the index of its kind, or NO_SECRET. Hot. */
  scan(start: number, end: number): number {
    const bytes = this.#bytes
    const kind = this.#scanText(bytes, start, end)
    if (kind !== NO_SECRET || !this.#hasPercentMark) return kind
    this.#reserve(end - start)
    bytes.copy(this.#decoded, 0, start, end)
    return this.#scanNested(end - start)
  }

  /** Judges a value with escapes. */
  scanEscaped(start: number, end: number): number {
    return this.#scanSpelled(this.#bytes, this.#view, start, end)
  }

  /** Judges a value with escapes that is not part of the batch: the first bytes of `copy`. */
  scanCopy(copy: Buffer, length: number): number {
    return this.#scanSpelled(copy, viewOf(copy), 0, length)
  }

  #scanSpelled(bytes: Uint8Array, view: DataView, start: number, end: number): number {
    this.#reserve(end - start)
    const decoded = this.#decoded
    const views = { from: view, to: this.#decodedView }
    const length = unescapeInto(bytes, start, end, decoded, 0, views)
    const kind = this.#scanText(decoded, 0, length)
    return kind === NO_SECRET ? this.#scanNested(length) : kind
  }

  #reserve(length: number): void {
    if (this.#decoded.length >= length) return
    this.#decoded = Buffer.allocUnsafeSlow(length * 2)
    this.#decodedView = viewOf(this.#decoded)
  }

  /** Judges what the decoded form is the spelling of, if it is one. */
  #scanNested(decodedLength: number): number {
    let length = decodedLength
    for (let level = 0; level < NESTED_ESCAPES_MAX; level++) {
      const hasPercents = this.#hasPercentMark
      let left = unescapeLoosely(this.#decoded, length)
      if (hasPercents) left = decodePercents(this.#decoded, left)
      if (left === length) return NO_SECRET
      length = left
      const kind = this.#scanText(this.#decoded, 0, length)
      if (kind !== NO_SECRET) return kind
    }
    return NO_SECRET
  }

  #scanText(bytes: Buffer, start: number, end: number): number {
    this.#hasPercentMark = false
    // Formats first: they say whose secret it is.
    if (end - start >= RUN_BYTES_MIN) {
      const kind = scanRuns(this.#matcher, bytes, start, end)
      if (kind !== NO_SECRET) return kind
    }
    const isWord = (bytes[start]! | 0x20) === LETTER_B
    if (isWord && isBasicAt(bytes, start, end)) return AUTHORIZATION
    for (let at = start; at < end; at++) {
      if (IS_MARK[bytes[at]!] === 0) continue
      const kind = this.#judgeMark(bytes, start, end, at)
      if (kind !== NO_SECRET) return kind
    }
    return NO_SECRET
  }

  #judgeMark(bytes: Buffer, start: number, end: number, at: number): number {
    const mark = bytes[at]
    if (mark === LETTER_V) {
      const isKey = privateKeyAt(bytes, start, end, at) || encodedKeyAt(bytes, start, end, at)
      return isKey ? PRIVATE_KEY : NO_SECRET
    }
    if (mark === AT) return dsnPasswordAt(bytes, start, end, at) ? URL_PASSWORD : NO_SECRET
    if (mark === PERCENT) {
      this.#hasPercentMark ||= at + 2 < end && isPercentMark(bytes, start, at)
      return NO_SECRET
    }
    if (mark === COLON && bytes[at + 1] === SLASH) {
      return urlPasswordAt(bytes, start, end, at) ? URL_PASSWORD : NO_SECRET
    }
    if (mark === APOSTROPHE) return this.#judgeName(bytes, start, end, at)
    // Times, and what ends in a number: no name does.
    if (at > start && isDigitOrEquals(bytes[at - 1]!)) return NO_SECRET
    if (isBasicAt(bytes, at + 1, end)) return AUTHORIZATION
    return this.#judgeName(bytes, start, end, at)
  }

  #judgeName(bytes: Buffer, start: number, end: number, at: number): number {
    const kind = credentialAt(bytes, start, end, at)
    return kind === undefined ? NO_SECRET : SECRET_KINDS.indexOf(kind)
  }
}

function isDigitOrEquals(byte: number): boolean {
  return (byte - 0x30) >>> 0 < 10 || byte === EQUALS
}

function scanRuns(matcher: SecretMatcher, bytes: Buffer, start: number, end: number): number {
  let windowStart = start
  let at = start + RUN_BYTES_MIN - 1
  let isBegun = false
  while (at < end) {
    let i = at
    while (i >= windowStart && BYTE_CLASS[bytes[i]!] !== 0) i--
    if (i >= windowStart) {
      windowStart = i + 1
      at = i + RUN_BYTES_MIN
      continue
    }
    let runEnd = at + 1
    while (runEnd < end && BYTE_CLASS[bytes[runEnd]!] !== 0) runEnd++
    if (!isBegun) matcher.begin(bytes, start, end)
    isBegun = true
    const kind = matcher.matchRun(windowStart, runEnd)
    if (kind !== NO_SECRET) return kind
    windowStart = runEnd + 1
    at = runEnd + RUN_BYTES_MIN
  }
  return NO_SECRET
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
