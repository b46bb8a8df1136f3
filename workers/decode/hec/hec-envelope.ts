/**
 * Finds the members of one envelope, `{"time":…,"event":…,"fields":{…},"host":…}`, and judges them.
 * Members may come in any order; the last of one name counts.
 */
import { HecTime } from '../../../src/model/hec-time.ts'
import { unescapeToString } from '../../tape/json-string.ts'
import type { JsonTape } from '../../tape/json-tape.ts'
import { ROOT } from '../../tape/path-trie.ts'
import { ARRAY, DEAD, ELEMENT, ENTRY, EXTENSION, OBJECT } from '../../tape/tape-types.ts'
import { JsonMembers } from '../json-members.ts'

/** Numbers of the members that mean something; the first four as `HEC_METADATA` has them. */
export const HOST = 0
export const INDEX = 3
export const TIME = 4
export const EVENT = 5
export const FIELDS = 6
const NAMES = ['host', 'source', 'sourcetype', 'index', 'time', 'event', 'fields'] as const
const NAME_BYTES = NAMES.map((name) => Buffer.from(name))

/** What may be wrong with an envelope. */
export const GOOD = 0
/** Not JSON; the tape says why. */
export const BAD_SYNTAX = 1
export const NO_EVENT = 2
export const BLANK_EVENT = 3
export const BAD_FIELDS = 4
export const BAD_TIME = 5
export const BAD_METADATA = 6

const QUOTE = 0x22
const BACKSLASH = 0x5c
export const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const LETTER_N = 0x6e
const SPACE = 0x20
/** After a backslash: those that stand for white space. */
const BLANK_ESCAPES = new Set(Buffer.from('nrt'))

/** A member whose name means nothing to the protocol. */
export interface OtherMember {
  readonly name: string
  readonly start: number
  readonly end: number
}

export class HecEnvelope {
  /** By member: where its value lies; -1 where there is none, or null. */
  readonly start = new Int32Array(NAMES.length)
  readonly end = new Int32Array(NAMES.length)
  readonly time = new HecTime()
  /** Members of other names; mostly none. */
  readonly others: OtherMember[] = []
  readonly #tape: JsonTape
  readonly #members: JsonMembers
  #bytes: Uint8Array = new Uint8Array(0)
  /** Which member came last: mostly the next envelope has them in the same order. */
  #last = 0
  #areFieldsFlat = true

  /** `tape` judges; nothing stays on it. */
  constructor(tape: JsonTape) {
    this.#tape = tape
    this.#members = new JsonMembers(tape, true)
  }

  /** Where the envelope ends, or -1 when its syntax is broken. */
  get envelopeEnd(): number {
    return this.#members.end
  }

  /** Reads the envelope whose brace is at `open` of `bytes`, which the tape was begun with. */
  read(bytes: Uint8Array, open: number): number {
    const members = this.#members
    this.#bytes = bytes
    this.start.fill(-1)
    if (this.others.length > 0) this.others.length = 0
    this.#areFieldsFlat = true
    members.enter(bytes, open)
    while (members.next()) {
      const kind = this.#kindOfKey()
      const { valueStart } = members
      const end = kind === FIELDS ? this.#readFields(valueStart) : members.skip(valueStart)
      if (end < 0) break
      if (kind < 0) this.#keepOther(valueStart, end)
      else {
        this.start[kind] = bytes[valueStart] === LETTER_N ? -1 : valueStart
        this.end[kind] = end
      }
    }
    return members.end < 0 ? BAD_SYNTAX : this.#judge()
  }

  /** The number of the member whose key was read; -1 for another name. */
  #kindOfKey(): number {
    const members = this.#members
    let kind = this.#last
    for (let tries = 0; tries < NAME_BYTES.length; tries++) {
      kind = kind + 1 < NAME_BYTES.length ? kind + 1 : 0
      if (!members.isKey(NAME_BYTES[kind]!)) continue
      this.#last = kind
      return kind
    }
    return this.#hasEscape() ? (NAMES as readonly string[]).indexOf(this.#keyText()) : -1
  }

  #hasEscape(): boolean {
    const { keyStart, keyEnd } = this.#members
    for (let i = keyStart; i < keyEnd; i++) if (this.#bytes[i] === BACKSLASH) return true
    return false
  }

  /** Cold. */
  #keyText(): string {
    return unescapeToString(this.#bytes, this.#members.keyStart, this.#members.keyEnd)
  }

  #keepOther(start: number, end: number): void {
    this.others.push({ name: this.#keyText(), start, end })
  }

  /** Reads the value of `fields`; returns where it ends, or -1. */
  #readFields(start: number): number {
    const tape = this.#tape
    const { trie } = tape
    const node = trie.elementOf(ROOT)
    const mark = tape.length
    const end = tape.parse(start, node, true)
    this.#areFieldsFlat = true
    for (let at = mark; at < tape.length && end >= 0; at += ENTRY) {
      const type = tape.entries[at + 1]!
      if (type === EXTENSION || type === DEAD) continue
      const own = tape.entries[at]!
      const parent = trie.parent[own]!
      if (parent === node) this.#areFieldsFlat &&= type !== OBJECT
      else {
        const isElement = trie.element[parent] === own && trie.parent[parent] === node
        this.#areFieldsFlat &&= isElement && type !== ARRAY && type !== ELEMENT && type !== OBJECT
      }
    }
    tape.length = mark
    return this.#members.leave(end)
  }

  #judge(): number {
    const bytes = this.#bytes
    const { start } = this
    const event = start[EVENT]!
    if (event < 0) return NO_EVENT
    if (this.#isBlank(event, this.end[EVENT]!)) return BLANK_EVENT
    if (start[FIELDS]! >= 0) {
      if (bytes[start[FIELDS]!] !== OPEN_OBJECT || !this.#areFieldsFlat) return BAD_FIELDS
    }
    for (let kind = HOST; kind <= INDEX; kind++) {
      const first = start[kind]! < 0 ? 0 : bytes[start[kind]!]
      if (first === OPEN_OBJECT || first === OPEN_ARRAY) return BAD_METADATA
    }
    this.time.ms = 0
    this.time.nanos = 0
    return start[TIME]! < 0 || this.#readTime(start[TIME]!, this.end[TIME]!) ? GOOD : BAD_TIME
  }

  #readTime(start: number, end: number): boolean {
    const bytes = this.#bytes
    if (bytes[start] !== QUOTE) return this.time.tryRead(bytes, start, end)
    for (let i = start + 1; i < end - 1; i++) {
      if (bytes[i] !== BACKSLASH) continue
      const text = Buffer.from(unescapeToString(bytes, start + 1, end - 1))
      return this.time.tryRead(text, 0, text.length)
    }
    return this.time.tryRead(bytes, start + 1, end - 1)
  }

  /** A string of nothing but white space, or an object without members. */
  #isBlank(start: number, end: number): boolean {
    const bytes = this.#bytes
    if (bytes[start] === OPEN_OBJECT) return bytes[this.#tape.space(start + 1)] === CLOSE_OBJECT
    if (bytes[start] !== QUOTE) return false
    let at = start + 1
    while (at < end - 1) {
      if (bytes[at] === SPACE) at++
      else if (bytes[at] === BACKSLASH && BLANK_ESCAPES.has(bytes[at + 1]!)) at += 2
      else return false
    }
    return true
  }
}
