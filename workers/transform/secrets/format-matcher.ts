/**
 * Compares the formats of `secret-table.ts` with a position in a value. By how they are found:
 *
 * - most begin with literals or small classes: two bytes where a word begins select them
 * - some have a literal at a fixed distance from their end, `…AZDO1234`: it is looked for where a
 *   run of token bytes ends, once for all signs of equality after it
 * - one has a sign before its random part, `abc8Q~…`: looked for after each `~`
 *
 * Linear in the value, even when every byte begins another candidate: how far a class reaches from
 * a format's beginning is remembered for bytes that were read before, and the rest is bounded.
 */
import assert from 'node:assert/strict'
import { isPlaceholder } from './placeholders.ts'
import { BYTE_CLASS, DASH, DIGIT, UNDERSCORE, UPPER, WORD } from './secret-formats.ts'
import {
  classCount,
  countMax,
  type PatternStep,
  parsePatterns,
  type SecretPattern,
} from './secret-pattern.ts'
import { SECRET_TABLE } from './secret-table.ts'

export const NO_MATCH = -1

export interface SecretFormat extends SecretPattern {
  readonly kind: string
  readonly kindIndex: number
}

/** Kinds of the table, by the index that matching returns. */
export const TABLE_KINDS: readonly string[] = [...new Set(SECRET_TABLE.map(([kind]) => kind))]

export const SECRET_FORMATS: readonly SecretFormat[] = SECRET_TABLE.flatMap(([kind, ...patterns]) =>
  patterns
    .flatMap(parsePatterns)
    .map((pattern) => ({ ...pattern, kind, kindIndex: TABLE_KINDS.indexOf(kind) })),
)

/** Alternatives of the first two bytes that a format may have, to be selected by them. */
const PAIRS_MAX = 96

/** Six bits of each of two bytes: which formats may begin so. */
function pairOf(first: number, second: number): number {
  return ((first & 63) << 6) | (second & 63)
}

/**
 * The bytes that are possible at position `index` of a format; undefined where it may have ended.
 */
export function bytesAt({ steps }: SecretPattern, index: number): readonly number[] | undefined {
  let left = index
  for (const step of steps) {
    const length = step.literal.length > 0 ? step.literal.length : step.min
    if (left < length) return step.literal.length > 0 ? [step.literal[left]!] : membersOf(step)
    left -= length
    if (step.literal.length === 0 && step.min !== step.max) return undefined
  }
  return undefined
}

function membersOf({ members }: PatternStep): number[] {
  return [...members.keys()].filter((byte) => members[byte] === 1)
}

/** The pairs of bytes that a pattern may begin with. */
export function pairsOf(format: SecretPattern): number[] {
  const seconds = bytesAt(format, 1) ?? []
  return (bytesAt(format, 0) ?? []).flatMap((first) => seconds.map((each) => pairOf(first, each)))
}

const LETTER_Q = 0x51
const TILDE = 0x7e

function isBehindTilde({ behind }: SecretFormat): boolean {
  const sign = behind.at(-1)?.literal
  return sign?.at(-1) === TILDE && sign.at(-2) === LETTER_Q
}

const TILDE_FORMATS = SECRET_FORMATS.filter(isBehindTilde)
const others = SECRET_FORMATS.filter((format) => !isBehindTilde(format))
/** Selected by their first two bytes. */
export const HEADED_FORMATS = others.filter((format) => pairsOf(format).length <= PAIRS_MAX)

const FORMATS_BY_PAIR: (SecretFormat[] | undefined)[] = new Array(4_096).fill(undefined)
for (const format of HEADED_FORMATS) {
  for (const pair of new Set(pairsOf(format))) {
    FORMATS_BY_PAIR[pair] ??= []
    FORMATS_BY_PAIR[pair].push(format)
  }
}
const IS_PAIR = Uint8Array.from(FORMATS_BY_PAIR, (formats) => (formats === undefined ? 0 : 1))

/** A format of fixed length, and four bytes of a literal so far before its end. */
interface TailFormat {
  readonly format: SecretFormat
  readonly bytes: number
  readonly distance: number
  readonly literal: Uint8Array
}

/** Selected by a literal at a distance from their end. */
export const TAIL_FORMATS: readonly TailFormat[] = others
  .filter((format) => pairsOf(format).length > PAIRS_MAX)
  .map(tailOf)
export const TAIL_BYTES_MIN = Math.min(...TAIL_FORMATS.map(({ bytes }) => bytes))

