/**
 * Names and values that a message has, as ranges of bytes: params of structured data by the element
 * that they are in, or the members of CEF and LEEF. Those of one name in one element are chained.
 * They are the message's bytes, or of a buffer of the list: values that had escapes, names of ours.
 */
import { SYSLOG_PAIRS_MAX } from '../../../src/limits.ts'
import type { ByteSource } from '../../build/scalar-writer.ts'
import { EventBuffer } from '../../tape/event-buffer.ts'

const PAIR = 5
export const NONE = -1
/** What of a pair is in `text`, as bits. */
export const VALUE_IN_TEXT = 1
export const NAME_IN_TEXT = 2

export class FieldList {
  count = 0
  groups = 0
  /** Whether each name is there once. */
  isPlain = true
  /** Of all names. */
  hash = 0
  /** Whether a value is in `text`. */
  hasEscapes = false
  /** Names of ours, then values that had escapes, without them. */
  readonly text = new EventBuffer()
  /** By pair: the next one of its name and group, or NONE; and whether it is the first one. */
  readonly next = new Int32Array(SYSLOG_PAIRS_MAX)
  readonly isFirst = new Uint8Array(SYSLOG_PAIRS_MAX)
  /** By pair: the group, which is the first of the element's id. */
  readonly group = new Int32Array(SYSLOG_PAIRS_MAX)
  readonly #ranges = new Int32Array(PAIR * SYSLOG_PAIRS_MAX)
  /** What names are compared by first. */
  readonly #marks = new Int32Array(SYSLOG_PAIRS_MAX)
  readonly #groupStart = new Int32Array(SYSLOG_PAIRS_MAX)
  readonly #groupEnd = new Int32Array(SYSLOG_PAIRS_MAX)
  readonly #namesLength: number
  /** What the other ranges are of. */
  source: ByteSource = this.text

  /** `names`: what the text always begins with. */
  constructor(names: Uint8Array = new Uint8Array(0)) {
    this.#namesLength = names.length
    this.text.reserve(names.length)
    this.text.bytes.set(names)
    this.text.length = names.length
  }

  /** Starts anew. */
  clear(source: ByteSource): void {
    this.count = 0
    this.groups = 0
    this.isPlain = true
    this.hash = 0
    this.hasEscapes = false
    this.source = source
    this.text.length = this.#namesLength
  }

  /** The group of a name, which may be there already; NONE when there are too many. */
  addGroup(start: number, end: number): number {
    const { bytes } = this.source
    for (let group = this.groups - 1; group >= 0; group--) {
      const known = this.#groupStart[group]!
      if (this.#groupEnd[group]! - known !== end - start) continue
      if (!isSame(bytes, known, bytes, start, end)) continue
      this.isPlain = false
      return group
    }
    if (this.groups === SYSLOG_PAIRS_MAX) return NONE
    this.#addHash((end - start) ^ (bytes[start]! << 8) ^ (bytes[end - 1]! << 16))
    this.#groupStart[this.groups] = start
    this.#groupEnd[this.groups] = end
    return this.groups++
  }

  groupStart(group: number): number {
    return this.#groupStart[group]!
  }

  groupEnd(group: number): number {
    return this.#groupEnd[group]!
  }

  /** False when there are too many. `inText`: VALUE_IN_TEXT, NAME_IN_TEXT, both or 0. */
  add(
    group: number,
    nameStart: number,
    nameEnd: number,
    valueStart: number,
    valueEnd: number,
    inText: number,
  ): boolean {
    const pair = this.count
    if (pair === SYSLOG_PAIRS_MAX) return false
    const at = pair * PAIR
    const ranges = this.#ranges
    ranges[at] = nameStart
    ranges[at + 1] = nameEnd
    ranges[at + 2] = valueStart
    ranges[at + 3] = valueEnd
    ranges[at + 4] = inText
    if ((inText & VALUE_IN_TEXT) !== 0) this.hasEscapes = true
    this.group[pair] = group
    this.count++
    this.#chain(pair)
    return true
  }

  nameStart(pair: number): number {
    return this.#ranges[pair * PAIR]!
  }

  nameEnd(pair: number): number {
    return this.#ranges[pair * PAIR + 1]!
  }

  valueStart(pair: number): number {
    return this.#ranges[pair * PAIR + 2]!
  }

  valueEnd(pair: number): number {
    return this.#ranges[pair * PAIR + 3]!
  }

  inText(pair: number): number {
    return this.#ranges[pair * PAIR + 4]!
  }

  #addHash(mark: number): void {
    const mixed = Math.imul(this.hash ^ mark, 0x85ebca6b)
    this.hash = mixed ^ (mixed >>> 15)
  }

  #namesOf(pair: number): Uint8Array {
    return (this.inText(pair) & NAME_IN_TEXT) === 0 ? this.source.bytes : this.text.bytes
  }

  /** Finds the last one before that has the name, by length and ends first. */
  #chain(pair: number): void {
    const start = this.nameStart(pair)
    const end = this.nameEnd(pair)
    const bytes = this.#namesOf(pair)
    const length = end - start
    const ends = length === 0 ? 0 : (bytes[start]! << 8) | bytes[end - 1]!
    const mark = (this.group[pair]! << 24) ^ (length << 16) ^ ends
    const marks = this.#marks
    marks[pair] = mark
    this.#addHash(mark)
    this.next[pair] = NONE
    this.isFirst[pair] = 1
    for (let i = pair - 1; i >= 0; i--) {
      if (marks[i] !== mark || this.group[i] !== this.group[pair]) continue
      if (this.nameEnd(i) - this.nameStart(i) !== length) continue
      if (!isSame(this.#namesOf(i), this.nameStart(i), bytes, start, end)) continue
      this.next[i] = pair
      this.isFirst[pair] = 0
      this.isPlain = false
      return
    }
  }
}

function isSame(
  known: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  for (let i = start; i < end; i++) if (known[at + i - start] !== bytes[i]) return false
  return true
}
