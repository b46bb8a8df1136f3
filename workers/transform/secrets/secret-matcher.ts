/**
 * Judges one run of token bytes: does a secret of a known format begin in it? Formats are compared
 * by `format-matcher.ts`; this file has what a table cannot hold: where a token may begin, JSON Web
 * Tokens, and what follows `Bearer` and `Basic`.
 *
 * Linear in the run: `AKIAAKIA…`, `sk-sk-sk-…` and `eyeyey…` cost what plain text costs.
 */
import { AUTHORIZATION_BYTES_MIN, isCredential, isUserAndPassword } from './credentials.ts'
import { FormatMatcher, NO_MATCH, TABLE_KINDS } from './format-matcher.ts'
import { isJwtAt } from './jwt.ts'
import {
  ALNUM,
  AUTHORIZATION_KIND,
  BYTE_CLASS,
  DIGIT,
  HEX_LETTER,
  JWT_KIND,
  PRIVATE_KEY_KIND,
  URL_PASSWORD_KIND,
  WORD,
} from './secret-formats.ts'
import {
  ASSIGNMENT_KIND,
  COMMAND_KIND,
  CONNECTION_KIND,
  HEADER_KIND,
  PARAMETER_KIND,
} from './text-credentials.ts'

export const NO_SECRET = NO_MATCH

/** Every kind, by the index that scanning returns. */
export const SECRET_KINDS: readonly string[] = [
  ...new Set([
    ...TABLE_KINDS,
    AUTHORIZATION_KIND,
    URL_PASSWORD_KIND,
    PRIVATE_KEY_KIND,
    JWT_KIND,
    HEADER_KIND,
    PARAMETER_KIND,
    CONNECTION_KIND,
    COMMAND_KIND,
    ASSIGNMENT_KIND,
  ]),
]
export const AUTHORIZATION = SECRET_KINDS.indexOf(AUTHORIZATION_KIND)
export const URL_PASSWORD = SECRET_KINDS.indexOf(URL_PASSWORD_KIND)
export const PRIVATE_KEY = SECRET_KINDS.indexOf(PRIVATE_KEY_KIND)
const JWT = SECRET_KINDS.indexOf(JWT_KIND)

/** A token begins where no word goes on. */
export const IS_WORD = Uint8Array.from(BYTE_CLASS, (kinds) => ((kinds & WORD) === 0 ? 0 : 1))

const BEARER = Buffer.from('bearer')
const BASIC = Buffer.from('basic')
/** Between a scheme and its credential. */
const SCHEME_GAP_MAX = 8
const ANSI_BYTES_MAX = 16
const DASH = 0x2d
const LETTER_E = 0x65
const LETTER_Y = 0x79
const LETTER_W = 0x77
const BACKSLASH = 0x5c
const PERCENT = 0x25
const ESCAPE = 0x1b
const HEX_DIGITS = DIGIT | HEX_LETTER

export class SecretMatcher {
  #bytes: Uint8Array = new Uint8Array(0)
  #start = 0
  #end = 0
  readonly #formats = new FormatMatcher()

  /** The value that the next runs are in. */
  begin(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes
    this.#start = start
    this.#end = end
    this.#formats.begin(bytes, start, end)
  }

