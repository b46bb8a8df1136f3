/**
 * Facts that the transforms establish about each event: producer time, shape and labels. Parallel
 * arrays, reused from batch to batch.
 */

import { arena } from '../kernel/arena.ts'
import { kernels } from '../kernel/kernels.ts'
import { type DecodedEvents, TIME_FALLBACK, TIME_GIVEN } from '../tape/decoded-events.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import {
  ARRAY,
  DEAD,
  ELEMENT,
  ENTRY,
  ESCAPED,
  EXTENSION,
  FALSE,
  FLOAT,
  INT,
  NULL,
  OBJECT,
  STRING,
  TRUE,
  UINT,
} from '../tape/tape-types.ts'
import { ESCAPED_TIME_BYTES_MAX, Timestamp } from '../tape/timestamps.ts'
import { EventLabels } from './event-labels.ts'
import { EventLayouts, NO_LAYOUT } from './event-layouts.ts'
import { EventPatterns } from './event-patterns.ts'

export const SOURCE_RECEIPT = 0
export const SOURCE_FIELD = 1
export const SOURCE_OTLP = 2

/** Types of the field catalog, as numbers; `CATALOG_TYPE_NAMES` has the words. */
export const CATALOG_TYPE_NAMES = [
  'null',
  'boolean',
  'integer',
  'float',
  'string',
  'array',
  'object',
] as const
const STRING_LEAF = 4
const NOT_A_LEAF = 7
const CATALOG_TYPES = new Uint8Array(16).fill(NOT_A_LEAF)
CATALOG_TYPES[NULL] = 0
CATALOG_TYPES[FALSE] = 1
CATALOG_TYPES[TRUE] = 1
CATALOG_TYPES[INT] = 2
CATALOG_TYPES[UINT] = 2
CATALOG_TYPES[FLOAT] = 3
CATALOG_TYPES[STRING] = 4
CATALOG_TYPES[ESCAPED] = 4
CATALOG_TYPES[ARRAY] = 5
CATALOG_TYPES[OBJECT] = 6
CATALOG_TYPES[DEAD] = NOT_A_LEAF
CATALOG_TYPES[EXTENSION] = NOT_A_LEAF
CATALOG_TYPES[ELEMENT] = NOT_A_LEAF

/** The catalog type of a tape type, or 7 when the entry is not a leaf. */
export function catalogType(tapeType: number): number {
  return CATALOG_TYPES[tapeType]!
}

export class EventFacts {
  /** Producer time: whole milliseconds since 1970, and nanoseconds beyond them. */
  timeMs = arena.float64(0)
  timeNanos = arena.int32(0)
  /** Where the time comes from: SOURCE_*. With SOURCE_RECEIPT the two above mean nothing. */
  timeSource = arena.uint8(0)
  /** 64-bit shape fingerprint in two halves. */
  shapeLow = arena.int32(0)
  shapeHigh = arena.int32(0)
  /** Layout, or NO_LAYOUT; see `EventLayouts`. */
  layout = arena.int32(0)
  readonly labels = new EventLabels()
  /** Of those events for which it was asked: blocks have them, most readers do not. */
  readonly patterns = new EventPatterns()
  readonly #layouts = new EventLayouts()
  readonly #timestamp = new Timestamp()
  readonly #context = arena.addresses(10)
  #seen = new Int32Array(0)
  #serial = 0

  /** Changes when layouts known before mean nothing any more: the same numbers mean others then. */
  get layoutResets(): number {
    return this.#layouts.resets
  }

  /** Finds time, shape and labels of every event; patterns are asked for by themselves. */
  describe(tape: JsonTape, given: Uint8Array, events: DecodedEvents): void {
    const bytes = tape.batch.hold(given)
    const { count, tapeStart, tapeEnd } = events
    this.#reserve(count, tape.trie.count)
    this.patterns.count = 0
    const layouts = this.#layouts
    layouts.begin(tape.trie)
    layouts.findAll(tape.entries, events, this.layout)
    for (let event = 0; event < count; event++) {
      event = this.#describeKnown(tape, bytes, events, event)
      if (event === count) break
      const [start, end] = [tapeStart[event]!, tapeEnd[event]!]
      this.#describeEvent(tape, bytes, event, start, end)
      const layout = this.layout[event]!
      if (layout !== NO_LAYOUT) this.#learnLayout(tape, event, layout, start, end)
    }
    if (events.hasTimes) this.#takeGivenTimes(events)
    this.labels.describe(tape, bytes, events, this.layout, layouts.resets)
  }

  /** The context for kernels: see `Facts` of `kernels/facts.ts`. */
  context(): number {
    const { timeMs, timeNanos, timeSource, shapeLow, shapeHigh } = this
    const { scratch, clock } = this.#timestamp
    const arrays = [timeMs, timeNanos, timeSource, shapeLow, shapeHigh]
    const addresses = arrays.map((array) => array.byteOffset)
    const known = this.#layouts.known
    this.#context.set([...addresses, ...known, scratch, ESCAPED_TIME_BYTES_MAX, clock])
    return this.#context.byteOffset
  }

