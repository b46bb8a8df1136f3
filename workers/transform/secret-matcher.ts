/**
 * Judges one run of token bytes: does a secret of a known format begin in it?
 *
 * Linear in the run, also when every byte begins another candidate: prefixes have a bounded
 * length, and how far an alphabet reaches is computed once a stretch (`#reach`), not once a
 * candidate. `AKIAAKIA…`, `sk-sk-sk-…` and `eyeyey…` cost what plain text costs.
 */
import { AUTHORIZATION_BYTES_MIN, isCredential, isUserAndPassword } from './credentials.ts'
import {
  ALNUM,
  AUTHORIZATION_KIND,
  BYTE_CLASS,
  DASH,
  DIGIT,
  PRIVATE_KEY_KIND,
  SECRET_FORMATS,
  type SecretFormat,
  UNDERSCORE,
  UPPER,
  URL_PASSWORD_KIND,
  WORD,
  WORD_DASH,
} from './secret-formats.ts'

export const NO_SECRET = -1

/** Every kind, by the index that scanning returns. */
export const SECRET_KINDS: readonly string[] = [
  ...new Set([
    AUTHORIZATION_KIND,
    URL_PASSWORD_KIND,
    PRIVATE_KEY_KIND,
    ...SECRET_FORMATS.map(({ kind }) => kind),
  ]),
]
const AUTHORIZATION = SECRET_KINDS.indexOf(AUTHORIZATION_KIND)
export const URL_PASSWORD = SECRET_KINDS.indexOf(URL_PASSWORD_KIND)
export const PRIVATE_KEY = SECRET_KINDS.indexOf(PRIVATE_KEY_KIND)

interface CompiledFormat extends SecretFormat {
  readonly prefixBytes: Uint8Array
  readonly kindIndex: number
  /** Index of the alphabet, for `#reach`. */
  readonly alphabetIndex: number
}

const ALPHABETS: number[] = []

function compile(format: SecretFormat): CompiledFormat {
  let alphabetIndex = ALPHABETS.indexOf(format.alphabet)
  if (alphabetIndex < 0) alphabetIndex = ALPHABETS.push(format.alphabet) - 1
  return {
    ...format,
    prefixBytes: Buffer.from(format.prefix),
    kindIndex: SECRET_KINDS.indexOf(format.kind),
    alphabetIndex,
  }
}

/** Six bits of each of two bytes: which formats may begin so. Prefixes are compared afterwards. */
export function pairOf(first: number, second: number): number {
  return ((first & 63) << 6) | (second & 63)
}

const FORMATS_BY_PAIR: (readonly CompiledFormat[] | undefined)[] = new Array(4_096).fill(undefined)
for (const format of SECRET_FORMATS.map(compile)) {
  const pair = pairOf(format.prefixBytes[0]!, format.prefixBytes[1]!)
  FORMATS_BY_PAIR[pair] = [...(FORMATS_BY_PAIR[pair] ?? []), format]
}
const IS_PAIR = Uint8Array.from(FORMATS_BY_PAIR, (formats) => (formats === undefined ? 0 : 1))

/** A token begins where no word goes on. */
export const IS_WORD = Uint8Array.from(BYTE_CLASS, (kinds) => ((kinds & WORD) === 0 ? 0 : 1))

const OPENAI_MARK = Buffer.from('T3BlbkFJ')
const BEARER = Buffer.from('bearer')
const BASIC = Buffer.from('basic')
const SPACES_MAX = 8
const ANSI_BYTES_MAX = 16
const DOT = 0x2e
const EQUALS = 0x3d
const BACKSLASH = 0x5c
const PERCENT = 0x25
const ESCAPE = 0x1b
const UNDERSCORE_SIGN = 0x5f
/** Eight and 32 or more as we make them; a little apart, as this is a search and no check. */
const OUR_PREFIX_BYTES_MAX = 16
const OUR_SECRET_BYTES_MIN = 24
const HEX_DIGITS = DIGIT | 8

export class SecretMatcher {
  #bytes: Uint8Array = new Uint8Array(0)
  #start = 0
  #end = 0
  /** By alphabet: `#to` is where it ends when read from any byte between `#from` and there. */
  readonly #from = new Int32Array(ALPHABETS.length)
  /** The value that they are of. */
  readonly #of = new Int32Array(ALPHABETS.length)
  #serial = 0
  readonly #to = new Int32Array(ALPHABETS.length)
  #markFrom = 0
  #markAt = 0

