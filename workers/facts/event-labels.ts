/**
 * The labels of events: level and service, from the fields that may hold them. Where these are in
 * an event follows from its layout and is found once per layout; other events are searched.
 *
 * A path's value is the last that the event has for it, whichever way its keys are spelled, just as
 * in the payload's column.
 */
import { SERVICE_BYTES_MAX } from '../../src/limits.ts'
import { SEVERITY_NUMBERS_A_LEVEL } from '../../src/model/event-labels.ts'
import { arena } from '../kernel/arena.ts'
import { kernels } from '../kernel/kernels.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { GivenLabels } from '../tape/given-labels.ts'
import { unescapeInto } from '../tape/json-string.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import {
  LABEL_RANKS,
  LEVEL_WORD_PLACE,
  PLACE_KINDS,
  PRIORITY_PLACE,
  SERVICE_PLACE,
  SEVERITY_NUMBER_PLACE,
} from '../tape/label-fields.ts'
import { levelOfInteger, levelOfText, levelOfWord, NO_LEVEL } from '../tape/level-words.ts'
import type { PathTrie } from '../tape/path-trie.ts'
import { DEAD, ESCAPED, INT, NULL, nextEntry, OBJECT, STRING } from '../tape/tape-types.ts'
import { NO_LAYOUT } from './event-layouts.ts'
import { NO_SERVICE, ServiceNames } from './service-names.ts'

const NONE = -1
/** An escape takes six bytes at most for one. */
const ESCAPED_BYTES_MAX = SERVICE_BYTES_MAX * 6
const LEVELS_OF_NUMBERS = 6

/** Of `kernels/facts.ts`: texts that were met before, and what they say. */
const REMEMBERED_BYTES = 256 * 48
const INTEGER_BYTES = Int32Array.BYTES_PER_ELEMENT

export class EventLabels {
  /** By event: NO_LEVEL, or a level's number. */
  level = arena.uint8(0)
  /** By event: NO_SERVICE, or the number of a name. */
  service = arena.int32(0)
  readonly names = new ServiceNames()
  /** What the protocol said of the events; it is in `level` and `service` already. */
  given = new GivenLabels()
  /** By event with given labels: the service that its fields say. */
  ownService = new Int32Array(0)
  /** By layout: where its list of places begins, 0 when none was made. */
  #listOf = arena.int32(256)
  /**
   * Lists, from 1 on: how many places; then, best first, each one's offset from the event's first
   * entry and its kind.
   */
  #lists = arena.int32(256)
  #listsEnd = 1
  /** See `Labels` of `kernels/facts.ts`. */
  readonly #context = arena.addresses(6)
  readonly #remembered = arena.uint8(REMEMBERED_BYTES)
  #layouts = -1
  /** The positions of one event, by rank; NONE where it has none. */
  readonly #places = new Int32Array(LABEL_RANKS + 1)
  readonly #unescaped = Buffer.alloc(ESCAPED_BYTES_MAX)

  /** `layouts`: a number that changes when layouts of before mean nothing any more. */
  describe(
    tape: JsonTape,
    bytes: Uint8Array,
    events: DecodedEvents,
    layout: Int32Array,
    layouts: number,
  ): void {
    const { count, tapeStart, tapeEnd } = events
    if (this.level.length < count) {
      this.level = arena.replaced(this.level, arena.uint8(count * 2))
    }
    this.service = arena.roomFor(count, this.service)
    if (this.names.begin()) this.#remembered.fill(0)
    if (layouts !== this.#layouts) this.#forget(layouts)
    const { entries, trie } = tape
    for (let event = 0; event < count; event++) {
      event = this.#findKnown(tape, bytes, events, layout, event)
      if (event === count) break
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
    this.given = events.given
    if (events.given.any) this.#takeGiven(events)
  }

  /** What a protocol says of an event counts before what the event's own fields say. */
  #takeGiven({ given, count }: DecodedEvents): void {
    if (this.ownService.length < count) this.ownService = new Int32Array(count * 2)
    let last = NO_SERVICE
    let found = NO_SERVICE
    for (let event = 0; event < count; event++) {
      if (given.isGiven[event] !== 1) continue
      this.ownService[event] = this.service[event]!
      if (given.level[event] !== NO_LEVEL) this.level[event] = given.level[event]!
      const service = given.service[event]!
      if (service === NO_SERVICE) continue
      // Mostly that of the event before.
      if (service !== last) {
        const name = given.nameOf(event)
        found = this.names.find(name, 0, name.length)
        last = service
      }
      this.service[event] = found
    }
  }

  /** Labels events from `first` on; returns the first that has to be read here, or `count`. */
  #findKnown(
    { entries }: JsonTape,
    bytes: Uint8Array,
    events: DecodedEvents,
    layout: Int32Array,
    first: number,
  ): number {
    return kernels.findLabels(
      this.#setContext(),
      events.context(),
      first,
      events.count,
      layout.byteOffset,
      entries.byteOffset,
      bytes.byteOffset,
    )
  }

  #setContext(): number {
    const context = this.#context
    context[0] = this.#listOf.byteOffset
    context[1] = this.#listOf.length
    context[2] = this.#lists.byteOffset
    context[3] = this.#remembered.byteOffset
    context[4] = this.level.byteOffset
    context[5] = this.service.byteOffset
    return context.byteOffset
  }

  #forget(layouts: number): void {
    this.#layouts = layouts
    this.#listOf.fill(0)
    this.#listsEnd = 1
  }

  #growTo(layout: number): void {
    while (layout >= this.#listOf.length) this.#listOf = arena.doubled(this.#listOf)
  }

  #learn(entries: Int32Array, trie: PathTrie, layout: number, start: number, end: number): void {
    this.#findPlaces(entries, trie, start, end)
    const found = [...this.#places].filter((at) => at !== NONE)
    const list = found.flatMap((at) => [at - start, PLACE_KINDS[trie.labelRank[entries[at]!]!]!])
    while (this.#listsEnd + 1 + list.length > this.#lists.length) {
      this.#lists = arena.doubled(this.#lists)
    }
    this.#listOf[layout] = this.#listsEnd
    this.#lists.set([found.length, ...list], this.#listsEnd)
    this.#listsEnd += 1 + list.length
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
    const end = list + 1 + 2 * this.#lists[list]!
    for (let i = list + 1; i < end; i += 2) {
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
    const kind = PLACE_KINDS[rank]!
    const isService = kind === SERVICE_PLACE
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
    } else {
      this.level[event] = levelAt(kind, type, text, start, end)
    }
    const value = isService ? this.service[event]! : this.level[event]!
    const entry = entries.byteOffset + at * INTEGER_BYTES
    kernels.rememberLabel(this.#setContext(), kind, entry, bytes.byteOffset, value)
  }
}

function levelAt(kind: number, type: number, text: Uint8Array, start: number, end: number): number {
  if (kind === SEVERITY_NUMBER_PLACE) {
    return type === INT ? levelOfSeverityNumber(text, start, end) : NO_LEVEL
  }
  if (kind === PRIORITY_PLACE) {
    const isPriority = end - start === 1 && (text[start]! - 0x30) >>> 0 < 8
    return isPriority ? levelOfText(text, start, end) : NO_LEVEL
  }
  if (kind === LEVEL_WORD_PLACE) return type === INT ? NO_LEVEL : levelOfWord(text, start, end)
  return type === INT ? levelOfInteger(text, start, end) : levelOfText(text, start, end)
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