  /** Describes events from `first` on; returns the first whose layout is not known, or `count`. */
  #describeKnown(
    { entries }: JsonTape,
    bytes: Uint8Array,
    events: DecodedEvents,
    first: number,
  ): number {
    return kernels.describeEvents(
      this.context(),
      events.context(),
      first,
      events.count,
      this.layout.byteOffset,
      entries.byteOffset,
      bytes.byteOffset,
    )
  }

  /**
   * A time that came with the protocol rules over any field (spec, Event), and any field over the
   * time when the record was observed.
   */
  #takeGivenTimes(events: DecodedEvents): void {
    for (let i = 0; i < Math.min(events.count, events.timeGiven.length); i++) {
      const given = events.timeGiven[i]
      if (given !== TIME_GIVEN) {
        if (given !== TIME_FALLBACK || this.timeSource[i] !== SOURCE_RECEIPT) continue
      }
      this.timeMs[i] = events.timeMs[i]!
      this.timeNanos[i] = events.timeNanos[i]!
      this.timeSource[i] = SOURCE_OTLP
    }
  }

  /** Keeps what the event just described says of its layout. */
  #learnLayout(
    { entries, trie }: JsonTape,
    event: number,
    layout: number,
    tapeStart: number,
    tapeEnd: number,
  ): void {
    const times: { rank: number; offset: number }[] = []
    for (let at = tapeStart; at < tapeEnd; at += ENTRY) {
      const type = entries[at + 1]!
      const rank = type === STRING || type === ESCAPED ? trie.timeRank[entries[at]!]! : 0
      if (rank !== 0) times.push({ rank, offset: at - tapeStart })
    }
    times.sort((a, b) => a.rank - b.rank)
    this.#layouts.learn(layout, {
      shapeLow: this.shapeLow[event]!,
      shapeHigh: this.shapeHigh[event]!,
      times: times.map(({ offset }) => offset),
    })
  }

  /** Reads the string at `at` as a time; an escaped one as what it says. */
  #tryTime(bytes: Uint8Array, entries: Int32Array, at: number): boolean {
    const [start, end] = [entries[at + 2]!, entries[at + 3]!]
    return entries[at + 1] === STRING
      ? this.#timestamp.tryRead(bytes, start, end)
      : this.#timestamp.tryReadEscaped(bytes, start, end)
  }

  #reserve(events: number, nodes: number): void {
    if (this.timeMs.length < events) {
      const capacity = events * 2
      this.timeMs = arena.replaced(this.timeMs, arena.float64(capacity))
      this.timeNanos = arena.replaced(this.timeNanos, arena.int32(capacity))
      this.timeSource = arena.replaced(this.timeSource, arena.uint8(capacity))
      this.shapeLow = arena.replaced(this.shapeLow, arena.int32(capacity))
      this.shapeHigh = arena.replaced(this.shapeHigh, arena.int32(capacity))
      this.layout = arena.roomFor(capacity, this.layout)
    }
    if (this.#seen.length < nodes * 8 || this.#serial > 0x3fffffff) {
      this.#seen = new Int32Array(nodes * 16)
      this.#serial = 0
    }
  }

  /**
   * The shape is a sum over the set of (path, type) leaves: it depends neither on key order nor on
   * how often an array repeats a leaf. Each leaf's hash is mixed before it is added, so that leaves
   * cannot cancel each other out by being similar.
   */
  #describeEvent(
    tape: JsonTape,
    bytes: Uint8Array,
    event: number,
    tapeStart: number,
    tapeEnd: number,
  ): void {
    const { entries, trie } = tape
    const { hashLow, hashHigh, timeRank } = trie
    const seen = this.#seen
    const serial = ++this.#serial
    let low = 0
    let high = 0
    let bestRank = 0x7f
    this.timeSource[event] = SOURCE_RECEIPT
    for (let at = tapeStart; at < tapeEnd; at += ENTRY) {
      const node = entries[at]!
      const tapeType = entries[at + 1]!
      const type = CATALOG_TYPES[tapeType]!
      if (type === NOT_A_LEAF) continue
      const stamp = node * 8 + type
      if (seen[stamp] !== serial) {
        seen[stamp] = serial
        let a = Math.imul(hashLow[node]! + type, 0x85ebca6b)
        a ^= a >>> 15
        let b = Math.imul(hashHigh[node]! + type, 0xc2b2ae35)
        b ^= b >>> 13
        low = (low + Math.imul(a, 0x2c1b3c6d)) | 0
        high = (high + Math.imul(b, 0x297a2d39)) | 0
      }
      const rank = timeRank[node]!
      if (rank !== 0 && rank < bestRank && type === STRING_LEAF) {
        const found = this.#timestamp
        if (!this.#tryTime(bytes, entries, at)) continue
        bestRank = rank
        this.timeMs[event] = found.ms
        this.timeNanos[event] = found.nanos
        this.timeSource[event] = SOURCE_FIELD
      }
    }
    this.shapeLow[event] = low
    this.shapeHigh[event] = high
  }
}
