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
 * Events of the raw template stand whole in the last column: those without a layout, and those
 * past the templates. Where most are such, rows are better: `tryEncode` says so.
 */
import type { DecodedEvents } from '../decode/decoded-events.ts'
import { LOW_BYTES } from '../decode/json-scan.ts'
import { ByteWriter, copyWords, WORD_COPY_MAX, WORD_SLACK } from './byte-writer.ts'
import { type ColumnIndex, NO_TEMPLATE_ROW, type RowLayout } from './column-index.ts'
import type { EventRange } from './native-block.ts'
import type { TextSource } from './native-values.ts'

const TEMPLATES_MAX = 64
/** Below this many events a template each, templates cost more than they save. */
const EVENTS_PER_TEMPLATE_MIN = 4
/** Templates that an event is compared with: they have its slots and differ in what is between. */
const TEMPLATES_TRIED_MAX = 4
/** What copying by words may overwrite behind a column. */
export const COLUMN_PADDING = WORD_SLACK
const LINE_FEED = 0x0a
const VARUINT_BYTES = 5
/** Room before the columns for what is known only when they are full. */
const HEADER_ROOM = 32 * 1024

interface Template {
  readonly number: number
  /** Slots of the values; none for the raw template. */
  readonly slots: Int32Array
  /** The gap before each value, and the one behind the last: where the first such event has it. */
  readonly gapStart: Int32Array
  readonly gapLength: Int32Array
  readonly isRaw: boolean
}

export class SegmentColumns {
  readonly #writer = new ByteWriter(256 * 1024)
  readonly #header = new ByteWriter(HEADER_ROOM)
  #templates: Template[] = []
  /** The templates of each of the index's layouts; one list for those with the same slots. */
  #byLayout: Template[][] = []
  #templateOf = new Uint8Array(1024)
  #raw: Template | undefined
  #rawCount = 0
  /** Where each column begins and where its next value goes; the raw column is the last. */
  #columnStart = new Int32Array(64)
  #cursor = new Int32Array(64)
  /** The raw column: the one behind the index's. */
  #rawColumn = 0
  #source: TextSource | undefined
  #largestBytes = 0

  /** The bytes of the largest column of the last layout. */
  get largestBytes(): number {
    return this.#largestBytes
  }

