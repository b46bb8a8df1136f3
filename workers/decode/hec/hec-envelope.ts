/**
 * Finds the members of one envelope, `{"time":…,"event":…,"fields":{…},"host":…}`, and judges them.
 * Members may come in any order; the last of one name counts.
 *
 * Subtle: senders have an envelope of one form, and mostly one metadata, for all their events. So
 * what is around the time and the event is compared with the envelope before: where it is the same
 * bytes, only these two are read.
 */
import { HecTime } from '../../../src/model/hec-time.ts'
import { kernels } from '../../kernel/kernels.ts'
import { viewOf } from '../../tape/event-buffer.ts'
import { stringStop } from '../../tape/json-scan.ts'
import { unescapeToString } from '../../tape/json-string.ts'
import { SYNTAX_COLON, SYNTAX_COMMA, SYNTAX_KEY } from '../../tape/json-syntax.ts'
import type { JsonTape } from '../../tape/json-tape.ts'
import { ROOT } from '../../tape/path-trie.ts'
import { ARRAY, DEAD, ELEMENT, ENTRY, EXTENSION, OBJECT, STRING } from '../../tape/tape-types.ts'

/** Numbers of the members that mean something; the first four as `HEC_METADATA` has them. */
export const HOST = 0
export const INDEX = 3
export const TIME = 4
export const EVENT = 5
export const FIELDS = 6
const NAMES = ['host', 'source', 'sourcetype', 'index', 'time', 'event', 'fields'] as const
const NAME_BYTES = NAMES.map((name) => Buffer.from(name))
const OTHER = -1
const ONLY_EVENT = [EVENT]
const TIME_FIRST = [TIME, EVENT]
const EVENT_FIRST = [EVENT, TIME]
/** Values become members of an event. */
const MEMBER_DEPTH = 1

/** What may be wrong with an envelope. */
export const GOOD = 0
/** Not JSON; the tape says why. */
export const BAD_SYNTAX = 1
export const NO_EVENT = 2
export const BLANK_EVENT = 3
export const BAD_FIELDS = 4
export const BAD_TIME = 5
export const BAD_METADATA = 6

export const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
export const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const LETTER_N = 0x6e
const ZERO = 0x30
const SPACE = 0x20
/** After a backslash: those that stand for white space. */
const BLANK_ESCAPES = new Set(Buffer.from('nrt'))

/** A member whose name means nothing to the protocol. */
export interface OtherMember {
  readonly name: string
  readonly start: number
  readonly end: number
}

/**
 * Judges an object in `event` at a position and keeps it; returns where it ends. -1 where it is
 * broken: the envelope's tape then says why.
 */
export type TakeObject = (start: number) => number

export class HecEnvelope {
  /** By member: where its value lies; -1 where there is none, or null. */
  readonly start = new Int32Array(NAMES.length)
  readonly end = new Int32Array(NAMES.length)
  /** The type of a scalar on the tape. */
  readonly type = new Int32Array(NAMES.length)
  readonly time = new HecTime()
  /** Members of other names; mostly none. */
  readonly others: OtherMember[] = []
  /** Behind the envelope, once it was read. */
  envelopeEnd = 0
  /** Whether all but time and event is as in the envelope before: its places are still those. */
  isRepeated = false
  readonly #tape: JsonTape
  readonly #takeObject: TakeObject
  #bytes: Uint8Array = new Uint8Array(0)
  #view: DataView = viewOf(this.#bytes)
  /** Of the key last read, without its quotes, as it is spelled. */
  #keyStart = 0
  #keyEnd = 0
  /** Which member came last: mostly the next envelope has them in the same order. */
  #last = 0
  #areFieldsFlat = true
  /** Where the value is that `time` has. */
  #timeAt = -1
  /** What the envelope to compare with has of time and event, in order; empty for none. */
  #holes: readonly number[] = []
  /** Start and end of what is before, between and behind them. */
  readonly #around = new Int32Array(6)

  /** `tape` judges; nothing stays on it. */
  constructor(tape: JsonTape, takeObject: TakeObject) {
    this.#tape = tape
    this.#takeObject = takeObject
  }

  /** Begins a part of `bytes`, which the tape was begun with. */
  begin(bytes: Uint8Array): void {
    this.#bytes = bytes
    this.#view = viewOf(bytes)
    this.#holes = []
  }