function tailOf(format: SecretFormat): TailFormat {
  const lengths = format.steps.map((step) => step.literal.length || step.min)
  const at = format.steps.findIndex(({ literal }) => literal.length >= 4)
  const isFixed = format.steps.every(({ min, max }) => min === max)
  assert(at > 0 && isFixed && format.behind.length === 0, `no way to find ${format.kind}`)
  const distance = lengths.slice(at).reduce((sum, length) => sum + length, 0)
  const bytes = lengths.reduce((sum, length) => sum + length, 0)
  return { format, bytes, distance, literal: format.steps[at]!.literal.subarray(0, 4) }
}

/** How much earlier in a stretch a second format's class may begin and still know its end. */
const BACK_BYTES_MAX = 64
/** Longest class in which a vendor says what a token is for. */
const CODE_BYTES_MAX = 4
/** Counts as short as this one are not remembered. */
const SHORT_COUNT = 16
/** The shortest literals that let a body of letters alone pass. */
const LITERAL_BYTES_MIN = 3

export class FormatMatcher {
  #bytes: Uint8Array = new Uint8Array(0)
  #start = 0
  #end = 0
  #first = 0
  #serial = 0
  /** By class: `#to` is where it ends when read from any byte between `#from` and there. */
  readonly #from = new Int32Array(classCount())
  readonly #to = new Int32Array(classCount())
  /** The value that they are of. */
  readonly #of = new Int32Array(classCount())

  /** The value that the next positions are in. */
  begin(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes
    this.#start = start
    this.#end = end
    this.#serial = (this.#serial + 1) | 0
  }

  /** Where the first token of the next run begins, whatever precedes it. */
  beginRun(first: number): void {
    this.#first = first
  }

