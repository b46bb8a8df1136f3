/**
 * The column layout of a segment's text: what is the same in all events once, what differs by
 * column. Brotli then reads two thirds of the bytes, and similar values stand side by side: less
 * time and a smaller segment (`bench/encode/segment.bench.ts`).
 *
 * An event is a template and its values. A template is the text between the values, byte for byte,
 * so the event's text comes back exactly. Values are those that have a cell in the block's column
 * index; whatever has none (null, empty objects) is part of the template.
 *
 *   varuint templates; each: varuint values n, isRaw byte, n × (varuint column, gap), gap
 *   varuint events; a template number each, a byte (left out when there is one template)
 *   varuint columns; UInt32 LE bytes of each and of the raw column; their values, each with a line
 *   feed behind it, and behind each column COLUMN_PADDING bytes; gap: varuint length, bytes
 *
 * A template that names a column twice (a dotted key beside a nested one) is raw: its events stand
 * whole in the last column. Segments with many templates are not worth it: `tryEncode` says so.
 */
import type { DecodedEvents } from '../decode/decoded-events.ts'
import { LOW_BYTES } from '../decode/json-scan.ts'
import { ARRAY, ELEMENT, ENTRY } from '../decode/tape-types.ts'
import type { EventFacts } from '../transform/event-facts.ts'
import { ByteWriter } from './byte-writer.ts'
import { type ColumnIndex, NO_CELL } from './column-index.ts'
import type { EventRange } from './native-block.ts'
import type { TextSource } from './native-values.ts'

const TEMPLATES_MAX = 64
/** Below this many events a template each, templates cost more than they save. */
const EVENTS_PER_TEMPLATE_MIN = 4
const WORD_COPY_MAX = 96
/** What copying by words may overwrite behind a column. */
export const COLUMN_PADDING = 4
const LINE_FEED = 0x0a
const VARUINT_BYTES = 5

interface Template {
  readonly columns: Int32Array
  /** The gap before each value, and the one behind the last: where the first such event has it. */
  readonly gapStart: Int32Array
  readonly gapLength: Int32Array
  readonly isRaw: boolean
}

export class SegmentColumns {
  readonly #writer = new ByteWriter(256 * 1024)
  #templates: Template[] = []
  #templateOf = new Uint8Array(1024)
  readonly #byShape = new Map<number, number>()
  /** Where each column's next value goes. */
  #cursor = new Int32Array(64)
  #source: TextSource | undefined
  #index: ColumnIndex | undefined