  /** The layout of a range of events, valid until the next call; undefined when rows are better. */
  tryEncode(
    source: TextSource,
    index: ColumnIndex,
    events: DecodedEvents,
    range: EventRange,
  ): Uint8Array | undefined {
    this.#source = source
    this.#templates = []
    this.#byLayout = shareBySlots(index.layouts)
    this.#raw = undefined
    this.#rawCount = 0
    if (this.#templateOf.length < range.count) this.#templateOf = new Uint8Array(range.count * 2)
    this.#reserveColumns(index)
    const templatesMax = Math.min(TEMPLATES_MAX, range.count / EVENTS_PER_TEMPLATE_MIN)
    for (let i = 0; i < range.count; i++) {
      const number = index.layoutOf[i]!
      const layout = number === NO_TEMPLATE_ROW ? undefined : index.layouts[number]!
      const template = this.#append(layout, number, events, range.first + i, templatesMax)
      this.#templateOf[i] = template.number
    }
    if (this.#rawCount * 2 > range.count) return undefined
    this.#closeColumns()
    return this.#withHeader(range.count)
  }

  /** Room for each column, at most what its values need. */
  #reserveColumns(index: ColumnIndex): void {
    const { slots, cellStart, textBytes } = index
    this.#rawColumn = slots
    if (this.#cursor.length <= slots) {
      this.#cursor = new Int32Array(slots * 2 + 1)
      this.#columnStart = new Int32Array(slots * 2 + 1)
    }
    let at = HEADER_ROOM
    for (let slot = 0; slot <= slots; slot++) {
      this.#columnStart[slot] = at
      this.#cursor[slot] = at
      if (slot === slots) break
      at += textBytes[slot]! + cellStart[slot + 1]! - cellStart[slot]! + COLUMN_PADDING
    }
    this.#writer.length = 0
    this.#writer.reserve(at + COLUMN_PADDING)
  }

  /** Appends an event's values to their columns; returns the template that goes with them. */
  #append(
    layout: RowLayout | undefined,
    number: number,
    events: DecodedEvents,
    event: number,
    templatesMax: number,
  ): Template {
    if (layout === undefined || layout.isAmbiguous) return this.#appendRaw(events, event)
    const templates = this.#byLayout[number]!
    for (let i = 0; i < templates.length; i++) {
      if (this.#tryAppend(templates[i]!, layout, events, event)) return templates[i]!
    }
    if (templates.length === TEMPLATES_TRIED_MAX || this.#templates.length + 1 > templatesMax) {
      return this.#appendRaw(events, event)
    }
    const template = this.#createTemplate(layout, events, event)
    templates.push(template)
    this.#tryAppend(template, layout, events, event)
    return template
  }

  /**
   * Appends the values of an event of the template's layout. False, with nothing appended, when
   * the text between them is not the template's.
   */
  #tryAppend(template: Template, layout: RowLayout, events: DecodedEvents, event: number): boolean {
    const { entries, bytes, view } = this.#source!
    const { slots, offsets } = layout
    const { gapStart, gapLength } = template
    const out = this.#writer.bytes
    const outView = this.#writer.view
    const cursor = this.#cursor
    const tapeStart = events.tapeStart[event]!
    let pos = events.start[event]!
    for (let i = 0; i < slots.length; i++) {
      const entry = tapeStart + offsets[i]!
      const start = entries[entry + 2]!
      const end = entries[entry + 3]!
      const gap = start - pos
      if (gap !== gapLength[i] || !sameBytes(view, pos, gapStart[i]!, gap)) {
        return this.#undo(layout, tapeStart, i)
      }
      pos = end
      const to = cursor[slots[i]!]!
      const length = end - start
      if (length > WORD_COPY_MAX) {
        out.set(bytes.subarray(start, end), to)
      } else {
        // May write seven bytes too many: the next value or the padding takes them.
        copyWords(outView, to, view, start, length)
      }
      out[to + length] = LINE_FEED
      cursor[slots[i]!] = to + length + 1
    }
    const length = events.end[event]! - pos
    const isSame = gapLength[slots.length] === length
    if (isSame && sameBytes(view, pos, gapStart[slots.length]!, length)) return true
    return this.#undo(layout, tapeStart, slots.length)
  }