  /** The kind of a secret that begins at `at`, where a word begins; NO_MATCH. */
  matchAt(at: number): number {
    const bytes = this.#bytes
    if (at + 1 >= this.#end) return NO_MATCH
    const pair = pairOf(bytes[at]!, bytes[at + 1]!)
    if (IS_PAIR[pair] === 1) {
      for (const format of FORMATS_BY_PAIR[pair]!) {
        if (this.#matches(format, at)) return format.kindIndex
      }
    }
    if (at - 2 >= this.#start && bytes[at - 1] === TILDE && bytes[at - 2] === LETTER_Q) {
      for (const format of TILDE_FORMATS) {
        if (this.#matches(format, at)) return format.kindIndex
      }
    }
    return NO_MATCH
  }

  /** The kind of a secret that ends where the run `from`..`to` does; NO_MATCH. */
  matchTail(from: number, to: number): number {
    if (to - from < TAIL_BYTES_MIN) return NO_MATCH
    const bytes = this.#bytes
    const end = tailEnd(bytes, from, to)
    for (const { format, bytes: length, distance, literal } of TAIL_FORMATS) {
      if (end - from < length || !isAt(bytes, end - distance, end, literal)) continue
      const start = end - length
      if (start !== from && start !== this.#first && isWord(bytes[start - 1]!)) continue
      if (!this.#isFree(format.steps[0]!, start)) continue
      if (this.#matches(format, start)) return format.kindIndex
    }
    return NO_MATCH
  }

  #matches(format: SecretFormat, at: number): boolean {
    const { steps, literalBytes } = format
    const bytes = this.#bytes
    const last = steps.length - 1
    let place = at
    let body = -1
    let isLong = false
    for (let i = 0; i < last; i++) {
      const step = steps[i]!
      if (step.literal.length > 0) {
        if (!isAt(bytes, place, this.#end, step.literal)) return false
        place += step.literal.length
        continue
      }
      const stop = Math.min(this.#stopOf(step, place, !isLong), place + countMax(step))
      isLong ||= step.max > SHORT_COUNT
      if (stop - place < step.min) return false
      if (body < 0 && step.max > CODE_BYTES_MAX) body = place
      place = stop
    }
    const end = this.#lastEnd(steps[last]!, place, !isLong)
    if (end < 0 || (end < this.#end && isWord(bytes[end]!))) return false
    if (format.behind.length > 0) {
      if (!this.#isBehind(format.behind, at)) return false
      // The text before it is random as well, and short bodies prove nothing.
      return end - at <= SHORT_COUNT || !isPlaceholder(bytes, at, Math.min(end, at + BODY_BYTES))
    }
    if (steps.every(({ literal }) => literal.length > 0)) return true
    return isRandom(bytes, body < 0 ? place : body, end, literalBytes)
  }

  /** Where the last step ends that begins at `place`; -1 where it does not match. */
  #lastEnd(step: PatternStep, place: number, isFirst: boolean): number {
    const bytes = this.#bytes
    if (step.literal.length > 0) {
      return isAt(bytes, place, this.#end, step.literal) ? place + step.literal.length : -1
    }
    let end = this.#stopOf(step, place, isFirst)
    // A dot or an equals sign after a token belongs to the text around it.
    while (end - place > step.min && isTail(bytes[end - 1]!)) end--
    return end - place < step.min || end - place > step.max ? -1 : end
  }

  /**
   * The end of the class that is read from `place`, or one byte past the most it may have. The
   * first long class of a format is read once per value, however many formats need it.
   */
  #stopOf(step: PatternStep, place: number, isFirst: boolean): number {
    const { members, classIndex: index, max } = step
    const bytes = this.#bytes
    if (!isFirst || max <= SHORT_COUNT) {
      const limit = Math.min(this.#end, place + countMax(step) + 1)
      let end = place
      while (end < limit && members[bytes[end]!] === 1) end++
      return end
    }
    if (this.#of[index] === this.#serial && place < this.#to[index]!) {
      const from = this.#from[index]!
      if (place >= from) return this.#to[index]!
      if (from - place <= BACK_BYTES_MAX && isClass(bytes, place, from, members)) {
        this.#from[index] = place
        return this.#to[index]!
      }
    }
    let end = place
    while (end < this.#end && members[bytes[end]!] === 1) end++
    this.#of[index] = this.#serial
    this.#from[index] = place
    this.#to[index] = end
    return end
  }

  /** Whether the steps precede `at`, and nothing that would make the first of them longer. */
  #isBehind(steps: readonly PatternStep[], at: number): boolean {
    const bytes = this.#bytes
    let place = at
    for (let i = steps.length - 1; i >= 0; i--) {
      const { literal, members, min, max } = steps[i]!
      if (literal.length > 0) {
        place -= literal.length
        if (place < this.#start || !isAt(bytes, place, at, literal)) return false
        continue
      }
      const limit = Math.max(this.#start, place - max)
      let from = place
      while (from > limit && members[bytes[from - 1]!] === 1) from--
      if (place - from < min) return false
      place = from
    }
    return this.#isFree(steps[0]!, place)
  }

  /** Whether a token that begins with the step may begin here: it is no longer to the left. */
  #isFree({ members, literal }: PatternStep, place: number): boolean {
    if (place === this.#start || place === this.#first || literal.length > 0) return true
    return members[this.#bytes[place - 1]!] === 0
  }
}

/** The end of the text before a dot and signs of equality at the end of a run. */
function tailEnd(bytes: Uint8Array, from: number, to: number): number {
  let end = to
  if (bytes[end - 1] === 0x2e) end--
  for (let i = 0; i < 2 && end > from && bytes[end - 1] === 0x3d; i++) end--
  return end
}

function isWord(byte: number): boolean {
  return (BYTE_CLASS[byte]! & WORD) !== 0
}

function isClass(bytes: Uint8Array, start: number, end: number, members: Uint8Array): boolean {
  for (let i = start; i < end; i++) {
    if (members[bytes[i]!] === 0) return false
  }
  return true
}

function isAt(bytes: Uint8Array, at: number, end: number, text: Uint8Array): boolean {
  if (at + text.length > end) return false
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text[i]) return false
  }
  return true
}

function isTail(byte: number): boolean {
  return byte === 0x2e || byte === 0x3d || byte === 0x2f || byte === 0x2d || byte === TILDE
}

/** Bytes of a body that are looked at. */
const BODY_BYTES = 128

/**
 * Whether a body looks random rather than written: it has digits or capitals, and is no mask or
 * placeholder. Where the format alone says little, there have to be digits, and also capitals if it
 * may be joined words.
 */
function isRandom(bytes: Uint8Array, start: number, end: number, literalBytes: number): boolean {
  const stop = Math.min(end, start + BODY_BYTES)
  let kinds = 0
  for (let i = start; i < stop; i++) kinds |= BYTE_CLASS[bytes[i]!]!
  if ((kinds & (DIGIT | UPPER)) === 0) return false
  if (literalBytes < LITERAL_BYTES_MIN && (kinds & DIGIT) === 0) return false
  const isJoined = literalBytes <= LITERAL_BYTES_MIN && (kinds & (DASH | UNDERSCORE)) !== 0
  if (isJoined && (kinds & UPPER) === 0) return false
  return !isPlaceholder(bytes, start, stop)
}