  /** The value that the next runs are in. */
  begin(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes
    this.#start = start
    this.#end = end
    this.#markFrom = -1
    this.#serial = (this.#serial + 1) | 0
  }

  /** The kind of the first secret that begins in the run, or NO_SECRET. */
  matchRun(from: number, to: number): number {
    const bytes = this.#bytes
    const first = this.#runStart(from, to)
    if (first > from) {
      const kind = this.#matchAt(first, true)
      if (kind !== NO_SECRET) return kind
    }
    if (this.#isAuthorization(from, to)) return AUTHORIZATION
    const last = to - 1
    let at = from
    while (at < last) {
      if (IS_PAIR[pairOf(bytes[at]!, bytes[at + 1]!)] === 1) {
        const kind = this.#matchAt(at, at === from || bytes[at - 1] !== 0x2d)
        if (kind !== NO_SECRET) return kind
      }
      while (at < last && IS_WORD[bytes[at]!] === 1) at++
      at++
    }
    return NO_SECRET
  }

  /**
   * Where the first token of a run may begin besides the run's own start: what stands before it
   * may end in token bytes that are no text. `%3D`, `\n` and `\u003d` spelled out (JSON within
   * JSON), and the colour codes of terminals. Returns `from` when there is none.
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

  /** Compares the formats that begin with the two bytes at `at`, where a word begins. */
  #matchAt(at: number, isTokenStart: boolean): number {
    const bytes = this.#bytes
    if (at + 1 >= this.#end) return NO_SECRET
    const formats = FORMATS_BY_PAIR[pairOf(bytes[at]!, bytes[at + 1]!)]
    if (formats === undefined) return NO_SECRET
    for (const format of formats) {
      if (
        isAt(bytes, at, this.#end, format.prefixBytes) &&
        this.#matches(format, at, isTokenStart)
      ) {
        return format.kindIndex
      }
    }
    return NO_SECRET
  }

  #matches(format: CompiledFormat, at: number, isTokenStart: boolean): boolean {
    const body = at + format.prefixBytes.length
    const reach = this.#reach(format, body)
    if (format.rule === 'jwt') return isTokenStart && this.#isJwt(format, body, reach)
    let end = reach
    // A dot or an equals sign behind a token belongs to the text around it.
    while (end > body && end - body > format.min && isTail(this.#bytes[end - 1]!)) end--
    const count = end - body
    if (count < format.min || count > format.max) return false
    if (end < this.#end && (BYTE_CLASS[this.#bytes[end]!]! & WORD) !== 0) return false
    if (format.rule === 'legacy_openai') return this.#hasOpenAiMark(body, end)
    if (format.rule === 'sluice') return isOurKey(this.#bytes, body, end)
    return isRandom(this.#bytes, body, end, format.alphabet)
  }

  /** Where `format`'s alphabet ends, read from `body`. Each byte is read once an alphabet. */
  #reach(format: CompiledFormat, body: number): number {
    const index = format.alphabetIndex
    const isKnown = this.#of[index] === this.#serial
    if (isKnown && body >= this.#from[index]! && body < this.#to[index]!) return this.#to[index]!
    const { alphabet } = format
    let end = body
    while (end < this.#end && (BYTE_CLASS[this.#bytes[end]!]! & alphabet) !== 0) end++
    this.#of[index] = this.#serial
    this.#from[index] = body
    this.#to[index] = end
    return end
  }

  /** `ey… . ey… . …`, the dots between stretches of base64url. */
  #isJwt(format: CompiledFormat, body: number, headerEnd: number): boolean {
    const bytes = this.#bytes
    if (headerEnd - body < format.min || bytes[headerEnd] !== DOT) return false
    const payload = headerEnd + 1
    if (payload + 2 > this.#end || bytes[payload] !== 0x65) return false
    // `{"`, or `{` and the end of a line.
    if (bytes[payload + 1] !== 0x79 && bytes[payload + 1] !== 0x77) return false
    const payloadEnd = this.#reach(format, payload + 2)
    if (payloadEnd >= this.#end || bytes[payloadEnd] !== DOT) return false
    if (payloadEnd - payload - 2 < format.min) return false
    const signatureMin = payloadEnd + 1 + 10
    if (signatureMin > this.#end) return false
    for (let i = payloadEnd + 1; i < signatureMin; i++) {
      if ((BYTE_CLASS[bytes[i]!]! & WORD_DASH) === 0) return false
    }
    return true
  }

  /** Whether the mark that all old keys have in their middle stands in the body. */
  #hasOpenAiMark(body: number, end: number): boolean {
    if (this.#markFrom < 0 || body > this.#markAt || body < this.#markFrom) {
      let at = body
      while (at < end && !isAt(this.#bytes, at, end, OPENAI_MARK)) at++
      this.#markFrom = body
      this.#markAt = at
    }
    const before = this.#markAt - body
    return this.#markAt < end && before >= 16 && end - this.#markAt - OPENAI_MARK.length >= 16
  }

  /** `Bearer ` or `Basic ` and at least 16 bytes that are no words of a sentence. */
  #isAuthorization(from: number, to: number): boolean {
    const bytes = this.#bytes
    let start = from
    let scheme = from
    if (from - this.#start >= 6 && bytes[from - 1] === 0x20) {
      const stop = Math.max(this.#start, from - SPACES_MAX)
      while (scheme > stop && bytes[scheme - 1] === 0x20) scheme--
    } else if (from - this.#start >= 6 && isPercentSpace(bytes, from)) {
      start = from + 2
      scheme = from - 1
    } else {
      return false
    }
    if (to - start < AUTHORIZATION_BYTES_MIN) return false
    const isBasic = this.#endsIn(scheme, BASIC)
    if (!isBasic && !this.#endsIn(scheme, BEARER)) return false
    return isCredential(bytes, start, to) || (isBasic && isUserAndPassword(bytes, start, to))
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

  /** Whether what stands before `at` is no word: other signs, or what `#runStart` knows of. */
  #isWordStart(at: number): boolean {
    const bytes = this.#bytes
    if ((BYTE_CLASS[bytes[at - 1]!]! & ALNUM) === 0) return true
    for (let from = Math.max(this.#start, at - ANSI_BYTES_MAX); from < at; from++) {
      if (this.#runStart(from, at) === at) return true
    }
    return false
  }
}

function isAt(bytes: Uint8Array, at: number, end: number, text: Uint8Array): boolean {
  if (at + text.length > end) return false
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text[i]) return false
  }
  return true
}

/** `<prefix>_<secret>`, both without `_`: what is behind `lax_` and `lap_`. */
function isOurKey(bytes: Uint8Array, start: number, end: number): boolean {
  const prefixEnd = Math.min(end, start + OUR_PREFIX_BYTES_MAX + 1)
  let at = start
  while (at < prefixEnd && (BYTE_CLASS[bytes[at]!]! & ALNUM) !== 0) at++
  if (at === start || at === end || bytes[at] !== UNDERSCORE_SIGN) return false
  const secret = at + 1
  for (at = secret; at < end && at - secret < OUR_SECRET_BYTES_MIN; at++) {
    if ((BYTE_CLASS[bytes[at]!]! & ALNUM) === 0) return false
  }
  return at - secret === OUR_SECRET_BYTES_MIN
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

function isTail(byte: number): boolean {
  return byte === DOT || byte === EQUALS || byte === 0x2f || byte === 0x2d || byte === 0x7e
}

/**
 * Whether a body looks drawn at random rather than written: no single byte repeated, as in masks
 * and placeholders; and where dashes may be in it, not lower-case words joined by them.
 */
function isRandom(bytes: Uint8Array, start: number, end: number, alphabet: number): boolean {
  const stop = Math.min(end, start + 64)
  let isRepeated = true
  let classes = 0
  for (let i = start; i < stop; i++) {
    if (bytes[i] !== bytes[start]) isRepeated = false
    classes |= BYTE_CLASS[bytes[i]!]!
  }
  if (isRepeated) return false
  return (alphabet & (DASH | UNDERSCORE)) === 0 || (classes & (DIGIT | UPPER)) !== 0
}
