/**
 * The pattern of each event's text: of the first text field, by the stream's setting, that has a
 * string which is not blank. Where that is follows from an event's layout and is found once for
 * each (`text-places.ts`); the kernel reads the texts.
 */
import {
  BYTE_KINDS,
  ENDS_VALUE,
  MONTHS,
  TELLING_KEYS,
  WEEKDAYS,
} from '../../src/model/patterns/pattern-bytes.ts'
import {
  PATTERN_BYTES_MAX,
  SEED_HIGH,
  SEED_LOW,
  TextPattern,
} from '../../src/model/patterns/text-pattern.ts'
import { TEXT_FIELDS_DEFAULT } from '../../src/model/text-fields.ts'
import { arena } from '../kernel/arena.ts'
import { kernels } from '../kernel/kernels.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { unescapeInto } from '../tape/json-string.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import { ESCAPED } from '../tape/tape-types.ts'
import { TextPlaces } from './text-places.ts'

/** An escape takes six bytes at most for one; and a last one may be cut off. */
const ESCAPED_BYTES_MAX = 6 * PATTERN_BYTES_MAX + 64
/** Of a text that the kernel reads. */
const KERNEL_ESCAPED_MAX = 4_096
const ESCAPE_BYTES_MAX = 12
const BACKSLASH = 0x5c
const LOWER_U = 0x75
/** See `Patterns` of `kernels/patterns.ts`. */
const CONTEXT_INTEGERS = 24
const TABLES = { ends: 256, telling: 512, weekdays: 768, months: 800, bytes: 1_024 } as const
/** Settings whose places are known at a time. */
const SETTINGS_KEPT_MAX = 8

/** The layouts of a batch's events. */
export interface LayoutsOf {
  readonly layout: Int32Array
  readonly layoutResets: number
}

interface Range {
  readonly first: number
  readonly count: number
}

export class EventPatterns {
  /** By event: the pattern's halves, both 0 where it has none. */
  low = arena.int32(0)
  high = arena.int32(0)
  /** Of how many of the batch's events they are known. */
  count = 0
  readonly #places = new Map<string, TextPlaces>()
  #tables: Uint8Array | undefined
  #context: Int32Array | undefined
  #scratch: Uint8Array | undefined
  readonly #pattern = new TextPattern()
  #unescaped: Buffer | undefined

  /** Finds the patterns of a range of events; `textFields`: the setting of their stream. */
  describe(
    tape: JsonTape,
    given: Uint8Array,
    events: DecodedEvents,
    layouts: LayoutsOf,
    { first, count }: Range,
    textFields = TEXT_FIELDS_DEFAULT,
  ): void {
    const bytes = tape.batch.hold(given)
    const end = first + count
    this.count = Math.max(this.count, end)
    this.low = grownTo(end, this.low)
    this.high = grownTo(end, this.high)
    const places = this.placesOf(textFields)
    places.begin(tape.trie, layouts)
    const { entries } = tape
    for (let event = first; event < end; event++) {
      event = kernels.findPatterns(
        this.#contextOf(places),
        events.context(),
        event,
        end,
        layouts.layout.byteOffset,
        entries.byteOffset,
        bytes.byteOffset,
      )
      if (event >= end) break
      const found = this.find(tape, bytes, events, layouts, places, event)
      this.low[event] = found.low
      this.high[event] = found.high
    }
  }

  /** Where texts are by a setting. Call its `begin` before events of another batch. */
  placesOf(textFields: readonly string[]): TextPlaces {
    const key = textFields === TEXT_FIELDS_DEFAULT ? '' : JSON.stringify(textFields)
    const known = this.#places.get(key)
    if (known !== undefined) return known
    if (this.#places.size === SETTINGS_KEPT_MAX) {
      for (const places of this.#places.values()) places.dispose()
      this.#places.clear()
    }
    const places = new TextPlaces(textFields)
    this.#places.set(key, places)
    return places
  }

  /** The pattern of one event; valid until the next call. */
  find(
    { entries, trie }: Pick<JsonTape, 'entries' | 'trie'>,
    bytes: Uint8Array,
    { tapeStart, tapeEnd }: Pick<DecodedEvents, 'tapeStart' | 'tapeEnd'>,
    { layout }: Pick<LayoutsOf, 'layout'>,
    places: TextPlaces,
    event: number,
  ): TextPattern {
    const start = tapeStart[event]!
    places.find(entries, trie, layout[event]!, start, tapeEnd[event]!)
    const pattern = this.#pattern
    for (let index = places.from; index < places.to; index++) {
      const at = start + places.offsetAt(index)
      const [from, to] = [entries[at + 2]!, entries[at + 3]!]
      const isEscaped = entries[at + 1] === ESCAPED
      if (isEscaped ? this.#readEscaped(bytes, from, to) : pattern.read(bytes, from, to)) {
        return pattern
      }
    }
    pattern.read(bytes, 0, 0)
    return pattern
  }

  #contextOf({ listOf, lists }: TextPlaces): number {
    this.#tables ??= tablesOf()
    this.#scratch ??= arena.uint8(KERNEL_ESCAPED_MAX)
    const context = (this.#context ??= arena.addresses(CONTEXT_INTEGERS))
    context[0] = listOf.byteOffset
    context[1] = listOf.length
    context[2] = lists.byteOffset
    context[3] = this.low.byteOffset
    context[4] = this.high.byteOffset
    context[5] = this.#tables.byteOffset
    context[6] = this.#scratch.byteOffset
    context[7] = KERNEL_ESCAPED_MAX
    context[8] = SEED_LOW
    context[9] = SEED_HIGH
    return context.byteOffset
  }

  #readEscaped(bytes: Uint8Array, start: number, textEnd: number): boolean {
    this.#unescaped ??= Buffer.alloc(ESCAPED_BYTES_MAX)
    const end = escapedEnd(bytes, start, textEnd)
    const length = unescapeInto(bytes, start, end, this.#unescaped, 0)
    return this.#pattern.read(this.#unescaped, 0, length)
  }
}

/** Keeps what is known of events before: ranges of a batch come one after another. */
function grownTo(events: number, array: Int32Array): Int32Array {
  if (array.length >= events) return array
  const grown = arena.int32(2 * events)
  grown.set(array)
  return arena.replaced(array, grown)
}

/** Where to stop reading a long text: never within an escape, past all that counts. */
function escapedEnd(bytes: Uint8Array, start: number, end: number): number {
  if (end - start <= ESCAPED_BYTES_MAX) return end
  let at = start
  const limit = start + ESCAPED_BYTES_MAX - ESCAPE_BYTES_MAX
  while (at < limit) {
    if (bytes[at] !== BACKSLASH) at++
    else at += bytes[at + 1] === LOWER_U ? 6 : 2
  }
  return at
}

function tablesOf(): Uint8Array {
  const tables = arena.uint8(TABLES.bytes)
  const view = new DataView(tables.buffer, tables.byteOffset, tables.length)
  tables.set(BYTE_KINDS)
  tables.set(ENDS_VALUE, TABLES.ends)
  for (const [index, key] of TELLING_KEYS.entries()) {
    tables.set(Buffer.from(key), TABLES.telling + 8 * index)
  }
  for (const [index, word] of WEEKDAYS.entries()) {
    view.setUint32(TABLES.weekdays + 4 * index, word, true)
  }
  for (const [index, word] of MONTHS.entries()) {
    view.setUint32(TABLES.months + 4 * index, word, true)
  }
  return tables
}