  /** Reads the envelope whose brace is at `open`. */
  read(open: number): number {
    this.#timeAt = -1
    this.#tape.allowLineFeeds(true)
    this.envelopeEnd = this.#tryRepeated(open)
    this.isRepeated = this.envelopeEnd >= 0
    if (this.isRepeated) return this.#judge()
    this.#holes = []
    this.start.fill(-1)
    if (this.others.length > 0) this.others.length = 0
    this.envelopeEnd = this.#readMembers(open)
    if (this.envelopeEnd < 0) return BAD_SYNTAX
    const found = this.#judge()
    if (found === GOOD) this.#remember(open)
    return found
  }

  /** What comes next is compared with the envelope that was read. */
  #remember(open: number): void {
    const { start, end } = this
    const isTimeFirst = start[TIME]! < start[EVENT]!
    this.#holes = start[TIME]! < 0 ? ONLY_EVENT : isTimeFirst ? TIME_FIRST : EVENT_FIRST
    let from = open
    for (const [i, hole] of this.#holes.entries()) {
      this.#around[2 * i] = from
      this.#around[2 * i + 1] = start[hole]!
      from = end[hole]!
    }
    this.#around[2 * this.#holes.length] = from
    this.#around[2 * this.#holes.length + 1] = this.envelopeEnd
  }

  /** Returns where the envelope ends, or -1 where it is not like the last one. Hot. */
  #tryRepeated(open: number): number {
    const holes = this.#holes
    if (holes.length === 0) return -1
    let pos = open
    for (let i = 0; i < holes.length; i++) {
      pos = this.#pastSame(i, pos)
      if (pos < 0) return -1
      pos = this.#readValue(holes[i]!, pos)
      if (pos < 0 || this.start[holes[i]!]! < 0) return -1
    }
    return this.#pastSame(holes.length, pos)
  }

  /** Past the piece of the envelope before, if that is at `pos`; -1 where something else is. */
  #pastSame(piece: number, pos: number): number {
    const start = this.#around[2 * piece]!
    const length = this.#around[2 * piece + 1]! - start
    const { byteOffset } = this.#bytes
    if (pos + length > this.#bytes.length) return -1
    const isSame = kernels.isSameText(byteOffset + start, byteOffset + pos, length) !== 0
    return isSame ? pos + length : -1
  }

  /** Returns where the object ends, or -1. Hot: one round a member. */
  #readMembers(open: number): number {
    const bytes = this.#bytes
    const tape = this.#tape
    let pos = tape.space(open + 1)
    if (bytes[pos] === CLOSE_OBJECT) return pos + 1
    for (;;) {
      if (bytes[pos] !== QUOTE) return this.#fail(SYNTAX_KEY, pos)
      let kind = this.#tryKnownKey(pos + 1)
      if (kind === OTHER) {
        const keyEnd = this.#skip(pos)
        if (keyEnd < 0) return -1
        this.#keyStart = pos + 1
        this.#keyEnd = keyEnd - 1
        kind = this.#kindOfSpelling()
      }
      pos = this.#keyEnd + 1
      if (bytes[pos]! <= SPACE) pos = tape.space(pos)
      if (bytes[pos] !== COLON) return this.#fail(SYNTAX_COLON, pos)
      pos++
      if (bytes[pos]! <= SPACE) pos = tape.space(pos)
      pos = this.#readValue(kind, pos)
      if (pos < 0) return -1
      if (bytes[pos]! <= SPACE) pos = tape.space(pos)
      if (bytes[pos] === CLOSE_OBJECT) return pos + 1
      if (bytes[pos] !== COMMA) return this.#fail(SYNTAX_COMMA, pos)
      pos++
      if (bytes[pos]! <= SPACE) pos = tape.space(pos)
    }
  }

  #fail(code: number, at: number): number {
    this.#tape.errorCode = code
    this.#tape.errorAt = at
    return -1
  }

  #readValue(kind: number, start: number): number {
    const first = this.#bytes[start]
    if (kind === FIELDS) return this.#keep(kind, start, this.#readFields(start))
    if (kind === EVENT && first === OPEN_OBJECT) {
      return this.#keep(kind, start, this.#takeObject(start))
    }
    if (kind === TIME) {
      const end = this.#readUsualTime(start)
      if (end >= 0) return this.#keep(kind, start, end)
    }
    if (kind !== OTHER && first === QUOTE) {
      // Most strings have no escapes.
      const stop = stringStop(this.#view, start + 1)
      if (this.#bytes[stop] === QUOTE) {
        this.type[kind] = STRING
        return this.#keep(kind, start, stop + 1)
      }
    }
    const end = this.#skip(start)
    if (kind !== OTHER) {
      this.type[kind] = this.#tape.entries[this.#tape.length + 1]!
      return this.#keep(kind, start, end)
    }
    // A copy of the name: keys of values are read meanwhile.
    if (end >= 0) this.others.push({ name: this.#keyText(), start, end })
    return end
  }

  #keep(kind: number, start: number, end: number): number {
    this.start[kind] = this.#bytes[start] === LETTER_N ? -1 : start
    this.end[kind] = end
    return end
  }

  /** Judges a value; returns where it ends or -1. Its entries are behind the tape's end then. */
  #skip(start: number): number {
    const tape = this.#tape
    const mark = tape.length
    const end = tape.parse(start, tape.trie.elementOf(ROOT), true, MEMBER_DEPTH)
    tape.length = mark
    return end
  }

  /** The number of the member whose key begins at `start`, as it is mostly spelled; or OTHER. */
  #tryKnownKey(start: number): number {
    const bytes = this.#bytes
    let kind = this.#last
    for (let tries = 0; tries < NAME_BYTES.length; tries++) {
      kind = kind + 1 < NAME_BYTES.length ? kind + 1 : 0
      const name = NAME_BYTES[kind]!
      const end = start + name.length
      if (bytes[end] !== QUOTE || bytes[start] !== name[0]) continue
      let i = 1
      while (i < name.length && bytes[start + i] === name[i]) i++
      if (i < name.length) continue
      this.#last = kind
      this.#keyStart = start
      this.#keyEnd = end
      return kind
    }
    return OTHER
  }

  /** Of a key with escapes. Cold. */
  #kindOfSpelling(): number {
    for (let i = this.#keyStart; i < this.#keyEnd; i++) {
      if (this.#bytes[i] !== BACKSLASH) continue
      return (NAMES as readonly string[]).indexOf(this.#keyText())
    }
    return OTHER
  }

  #keyText(): string {
    return unescapeToString(this.#bytes, this.#keyStart, this.#keyEnd)
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
    return end
  }

  #judge(): number {
    const { start, end, time } = this
    if (start[EVENT]! < 0) return NO_EVENT
    if (this.#isBlank(start[EVENT]!, end[EVENT]!)) return BLANK_EVENT
    if (!this.isRepeated) {
      const found = this.#judgeMetadata()
      if (found !== GOOD) return found
    }
    const at = start[TIME]!
    if (at < 0) time.ms = time.nanos = 0
    else if (at !== this.#timeAt && !this.#readTime(at, end[TIME]!)) return BAD_TIME
    return GOOD
  }

  #judgeMetadata(): number {
    const bytes = this.#bytes
    const { start } = this
    if (start[FIELDS]! >= 0) {
      if (bytes[start[FIELDS]!] !== OPEN_OBJECT || !this.#areFieldsFlat) return BAD_FIELDS
    }
    for (let kind = HOST; kind <= INDEX; kind++) {
      const first = start[kind]! < 0 ? 0 : bytes[start[kind]!]
      if (first === OPEN_OBJECT || first === OPEN_ARRAY) return BAD_METADATA
    }
    return GOOD
  }

  /** Reads a time as it is mostly spelled; returns where its value ends, or -1. Hot. */
  #readUsualTime(start: number): number {
    const bytes = this.#bytes
    const quote = bytes[start] === QUOTE ? 1 : 0
    // JSON's numbers have no zeros before them.
    if (bytes[start + quote]! <= ZERO) return -1
    const stop = this.time.readUsual(bytes, start + quote, bytes.length)
    const next = bytes[stop]
    const isEnd = quote === 1 ? next === QUOTE : next === COMMA || next === CLOSE_OBJECT
    if (!isEnd) return -1
    this.#timeAt = start
    return stop + quote
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
