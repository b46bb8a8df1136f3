/**
 * Says whether a string value holds something that looks like a secret. Bytes in, a kind out.
 *
 * Three searches, all linear in the value whatever is in it:
 *
 * 1. Every token lies within one run of at least `RUN_BYTES_MIN` token bytes. Runs that long are
 *    found as Boyer and Moore search: look at the last byte of a window; if it is no token byte,
 *    the next window begins behind it. Most of a log is short words, so most bytes are never
 *    looked at. Within a run a token can begin only where a word does, and then two bytes select
 *    the formats to compare (`secret-matcher.ts`).
 * 2. Credentials in a URL end in `@`. 3. Private keys say PRIVATE KEY. Both are rare in logs and
 *    searched natively, once over the batch: the scanner remembers where the next one is. Of the
 *    latter a single letter is searched, as `memchr` does it twice as fast as a string.
 *
 * The other way, one regular expression over the batch, costs more (`bench/transform/secrets`).
 * Values with escapes are judged in their decoded form, so no spelling hides a token. If that holds
 * escapes still (JSON within a string, what nginx logs of a body), those are decoded as well.
 */
import { unescapeInto } from '../decode/json-string.ts'
import { encodedKeyAt } from './encoded-pem.ts'
import { unescapeLoosely } from './loose-escapes.ts'
import { BYTE_CLASS } from './secret-formats.ts'
import { privateKeyAt, urlPasswordAt } from './secret-marks.ts'
import { NO_SECRET, PRIVATE_KEY, SecretMatcher, URL_PASSWORD } from './secret-matcher.ts'

export { NO_SECRET, SECRET_KINDS } from './secret-matcher.ts'

/** The shortest: `Basic ` and 16 bytes. */
const RUN_BYTES_MIN = 16
/** `a://:b@c` is the shortest value with a secret in it. */
export const SECRET_BYTES_MIN = 8
const AT = 0x40
/** The V of PRIVATE KEY: rare in logs, and one byte is found twice as fast as several. */
const LETTER_V = 0x56
/** How often a decoded value is decoded once more: JSON in JSON in JSON. */
const NESTED_ESCAPES_MAX = 3
/** Ends native searches in the decoded form. */
const SENTINEL = Buffer.from('@V')

export class SecretScanner {
  readonly #matcher = new SecretMatcher()
  #bytes: Buffer = Buffer.alloc(0)
  #view: DataView = viewOf(this.#bytes)
  /** The first mark at or behind the value scanned last; values are scanned in order. */
  #nextAt = -1
  #nextV = -1
  #markedAt = -1
  #markedV = -1
  #decoded = Buffer.allocUnsafeSlow(16 * 1024)
  #decodedView: DataView = viewOf(this.#decoded)

  /** Starts a batch. Values are then scanned in the order in which they stand in `bytes`. */
  begin(bytes: Uint8Array): void {
    this.#nextAt = -1
    this.#nextV = -1
    this.moved(bytes)
  }

  /** The batch's bytes now lie here; what was scanned of them is the same. */
  moved(bytes: Uint8Array): void {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#view = viewOf(bytes)
  }

  /** Remembers this place in the batch; `rewind` allows to scan again from here. */
  mark(): void {
    this.#markedAt = this.#nextAt
    this.#markedV = this.#nextV
  }

  rewind(): void {
    this.#nextAt = this.#markedAt
    this.#nextV = this.#markedV
  }

  /** Judges a value without escapes: the index of its kind, or NO_SECRET. Hot. */
  scan(start: number, end: number): number {
    const bytes = this.#bytes
    if (this.#nextAt < start) this.#nextAt = placeOf(bytes, AT, start)
    if (this.#nextV < start) this.#nextV = placeOf(bytes, LETTER_V, start)
    if (this.#nextAt < end || this.#nextV < end) {
      const kind = scanMarks(bytes, start, end)
      if (kind !== NO_SECRET) return kind
    }
    return end - start < RUN_BYTES_MIN ? NO_SECRET : scanRuns(this.#matcher, bytes, start, end)
  }

  /** Judges a value with escapes. */
  scanEscaped(start: number, end: number): number {
    return this.#scanSpelled(this.#bytes, this.#view, start, end)
  }

  /** Judges a value with escapes that is no part of the batch: the first bytes of `copy`. */
  scanCopy(copy: Buffer, length: number): number {
    return this.#scanSpelled(copy, viewOf(copy), 0, length)
  }

  #scanSpelled(bytes: Uint8Array, view: DataView, start: number, end: number): number {
    const room = end - start + SENTINEL.length
    if (this.#decoded.length < room) {
      this.#decoded = Buffer.allocUnsafeSlow(room * 2)
      this.#decodedView = viewOf(this.#decoded)
    }
    const decoded = this.#decoded
    const views = { from: view, to: this.#decodedView }
    const length = unescapeInto(bytes, start, end, decoded, 0, views)
    const kind = this.#scanDecoded(length)
    return kind === NO_SECRET ? this.#scanNested(length) : kind
  }

  #scanDecoded(length: number): number {
    const decoded = this.#decoded
    decoded.set(SENTINEL, length)
    if (placeOf(decoded, AT, 0) < length || placeOf(decoded, LETTER_V, 0) < length) {
      const kind = scanMarks(decoded, 0, length)
      if (kind !== NO_SECRET) return kind
    }
    return scanRuns(this.#matcher, decoded, 0, length)
  }

  /** Judges what the decoded form is the spelling of, if it is one. */
  #scanNested(decodedLength: number): number {
    let length = decodedLength
    for (let level = 0; level < NESTED_ESCAPES_MAX; level++) {
      const left = unescapeLoosely(this.#decoded, length)
      if (left === length) return NO_SECRET
      length = left
      const kind = this.#scanDecoded(length)
      if (kind !== NO_SECRET) return kind
    }
    return NO_SECRET
  }
}

function placeOf(bytes: Buffer, byte: number, start: number): number {
  const found = bytes.indexOf(byte, start)
  return found < 0 ? Number.MAX_SAFE_INTEGER : found
}

/** Judges a value that holds a mark. */
function scanMarks(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte === AT && urlPasswordAt(bytes, start, end, at)) return URL_PASSWORD
    if (byte !== LETTER_V) continue
    if (privateKeyAt(bytes, start, end, at) || encodedKeyAt(bytes, start, end, at)) {
      return PRIVATE_KEY
    }
  }
  return NO_SECRET
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