  /** The layout of a range of events, valid until the next call; undefined when rows are better. */
  tryEncode(
    source: TextSource,
    index: ColumnIndex,
    events: DecodedEvents,
    facts: EventFacts,
    range: EventRange,
  ): Uint8Array | undefined {
    this.#source = source
    this.#index = index
    if (!this.#findTemplates(events, facts, range)) return undefined
    const writer = this.#writer
    writer.length = 0
    this.#writeTemplates()
    writer.reserve(range.count + 4 * VARUINT_BYTES + 4 * (index.slots + 1))
    writer.varuint(range.count)
    if (this.#templates.length > 1) {
      writer.bytes.set(this.#templateOf.subarray(0, range.count), writer.length)
      writer.length += range.count
    }
    writer.varuint(index.slots)
    this.#reserveColumns(events, range)
    for (let i = 0; i < range.count; i++) {
      const event = range.first + i
      const isRaw = this.#templates[this.#templateOf[i]!]!.isRaw
      if (isRaw) this.#appendRaw(events.start[event]!, events.end[event]!)
      else this.#appendValues(events.tapeStart[event]!, events.tapeEnd[event]!)
    }
    return writer.bytes.subarray(0, writer.length)
  }

  /**
   * Lays out the columns: their sizes are known, so events can be written one after another, each
   * value to its column, while the event is in the processor's cache.
   */
  #reserveColumns(events: DecodedEvents, range: EventRange): void {
    const index = this.#index!
    const writer = this.#writer
    const bytesOf = this.#columnBytes(events, range)
    let total = 0
    for (let slot = 0; slot <= index.slots; slot++) total += bytesOf[slot]! + COLUMN_PADDING
    const sizes = writer.length
    writer.reserve(4 * (index.slots + 1) + total + COLUMN_PADDING)
    writer.length += 4 * (index.slots + 1)
    if (this.#cursor.length <= index.slots) this.#cursor = new Int32Array(index.slots * 2 + 1)
    for (let slot = 0; slot <= index.slots; slot++) {
      writer.view.setUint32(sizes + 4 * slot, bytesOf[slot]!, true)
      this.#cursor[slot] = writer.length
      writer.length += bytesOf[slot]! + COLUMN_PADDING
    }
  }

  /** Bytes of each column, the raw one last. */
  #columnBytes(events: DecodedEvents, range: EventRange): Float64Array {
    const index = this.#index!
    const bytesOf = new Float64Array(index.slots + 1)
    for (let slot = 0; slot < index.slots; slot++) {
      const cells = index.cellStart[slot + 1]! - index.cellStart[slot]!
      bytesOf[slot] = index.textBytes[slot]! + cells
    }
    if (!this.#templates.some((template) => template.isRaw)) return bytesOf
    // A column named twice in a row counts its text twice but has one cell: count again, exactly.
    bytesOf.fill(0)
    const { entries } = this.#source!
    for (let i = 0; i < range.count; i++) {
      const event = range.first + i
      if (this.#templates[this.#templateOf[i]!]!.isRaw) {
        bytesOf[index.slots]! += events.end[event]! - events.start[event]! + 1
        continue
      }
      const end = events.tapeEnd[event]!
      for (let at = events.tapeStart[event]!; at < end; at = nextEntry(entries, at)) {
        const mark = index.marks[at >> 2]!
        if (mark !== NO_CELL) bytesOf[mark >> 4]! += entries[at + 3]! - entries[at + 2]! + 1
      }
    }
    return bytesOf
  }

  /** Finds each event's template. False when there are too many. */
  #findTemplates(events: DecodedEvents, facts: EventFacts, range: EventRange): boolean {
    const templates: Template[] = []
    this.#templates = templates
    if (this.#templateOf.length < range.count) this.#templateOf = new Uint8Array(range.count * 2)
    const max = Math.min(TEMPLATES_MAX, range.count / EVENTS_PER_TEMPLATE_MIN)
    // Events of one shape nearly always have one template, and shapes alternate.
    const byShape = this.#byShape
    byShape.clear()
    for (let i = 0; i < range.count; i++) {
      const event = range.first + i
      const shape = facts.shapeLow[event]!
      let number = byShape.get(shape) ?? -1
      if (number < 0 || !this.#matches(templates[number]!, events, event)) {
        number = templates.findIndex((template) => this.#matches(template, events, event))
        if (number < 0) {
          if (templates.length + 1 > max) return false
          number = templates.length
          templates.push(this.#createTemplate(events, event))
        }
        byShape.set(shape, number)
      }
      this.#templateOf[i] = number
    }
    return true
  }

  #matches(template: Template, events: DecodedEvents, event: number): boolean {
    const { entries, view } = this.#source!
    const { marks } = this.#index!
    const { columns, gapStart, gapLength } = template
    const end = events.tapeEnd[event]!
    let pos = events.start[event]!
    let value = 0
    for (let entry = events.tapeStart[event]!; entry < end; entry = nextEntry(entries, entry)) {
      const mark = marks[entry >> 2]!
      if (mark === NO_CELL) continue
      let left = entries[entry + 2]! - pos
      if (columns[value] !== mark >> 4 || gapLength[value] !== left) return false
      let other = gapStart[value]!
      for (; left >= 4; left -= 4, pos += 4, other += 4) {
        if (view.getInt32(pos, true) !== view.getInt32(other, true)) return false
      }
      const rest = view.getInt32(pos, true) ^ view.getInt32(other, true)
      if ((rest & LOW_BYTES[left]!) !== 0) return false
      pos = entries[entry + 3]!
      value++
    }
    const length = events.end[event]! - pos
    const isSame = value === columns.length && gapLength[value] === length
    return isSame && sameBytes(view, pos, gapStart[value]!, length)
  }

  #createTemplate(events: DecodedEvents, event: number): Template {
    const { entries } = this.#source!
    const { marks } = this.#index!
    const columns: number[] = []
    const gapStart: number[] = []
    const gapLength: number[] = []
    const end = events.tapeEnd[event]!
    let pos = events.start[event]!
    for (let entry = events.tapeStart[event]!; entry < end; entry = nextEntry(entries, entry)) {
      const mark = marks[entry >> 2]!
      if (mark === NO_CELL) continue
      columns.push(mark >> 4)
      gapStart.push(pos)
      gapLength.push(entries[entry + 2]! - pos)
      pos = entries[entry + 3]!
    }
    gapStart.push(pos)
    gapLength.push(events.end[event]! - pos)
    const isRaw = new Set(columns).size < columns.length
    return {
      columns: Int32Array.from(columns),
      gapStart: Int32Array.from(gapStart),
      gapLength: Int32Array.from(gapLength),
      isRaw,
    }
  }

  #writeTemplates(): void {
    const writer = this.#writer
    const { bytes } = this.#source!
    writer.reserve(VARUINT_BYTES)
    writer.varuint(this.#templates.length)
    for (const { columns, gapStart, gapLength, isRaw } of this.#templates) {
      writer.reserve(VARUINT_BYTES + 1)
      writer.varuint(columns.length)
      writer.bytes[writer.length++] = isRaw ? 1 : 0
      for (const [i, start] of gapStart.entries()) {
        writer.reserve(VARUINT_BYTES)
        const column = columns[i]
        if (column !== undefined) writer.varuint(column)
        writer.string(bytes.subarray(start, start + gapLength[i]!))
      }
    }
  }

  #appendValues(tapeStart: number, tapeEnd: number): void {
    const { entries, bytes, view } = this.#source!
    const { marks } = this.#index!
    const out = this.#writer.bytes
    const outView = this.#writer.view
    const cursor = this.#cursor
    for (let at = tapeStart; at < tapeEnd; at = nextEntry(entries, at)) {
      const mark = marks[at >> 2]!
      if (mark === NO_CELL) continue
      const start = entries[at + 2]!
      const length = entries[at + 3]! - start
      let to = cursor[mark >> 4]!
      if (length > WORD_COPY_MAX) {
        out.set(bytes.subarray(start, start + length), to)
      } else {
        // May write three bytes too many: the next value or the padding takes them.
        for (let i = 0; i < length; i += 4) {
          outView.setInt32(to + i, view.getInt32(start + i, true), true)
        }
      }
      to += length
      out[to] = LINE_FEED
      cursor[mark >> 4] = to + 1
    }
  }

  #appendRaw(start: number, end: number): void {
    const writer = this.#writer
    const column = this.#index!.slots
    const at = this.#cursor[column]!
    writer.bytes.set(this.#source!.bytes.subarray(start, end), at)
    writer.bytes[at + end - start] = LINE_FEED
    this.#cursor[column] = at + end - start + 1
  }
}

function nextEntry(entries: Int32Array, at: number): number {
  const type = entries[at + 1]!
  return type === ARRAY || type === ELEMENT ? entries[at + 7]! : at + ENTRY
}

/** Whether the `length` bytes at `a` and at `b` are the same. Reads up to three bytes further. */
function sameBytes(view: DataView, a: number, b: number, length: number): boolean {
  let left = length
  while (left >= 4) {
    if (view.getInt32(a, true) !== view.getInt32(b, true)) return false
    a += 4
    b += 4
    left -= 4
  }
  return left === 0 || ((view.getInt32(a, true) ^ view.getInt32(b, true)) & LOW_BYTES[left]!) === 0
}
