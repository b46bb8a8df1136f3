/**
 * The pattern of a text: its words, with whatever varies from event to event masked, as a hash of
 * 64 bits. Texts of one pattern differ only in what is masked, and in how many blanks are around
 * that and at the ends. Masked are
 *
 * - tokens with a digit: numbers with their units, ids, times, hexadecimal, parts of a path;
 * - tokens around an @; quoted strings, but for the keys of JSON; values behind `key=`, but for
 *   those of keys that say what happened (`msg="…"` is read as text); names of months and weekdays
 *   in a date.
 *
 * Masked tokens with only `. : , /` between them are one: an address, a time, a list. Colours of a
 * terminal do not count.
 *
 * One pass, without regular expressions, nothing allocated. A text is a sequence of pieces, which
 * end where something is masked, and only they are hashed. Bounded: of a long text the first
 * PATTERN_BYTES_MAX bytes and PATTERN_TOKENS_MAX tokens count.
 *
 * Workers run the same as a kernel, `kernels/patterns.ts`; this is for templates, for what the
 * kernel leaves, and what it is compared with.
 */
import {
  AT,
  BLANK,
  BYTE_KINDS,
  DIGIT,
  dateStart,
  ENDS_VALUE,
  ESCAPE,
  GLUE,
  isTellingKey,
  QUOTE,
} from './pattern-bytes.ts'

/** Raised when the same text gets another pattern: part of the hash's seed. */
export const PATTERN_VERSION = 1
export const PATTERN_BYTES_MAX = 4_096
export const PATTERN_TOKENS_MAX = 128
/** Bytes of a quoted string that is masked; a longer one is read as text. */
export const QUOTED_BYTES_MAX = 512
/** Bytes that are looked through for ends of quoted strings, a text. */
export const QUOTE_LOOKS_MAX = 8_192
export const KEY_BYTES_MAX = 40
export const COLOUR_BYTES_MAX = 16
/** Each masked token takes a byte, and there are no more tokens than that. */
const SLOTS_MAX = 2 * PATTERN_TOKENS_MAX

export const SEED_LOW = 0x2545f491 ^ PATTERN_VERSION
export const SEED_HIGH = 0x4f6cdd1d + PATTERN_VERSION
const PRIME_LOW = 0x85ebca6b
const PRIME_HIGH = 0xc2b2ae35
const CHUNK_BYTES = 8
/** In place of what is masked: no piece is as long. */
const SIGN = -2
const SPACE = 0x20
const COMMA = 0x2c
const COLON = 0x3a
const EQUALS_SIGN = 0x3d
const BRACKET = 0x5b
const BACKSLASH = 0x5c
const UNDERSCORE = 0x5f
const APOSTROPHE = 0x27
const NOWHERE = -1

const HAS_DIGIT = 1 << DIGIT
const HAS_AT = 1 << AT

export class TextPattern {
  /** Of the text that was read last, 64 bits in two halves; both 0 where it has no pattern. */
  low = 0
  high = 0
  /** What was masked: `slotCount` ranges of the bytes, in `slots` one behind another. */
  readonly slots = new Int32Array(2 * SLOTS_MAX)
  slotCount = 0
  /** Up to where the text was read. */
  readEnd = 0
  #bytes: Uint8Array = new Uint8Array(0)
  #start = 0
  #end = 0
  #tokens = 0
  /** Where the piece under way begins. */
  #piece = 0
  /** 1 when there were blanks before it, but not at the beginning of the text. */
  #blank = 0
  #hasPieces = false
  /** The hash behind the last masked token, while only glue came since. */
  #gluedLow = 0
  #gluedHigh = 0
  #isGlued = false
  /** Where a quoted string ends that is read as text. */
  #plainQuoteEnd = NOWHERE
  /** The next quoted string is read as text. */
  #isTelling = false
  #looksLeft = 0

  get bytesRead(): number {
    return this.readEnd - this.#start
  }