  /** The kind of the first secret that begins in the run, or NO_SECRET. */
  matchRun(from: number, to: number): number {
    const bytes = this.#bytes
    const first = this.#runStart(from, to)
    this.#formats.beginRun(first)
    if (first > from) {
      const kind = this.#matchAt(first, true)
      if (kind !== NO_SECRET) return kind
    }
    if (this.#isAuthorization(from, to)) return AUTHORIZATION
    const last = to - 1
    let at = from
    while (at < last) {
      const kind = this.#matchAt(at, at === from || bytes[at - 1] !== DASH)
      if (kind !== NO_SECRET) return kind
      while (at < last && IS_WORD[bytes[at]!] === 1) at++
      at++
    }
    return this.#formats.matchTail(from, to)
  }

  /**
   * Where the first token of a run may begin besides the run's own start: the text before it may
   * end in token bytes that are an escape: `%3D`, `\n` and `\u003d` spelled out (JSON within JSON),
   * and the colour codes of terminals. Returns `from` when there is none.
   */
  #runStart(from: number, to: number): number {
    const bytes = this.#bytes
    if (from === this.#start) return from
    const before = bytes[from - 1]
    if (before === PERCENT) return isHex(bytes, from, from + 2) ? from + 2 : from
    if (before === BACKSLASH) {
      return bytes[from] === 0x75 && isHex(bytes, from + 1, from + 5) ? from + 5 : from + 1
    }
    let at = from
    while (at < to && isDigit(bytes[at]!)) at++
    if (bytes[at] !== 0x6d) return from
    let open = from - 1
    const stop = Math.max(this.#start, from - ANSI_BYTES_MAX)
    while (open > stop && (isDigit(bytes[open]!) || bytes[open] === 0x3b)) open--
    const isCode = open > this.#start && bytes[open] === 0x5b && bytes[open - 1] === ESCAPE
    return isCode ? at + 1 : from
  }

  /** Compares what may begin at `at`, where a word begins. */
  #matchAt(at: number, isTokenStart: boolean): number {
    const bytes = this.#bytes
    const second = bytes[at + 1]
    const isJwt = bytes[at] === LETTER_E && (second === LETTER_Y || second === LETTER_W)
    if (isJwt && isTokenStart && isJwtAt(bytes, at, this.#end)) return JWT
    return this.#formats.matchAt(at)
  }

  /** `Bearer` and 16 bytes that are not words of a sentence, or `Basic` and a user's password. */
  #isAuthorization(from: number, to: number): boolean {
    const bytes = this.#bytes
    let start = from
    let scheme = from
    if (from - this.#start < BASIC.length + 1) return false
    if (isPercentSpace(bytes, from)) {
      start = from + 2
      scheme = from - 1
    } else {
      const stop = Math.max(this.#start, from - SCHEME_GAP_MAX)
      while (scheme > stop && isSchemeGap(bytes[scheme - 1]!)) scheme--
      if (scheme === from) return false
    }
    if (to - start < AUTHORIZATION_BYTES_MIN) return false
    if (this.#endsIn(scheme, BASIC)) return isUserAndPassword(bytes, start, to)
    return this.#endsIn(scheme, BEARER) && isCredential(bytes, start, to)
  }

  /** Whether the word before `end` is `word` (lower case), in any case. */
  #endsIn(end: number, word: Uint8Array): boolean {
    const start = end - word.length
    if (start < this.#start) return false
    for (let i = 0; i < word.length; i++) {
      if ((this.#bytes[start + i]! | 0x20) !== word[i]) return false
    }
    return start === this.#start || this.#isWordStart(start)
  }

  /** Whether no word precedes `at`: other signs, or an escape that `#runStart` knows. */
  #isWordStart(at: number): boolean {
    const bytes = this.#bytes
    if ((BYTE_CLASS[bytes[at - 1]!]! & ALNUM) === 0) return true
    for (let from = Math.max(this.#start, at - ANSI_BYTES_MAX); from < at; from++) {
      if (this.#runStart(from, at) === at) return true
    }
    return false
  }
}

function isDigit(byte: number): boolean {
  return (byte - 0x30) >>> 0 < 10
}

function isHex(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    if ((BYTE_CLASS[bytes[i]!]! & HEX_DIGITS) === 0) return false
  }
  return true
}

/** Whether the run that starts at `from` continues `%20`. */
function isPercentSpace(bytes: Uint8Array, from: number): boolean {
  return bytes[from - 1] === PERCENT && bytes[from] === 0x32 && bytes[from + 1] === 0x30
}

/** Spaces, quotes and a colon; a backslash is that of a quote. */
function isSchemeGap(byte: number): boolean {
  return byte <= 0x20 || byte === 0x3a || byte === 0x27 || byte === 0x22 || byte === BACKSLASH
}
