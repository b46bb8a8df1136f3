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
 *    searched natively, once over the batch: the scanner remembers where the next one is.
 *
 * The other way, one regular expression over the batch, costs more (`bench/transform/secrets`).
 * Values with escapes are judged in their decoded form, so no spelling hides a token.
 */
import { unescapeInto } from '../decode/json-string.ts'
import { BYTE_CLASS } from './secret-formats.ts'
import { privateKeyAt, urlPasswordAt } from './secret-marks.ts'
import { NO_SECRET, PRIVATE_KEY, SecretMatcher, URL_PASSWORD } from './secret-matcher.ts'

export { NO_SECRET, SECRET_KINDS } from './secret-matcher.ts'

/** The shortest: `Basic ` and 16 bytes. */
const RUN_BYTES_MIN = 16
/** `a://:b@c` is the shortest value with a secret in it. */
export const SECRET_BYTES_MIN = 8
const AT = 0x40
const MARK = Buffer.from('PRIVATE KEY')
/** Ends every native search in the decoded form. */
const SENTINEL = Buffer.from('@PRIVATE KEY')

/** Remembers the next place of something rare, so that each search goes on where one ended. */
class Cursor {
  readonly #what: number | Buffer
  #marked = -1
  #next = -1

  constructor(what: number | Buffer) {
    this.#what = what
  }

  begin(): void {
    this.#next = -1
  }

  /** The first place at or behind `start`; positions asked for do not decrease. */
  next(bytes: Buffer, start: number): number {
    if (this.#next < start) {
      const found = bytes.indexOf(this.#what, start)
      this.#next = found < 0 ? Number.MAX_SAFE_INTEGER : found
    }
    return this.#next
  }

  mark(): void {
    this.#marked = this.#next
  }

  rewind(): void {
    this.#next = this.#marked
  }
}

export class SecretScanner {
  readonly #matcher = new SecretMatcher()
  readonly #at = new Cursor(AT)
  readonly #private = new Cursor(MARK)
  readonly #decodedAt = new Cursor(AT)
  readonly #decodedPrivate = new Cursor(MARK)
  #bytes: Buffer = Buffer.alloc(0)
  #decoded = Buffer.allocUnsafeSlow(16 * 1024)
  #decodedView = viewOf(this.#decoded)
  #view = viewOf(this.#bytes)

  /** Starts a batch. Values are then scanned in the order in which they stand in `bytes`. */
  begin(bytes: Uint8Array): void {
    this.#at.begin()
    this.#private.begin()
    this.moved(bytes)
  }

  /** The batch's bytes now lie here; what was scanned of them is the same. */
  moved(bytes: Uint8Array): void {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#view = viewOf(bytes)
  }

  /** Remembers this place in the batch; `rewind` allows to scan again from here. */
  mark(): void {
    this.#at.mark()
    this.#private.mark()
  }

  rewind(): void {
    this.#at.rewind()
    this.#private.rewind()
  }

  /** Judges a value without escapes: the index of its kind, or NO_SECRET. */
  scan(start: number, end: number): number {
    return this.#judge(this.#bytes, start, end, this.#at, this.#private)
  }

  /** Judges a value with escapes. */
  scanEscaped(start: number, end: number): number {
    const room = end - start + SENTINEL.length
    if (this.#decoded.length < room) {
      this.#decoded = Buffer.allocUnsafeSlow(room * 2)
      this.#decodedView = viewOf(this.#decoded)
    }
    const decoded = this.#decoded
    const views = { from: this.#view, to: this.#decodedView }
    const length = unescapeInto(this.#bytes, start, end, decoded, 0, views)
    decoded.set(SENTINEL, length)
    this.#decodedAt.begin()
    this.#decodedPrivate.begin()
    return this.#judge(decoded, 0, length, this.#decodedAt, this.#decodedPrivate)
  }

  #judge(bytes: Buffer, start: number, end: number, ats: Cursor, privates: Cursor): number {
    for (let at = ats.next(bytes, start); at < end; at = ats.next(bytes, at + 1)) {
      if (urlPasswordAt(bytes, start, end, at)) return URL_PASSWORD
    }
    for (let at = privates.next(bytes, start); at < end; at = privates.next(bytes, at + 1)) {
      if (privateKeyAt(bytes, start, end, at)) return PRIVATE_KEY
    }
    return this.#runs(bytes, start, end)
  }

  #runs(bytes: Buffer, start: number, end: number): number {
    this.#matcher.begin(bytes, start, end)
    let windowStart = start
    let at = start + RUN_BYTES_MIN - 1
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
      const kind = this.#matcher.matchRun(windowStart, runEnd)
      if (kind !== NO_SECRET) return kind
      windowStart = runEnd + 1
      at = runEnd + RUN_BYTES_MIN
    }
    return NO_SECRET
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