  /** Reads the text from `start` to `end`, UTF-8; false when it has no pattern: it is blank. */
  read(bytes: Uint8Array, start: number, end: number): boolean {
    this.#begin(bytes, start, Math.min(end, start + PATTERN_BYTES_MAX))
    let at = start
    while (at < this.#end && this.#tokens < PATTERN_TOKENS_MAX) {
      const kind = BYTE_KINDS[bytes[at]!]!
      if (kind <= AT) at = this.#token(at)
      else if (kind === BLANK) at = this.#blankAt(at)
      else if (kind === ESCAPE) at = this.#colour(at)
      else if (kind === QUOTE) at = this.#quote(at)
      else {
        if (kind !== GLUE) this.#isGlued = false
        at++
      }
    }
    this.readEnd = at
    this.#endPiece(at)
    return this.#finish()
  }

  #begin(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes
    this.#start = start
    this.#end = end
    this.low = SEED_LOW
    this.high = SEED_HIGH
    this.slotCount = 0
    this.#tokens = 0
    this.#piece = start
    this.#blank = 0
    this.#hasPieces = false
    this.#isGlued = false
    this.#plainQuoteEnd = NOWHERE
    this.#isTelling = false
    this.#looksLeft = QUOTE_LOOKS_MAX
  }

  #finish(): boolean {
    if (!this.#hasPieces) {
      this.low = 0
      this.high = 0
      return false
    }
    let { low, high } = this
    low = Math.imul(low ^ (high >>> 15), PRIME_LOW)
    high = Math.imul(high ^ (low >>> 13), PRIME_HIGH)
    low = Math.imul(low ^ (high >>> 16), PRIME_HIGH)
    high = Math.imul(high ^ (low >>> 15), PRIME_LOW)
    low ^= high >>> 14
    this.low = low | 0
    // 0 means that there is no pattern.
    this.high = low === 0 && high === 0 ? 1 : high | 0
    return true
  }

  /** Begins a piece of so many bytes, or the sign. */
  #mixHead(bytes: number): void {
    const head = 2 * bytes + this.#blank
    this.low = Math.imul(rotated(this.low) ^ head, PRIME_LOW)
    this.high = (this.high + this.low) | 0
    this.#blank = 0
    this.#hasPieces = true
  }

  /** Hashes the piece under way, up to `pieceEnd`. */
  #endPiece(pieceEnd: number): void {
    let start = this.#piece
    let end = pieceEnd
    while (start < end && this.#isBlank(start)) start++
    if (start > this.#piece && this.#hasPieces) this.#blank = 1
    if (start === end) return
    while (this.#isBlank(end - 1)) end--
    this.#mixHead(end - start)
    let { low, high } = this
    for (let at = start; at < end; at += CHUNK_BYTES) {
      high = Math.imul(high ^ this.#word(at + 4, end), PRIME_HIGH)
      low = (Math.imul(low ^ this.#word(at, end), PRIME_LOW) + rotated(high)) | 0
    }
    this.low = low
    this.high = high
    if (end < pieceEnd) this.#blank = 1
  }

  /** Four bytes, the first of them the lowest; zeros from `end` on. */
  #word(at: number, end: number): number {
    const bytes = this.#bytes
    if (at + 4 <= end) {
      return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    }
    let word = 0
    for (let i = 0; at + i < end; i++) word |= bytes[at + i]! << (8 * i)
    return word
  }

  /** Blanks in a piece are bytes like others; those at its ends are one, or none. */
  #blankAt(at: number): number {
    const isAfterComma = at > this.#start && this.#bytes[at - 1] === COMMA
    if (!isAfterComma) this.#isGlued = false
    while (this.#isBlank(++at));
    return at
  }

  #isBlank(at: number): boolean {
    return at < this.#end && BYTE_KINDS[this.#bytes[at]!] === BLANK
  }

  /** A colour is passed over, and ends a piece. */
  #colour(start: number): number {
    this.#endPiece(start)
    this.#isGlued = false
    this.#piece = this.#colourEnd(start)
    return this.#piece
  }

  /** Behind `ESC [ … m`, or another letter. */
  #colourEnd(start: number): number {
    const bytes = this.#bytes
    const end = Math.min(this.#end, start + COLOUR_BYTES_MAX)
    let at = start + 1
    if (at >= end || bytes[at] !== BRACKET) return at
    while (++at < end) if (bytes[at]! >= 0x40) return at + 1
    return start + 1
  }

  /** Letters and digits, which are masked when there is a digit or an @ among them. */
  #token(start: number): number {
    this.#tokens++
    const bytes = this.#bytes
    const end = this.#end
    let kinds = 0
    let at = start
    for (; at < end; at++) {
      const kind = BYTE_KINDS[bytes[at]!]!
      if (kind > AT) break
      kinds |= 1 << kind
    }
    const next = this.#isKey(start, at) ? bytes[at + 1]! : EQUALS_SIGN
    if (ENDS_VALUE[next] === 0 && next !== EQUALS_SIGN) return this.#pair(start, at)
    if (BYTE_KINDS[next] === QUOTE) {
      this.#isTelling = isTellingKey(bytes, start, at)
    } else {
      const isAround = (kinds & HAS_AT) !== 0 && at - start > 2
      if ((kinds & HAS_DIGIT) !== 0 || isAround) {
        this.#mask(dateStart(bytes, this.#piece, start), at)
        return at
      }
    }
    this.#isGlued = false
    return at
  }

  /** Whether the token is what `=` follows, with something behind it. */
  #isKey(start: number, end: number): boolean {
    const bytes = this.#bytes
    if (end + 1 >= this.#end || bytes[end] !== EQUALS_SIGN) return false
    const first = bytes[start]! | SPACE
    const isName = (first >= 0x61 && first <= 0x7a) || bytes[start] === UNDERSCORE
    return isName && end - start <= KEY_BYTES_MAX
  }

  /** `key=value`, whose key ends at `equals`. */
  #pair(start: number, equals: number): number {
    const bytes = this.#bytes
    this.#isGlued = false
    if (isTellingKey(bytes, start, equals)) return equals + 1
    let at = equals + 1
    while (at < this.#end && ENDS_VALUE[bytes[at]!] === 0) at++
    this.#mask(equals + 1, at)
    // What is behind a value is another thing.
    this.#isGlued = false
    return at
  }

  /** Takes the sign for a range of the bytes, or makes it a part of the one before. */
  #mask(start: number, end: number): void {
    if (this.#isGlued) {
      this.low = this.#gluedLow
      this.high = this.#gluedHigh
      this.#blank = 0
      this.slots[2 * this.slotCount - 1] = end
    } else {
      this.#endPiece(start)
      this.#mixHead(SIGN)
      this.slots[2 * this.slotCount] = start
      this.slots[2 * this.slotCount + 1] = end
      this.slotCount++
      this.#gluedLow = this.low
      this.#gluedHigh = this.high
      this.#isGlued = true
    }
    this.#piece = end
  }

  #quote(start: number): number {
    if (start === this.#plainQuoteEnd) return start + 1
    const bytes = this.#bytes
    const isTelling = this.#isTelling
    this.#isTelling = false
    const close = this.#closingQuote(start)
    if (close === NOWHERE) {
      this.#isGlued = false
      return start + 1
    }
    const isKey = close + 1 < this.#end && bytes[close + 1] === COLON
    if (isKey || isTelling) {
      this.#plainQuoteEnd = close
      this.#isTelling = isKey && isTellingKey(bytes, start + 1, close)
      this.#isGlued = false
      return start + 1
    }
    this.#tokens++
    this.#mask(start, close + 1)
    return close + 1
  }

  /** Where the quoted string ends that begins here; NOWHERE when none does, or a long one. */
  #closingQuote(start: number): number {
    const bytes = this.#bytes
    const quote = bytes[start]!
    const isApostrophe = quote === APOSTROPHE
    if (isApostrophe && start > this.#start && this.#isToken(start - 1)) return NOWHERE
    const end = Math.min(this.#end, start + QUOTED_BYTES_MAX, start + this.#looksLeft)
    let at = start + 1
    for (; at < end; at++) {
      if (bytes[at] === BACKSLASH) at++
      else if (bytes[at] === quote && !(isApostrophe && this.#isToken(at + 1))) break
    }
    at = Math.min(at, end)
    this.#looksLeft -= at - start
    return at < end ? at : NOWHERE
  }

  #isToken(at: number): boolean {
    return at < this.#end && BYTE_KINDS[this.#bytes[at]!]! <= AT
  }
}

function rotated(half: number): number {
  return (half << 13) | (half >>> 19)
}
