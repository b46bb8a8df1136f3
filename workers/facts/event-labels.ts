/**
 * The labels of events: level and service, from the fields that may hold them. Where these are in
 * an event follows from its layout and is found once per layout; other events are searched.
 *
 * A path's value is the last that the event has for it, whichever way its keys are spelled, just as
 * in the payload's column; `store/projection/label-columns.ts` has the same rules in SQL.
 */
import { SERVICE_BYTES_MAX } from '../../src/limits.ts'
import { SEVERITY_NUMBERS_A_LEVEL } from '../../src/model/event-labels.ts'
import { unescapeInto } from '../tape/json-string.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import { LABEL_RANKS, SERVICE_RANK, SEVERITY_NUMBER_RANK } from '../tape/label-fields.ts'
import type { PathTrie } from '../tape/path-trie.ts'
import { DEAD, ESCAPED, INT, NULL, nextEntry, OBJECT, STRING } from '../tape/tape-types.ts'
import { NO_LAYOUT } from './event-layouts.ts'
import { levelOfInteger, levelOfText, NO_LEVEL } from './level-words.ts'
import { NO_SERVICE, ServiceNames } from './service-names.ts'

const NONE = -1
/** An escape takes six bytes at most for one. */
const ESCAPED_BYTES_MAX = SERVICE_BYTES_MAX * 6
const LEVELS_OF_NUMBERS = 6

interface Events {
  readonly count: number
  readonly tapeStart: Int32Array
  readonly tapeEnd: Int32Array
}

export class EventLabels {
  /** By event: NO_LEVEL, or a level's number. */
  level = new Uint8Array(0)
  /** By event: NO_SERVICE, or the number of a name. */
  service = new Int32Array(0)
  readonly names = new ServiceNames()
  /** By layout: where its list of positions begins, 0 when none was made. */
  #listOf = new Int32Array(0)
  /** Lists: a count, then the positions, from the event's first entry, best first. */
  #lists: number[] = [0]
  #layouts = -1
  /** The positions of one event, by rank; NONE where it has none. */
  readonly #places = new Int32Array(LABEL_RANKS + 1)
  readonly #unescaped = Buffer.alloc(ESCAPED_BYTES_MAX)

  /** `layouts`: a number that changes when layouts of before mean nothing any more. */
  describe(
    tape: JsonTape,
    bytes: Uint8Array,
    events: Events,
    layout: Int32Array,
    layouts: number,
  ): void {
    const { count, tapeStart, tapeEnd } = events
    if (this.level.length < count) {
      this.level = new Uint8Array(count * 2)
      this.service = new Int32Array(count * 2)
    }
    this.names.begin()
    if (layouts !== this.#layouts) this.#forget(layouts)
    const { entries, trie } = tape
    for (let event = 0; event < count; event++) {
      const start = tapeStart[event]!
      const of = layout[event]!
      if (of === NO_LAYOUT) {
        this.#findPlaces(entries, trie, start, tapeEnd[event]!)
        this.#readPlaces(entries, bytes, event)
      } else {
        if (of >= this.#listOf.length) this.#growTo(of)
        if (this.#listOf[of] === 0) this.#learn(entries, trie, of, start, tapeEnd[event]!)
        this.#readList(entries, trie, bytes, event, start, this.#listOf[of]!)
      }
    }
  }

  #forget(layouts: number): void {
    this.#layouts = layouts
    this.#listOf.fill(0)
    this.#lists = [0]
  }

  #growTo(layout: number): void {
    const grown = new Int32Array(Math.max(256, layout * 2))
    grown.set(this.#listOf)
    this.#listOf = grown
  }

  #learn(entries: Int32Array, trie: PathTrie, layout: number, start: number, end: number): void {
    this.#findPlaces(entries, trie, start, end)
    const offsets = [...this.#places].filter((at) => at !== NONE).map((at) => at - start)
    this.#listOf[layout] = this.#lists.length
    this.#lists.push(offsets.length, ...offsets)
  }

  /** The last entry of each path that may say a label, unless it cannot be read. */
  #findPlaces(entries: Int32Array, trie: PathTrie, start: number, end: number): void {
    const places = this.#places
    places.fill(NONE)
    for (let at = start; at < end; at = nextEntry(entries, at)) {
      const rank = trie.labelRank[entries[at]!]!
      if (rank === 0) continue
      const type = entries[at + 1]!
      if (type === NULL || type === OBJECT || type === DEAD) continue
      places[rank] = type === STRING || type === ESCAPED || type === INT ? at : NONE
    }
  }

  #readPlaces(entries: Int32Array, bytes: Uint8Array, event: number): void {
    this.level[event] = NO_LEVEL
    this.service[event] = NO_SERVICE
    for (let rank = 1; rank <= LABEL_RANKS; rank++) {
      const at = this.#places[rank]!
      if (at !== NONE) this.#readPlace(entries, bytes, event, rank, at)
    }
  }

  #readList(
    entries: Int32Array,
    trie: PathTrie,
    bytes: Uint8Array,
    event: number,
    start: number,
    list: number,
  ): void {
    this.level[event] = NO_LEVEL
    this.service[event] = NO_SERVICE
    const end = list + 1 + this.#lists[list]!
    for (let i = list + 1; i < end; i++) {
      const at = start + this.#lists[i]!
      this.#readPlace(entries, bytes, event, trie.labelRank[entries[at]!]!, at)
    }
  }

  #readPlace(
    entries: Int32Array,
    bytes: Uint8Array,
    event: number,
    rank: number,
    at: number,
  ): void {
    const type = entries[at + 1]!
    let text = bytes
    let start = entries[at + 2]!
    let end = entries[at + 3]!
    const isService = rank >= SERVICE_RANK
    if (isService ? this.service[event] !== NO_SERVICE : this.level[event] !== NO_LEVEL) return
    if (type === ESCAPED) {
      if (end - start > ESCAPED_BYTES_MAX) return
      end = unescapeInto(bytes, start, end, this.#unescaped, 0)
      text = this.#unescaped
      start = 0
    }
    if (isService) {
      const isName = type !== INT && end > start && end - start <= SERVICE_BYTES_MAX
      if (isName) this.service[event] = this.names.find(text, start, end)
    } else if (rank === SEVERITY_NUMBER_RANK) {
      if (type === INT) this.level[event] = levelOfSeverityNumber(text, start, end)
    } else {
      const levelOf = type === INT ? levelOfInteger : levelOfText
      this.level[event] = levelOf(text, start, end)
    }
  }
}

function levelOfSeverityNumber(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > 2) return NO_LEVEL
  let number = 0
  for (let i = start; i < end; i++) {
    const digit = bytes[i]! - 0x30
    if (digit < 0 || digit > 9) return NO_LEVEL
    number = number * 10 + digit
  }
  const level = Math.ceil(number / SEVERITY_NUMBERS_A_LEVEL)
  return level <= LEVELS_OF_NUMBERS ? level : NO_LEVEL
}