  /** Takes the event's first `count` values back. */
  #undo({ slots, offsets }: RowLayout, tapeStart: number, count: number): false {
    const { entries } = this.#source!
    for (let i = 0; i < count; i++) {
      const entry = tapeStart + offsets[i]!
      this.#cursor[slots[i]!]! -= entries[entry + 3]! - entries[entry + 2]! + 1
    }
    return false
  }

  #createTemplate(layout: RowLayout, events: DecodedEvents, event: number): Template {
    const { entries } = this.#source!
    const { slots, offsets } = layout
    const gapStart = new Int32Array(slots.length + 1)
    const gapLength = new Int32Array(slots.length + 1)
    const tapeStart = events.tapeStart[event]!
    let pos = events.start[event]!
    for (const [i, offset] of offsets.entries()) {
      gapStart[i] = pos
      gapLength[i] = entries[tapeStart + offset + 2]! - pos
      pos = entries[tapeStart + offset + 3]!
    }
    gapStart[slots.length] = pos
    gapLength[slots.length] = events.end[event]! - pos
    return this.#add({ slots, gapStart, gapLength, isRaw: false })
  }

  #add(parts: Omit<Template, 'number'>): Template {
    const template = { number: this.#templates.length, ...parts }
    this.#templates.push(template)
    return template
  }

  #appendRaw(events: DecodedEvents, event: number): Template {
    const none = new Int32Array(1)
    this.#raw ??= this.#add({
      slots: none.subarray(1),
      gapStart: none,
      gapLength: none,
      isRaw: true,
    })
    this.#rawCount++
    const start = events.start[event]!
    const length = events.end[event]! - start
    const column = this.#rawColumn
    const at = this.#cursor[column]!
    this.#writer.length = at
    this.#writer.reserve(length + 1 + COLUMN_PADDING)
    this.#writer.bytes.set(this.#source!.bytes.subarray(start, start + length), at)
    this.#writer.bytes[at + length] = LINE_FEED
    this.#cursor[column] = at + length + 1
    return this.#raw
  }

  /** Moves the columns together: raw events have left room in them. */
  #closeColumns(): void {
    const { bytes, view } = this.#writer
    let at = HEADER_ROOM
    this.#largestBytes = 0
    for (let column = 0; column <= this.#rawColumn; column++) {
      const start = this.#columnStart[column]!
      const end = this.#cursor[column]!
      this.#largestBytes = Math.max(this.#largestBytes, end - start)
      if (start !== at) bytes.copyWithin(at, start, end)
      this.#columnStart[column] = at
      at += end - start
      this.#cursor[column] = at
      // Nothing of an earlier batch is stored there.
      view.setFloat64(at, 0, true)
      at += COLUMN_PADDING
    }
    this.#writer.length = at
  }

  /** Puts the header directly before the columns. */
  #withHeader(count: number): Uint8Array {
    this.#writeHeader(count)
    const header = this.#header
    const writer = this.#writer
    const missing = Math.max(0, header.length - HEADER_ROOM)
    if (missing > 0) {
      writer.reserve(missing)
      writer.bytes.copyWithin(HEADER_ROOM + missing, HEADER_ROOM, writer.length)
      writer.length += missing
    }
    const start = HEADER_ROOM + missing - header.length
    writer.bytes.set(header.bytes.subarray(0, header.length), start)
    return writer.bytes.subarray(start, writer.length)
  }

  #writeHeader(count: number): void {
    const writer = this.#header
    const { bytes } = this.#source!
    writer.length = 0
    writer.reserve(VARUINT_BYTES)
    writer.varuint(this.#templates.length)
    for (const { slots, gapStart, gapLength, isRaw } of this.#templates) {
      writer.reserve(VARUINT_BYTES + 1)
      writer.varuint(slots.length)
      writer.bytes[writer.length++] = isRaw ? 1 : 0
      for (const [i, start] of gapStart.entries()) {
        writer.reserve(VARUINT_BYTES)
        if (i < slots.length) writer.varuint(slots[i]!)
        writer.string(bytes.subarray(start, start + gapLength[i]!))
      }
    }
    const columns = this.#rawColumn + 1
    writer.reserve(count + 2 * VARUINT_BYTES + 4 * columns)
    writer.varuint(count)
    if (this.#templates.length > 1) {
      writer.bytes.set(this.#templateOf.subarray(0, count), writer.length)
      writer.length += count
    }
    writer.varuint(this.#rawColumn)
    for (let column = 0; column < columns; column++, writer.length += 4) {
      const size = this.#cursor[column]! - this.#columnStart[column]!
      writer.view.setUint32(writer.length, size, true)
    }
  }
}

/**
 * A list for each layout, the same one for layouts with equal slots: a number may be an integer
 * here and a float there, and the text between the values is the same.
 */
function shareBySlots(layouts: readonly RowLayout[]): Template[][] {
  const byHash = new Map<number, { slots: Int32Array; templates: Template[] }>()
  return layouts.map(({ slots }) => {
    let hash = slots.length
    for (let i = 0; i < slots.length; i++) hash = Math.imul(hash ^ slots[i]!, 0x01000193)
    const known = byHash.get(hash)
    if (known !== undefined && haveEqualItems(known.slots, slots)) return known.templates
    const templates: Template[] = []
    byHash.set(hash, { slots, templates })
    return templates
  })
}

function haveEqualItems(a: Int32Array, b: Int32Array): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** Whether the `length` bytes at `a` and at `b` are the same. Reads up to three bytes further. */
function sameBytes(view: DataView, a: number, b: number, length: number): boolean {
  let left = length
  for (; left >= 8; left -= 8, a += 8, b += 8) {
    // As doubles: text has neither a NaN nor the two zeros, so they are equal if the bytes are.
    if (view.getFloat64(a, true) !== view.getFloat64(b, true)) return false
  }
  if (left >= 4) {
    if (view.getInt32(a, true) !== view.getInt32(b, true)) return false
    a += 4
    b += 4
    left -= 4
  }
  return left === 0 || ((view.getInt32(a, true) ^ view.getInt32(b, true)) & LOW_BYTES[left]!) === 0
}
