/**
 * The column format of a segment's text: the text that events share once, the rest by column.
 * Brotli then reads two thirds of the bytes, and similar values stand side by side: less time and a
 * smaller segment (`bench/encode/segment.bench.ts`).
 *
 * An event is a template and its values. A template is the text between the values, byte for byte,
 * so the event's text comes back exactly. Values are those with a cell in the block's column index;
 * a value without one (null, empty objects) is part of the template.
 *
 *   varuint templates; each: varuint values n, isRaw byte, n × (varuint column, gap), gap
 *   varuint events; a template number each, a byte (left out when there is one template)
 *   varuint columns; UInt32 LE bytes of each and of the raw column; their values, each with a line
 *   feed after it, and after each column COLUMN_PADDING bytes; gap: varuint length, bytes
 *
 * A packed column (`column-packer.ts`) has only its size there; a dictionary has the size and text
 * of its values.
 *
 * Events of the raw template are whole in the last column: those without a layout, and those past
 * the bound on templates. Where most events are like that, rows are better: `gather` says so.
 */

import { type ColumnIndex, NO_TEMPLATE_ROW } from '../block/column-index.ts'
import type { EventRange } from '../block/native-block.ts'
import type { ColumnTexts } from '../block/native-json.ts'
import type { ColumnText, TextSource } from '../block/native-values.ts'
import { arena } from '../kernel/arena.ts'
import { copyRange } from '../kernel/arena-copy.ts'
import { ByteWriter, WORD_SLACK } from '../kernel/byte-writer.ts'
import { kernels } from '../kernel/kernels.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { ColumnPacker } from './column-packer.ts'
import { DigitColumns } from './digit-columns.ts'
import { type CellRun, groupBySlots, type LayoutGroup } from './layout-groups.ts'

const TEMPLATES_MAX = 64
/** Below this many events a template each, templates cost more than they save. */
const EVENTS_PER_TEMPLATE_MIN = 4
/** Templates that an event is compared with: they have its slots and differ in what is between. */
const TEMPLATES_TRIED_MAX = 4
const NO_TEMPLATE = -1
const NOTHING = new Uint8Array(0)
const NO_CELLS: CellRun = { first: 0, count: 0 }
/** What copying by words may overwrite after a column. */
export const COLUMN_PADDING = WORD_SLACK
const LINE_FEED = 0x0a
const VARUINT_BYTES = 5
/** Pairs of integers. */
const CELL_BYTES = 8
const GAP_BYTES = 8
/** Room before the columns for what is known only when they are full. */
const HEADER_ROOM = 32 * 1024

interface Template {
  readonly number: number
  /** The cells of a layout that has it; none for the raw template. */
  readonly cells: CellRun
  /** Its first gap in `#gaps`: the one before each value, and the one after the last. */
  readonly firstGap: number
  readonly isRaw: boolean
}

export class SegmentColumns implements ColumnTexts {
  readonly #writer = new ByteWriter(16 * 1024)
  readonly #header = new ByteWriter(1024)
  #templates: Template[] = []
  /** The group of each of the index's layouts. */
  #groups: LayoutGroup[] = []
  /** By layout: the templates that its events may have; see `kernels/segment/columns.ts`. */
  #candidates = arena.int32(64)
  #templateOf = arena.uint8(256)
  /** Pairs: where the first event of its template has a gap, and how long that is. */
  #gaps = arena.int32(256)
  #gapCount = 0
  #gapBytes = 0
  /** The first gap of each template. */
  readonly #gapsOf = arena.int32(TEMPLATES_MAX)
  /** See `Columns` of `kernels/segment/columns.ts`. */
  readonly #context = arena.addresses(8)
  #raw: Template | undefined
  #rawCount = 0
  /** Where each column's values begin, and where its next one goes; the raw column is the last. */
  #columnStart = new Int32Array(64)
  #cursor = arena.int32(64)
  /** The raw column: the one after the index's. */
  #rawColumn = 0
  readonly #packer = new ColumnPacker()
  #packed: Uint8Array = new Uint8Array(0)
  readonly #digits = new DigitColumns()
  #digitsEnd: Uint8Array = new Uint8Array(0)
  /** By slot: the number of its column. Those of digits are the last, before the raw column. */
  #columnOf = arena.int32(64)
  #source: TextSource | undefined
  #layoutCells: Int32Array = new Int32Array(0)
  #largestBytes = 0

  /** What was packed of the columns of the last layout. */
  get packed(): Uint8Array {
    return this.#packed
  }

  /**
   * What is behind the bytes of the last layout, as brotli's end of them: its columns of digits.
   * Empty when there are none; then the layout is whole.
   */
  get digitsEnd(): Uint8Array {
    return this.#digitsEnd
  }

  /** The bytes of the largest column in the last layout. */
  get largestBytes(): number {
    return this.#largestBytes
  }

  /** Gathers the values of a range by column; false when rows are better. */
  gather(
    source: TextSource,
    index: ColumnIndex,
    events: DecodedEvents,
    range: EventRange,
  ): boolean {
    this.#begin(source, index, range.count)
    const templatesMax = Math.min(TEMPLATES_MAX, range.count / EVENTS_PER_TEMPLATE_MIN)
    for (let row = 0; row < range.count; ) {
      row = this.#appendRows(index, events, range, row)
      if (row === range.count) break
      const event = range.first + row
      const number = index.layoutOf[row]!
      const layout = number === NO_TEMPLATE_ROW ? undefined : index.layouts[number]!
      const hasRoom = this.#templates.length + 1 <= templatesMax
      if (layout !== undefined && !layout.isAmbiguous && hasRoom) {
        if (this.#tryCreateTemplate(this.#groups[number]!, layout, events, event)) continue
      }
      this.#templateOf[row++] = this.#appendRaw(events, event)
    }
    return this.#rawCount * 2 <= range.count
  }

  /**
   * What was gathered, if no event is stored whole in the last column; until `layout` is called.
   */
  get texts(): ColumnTexts | undefined {
    return this.#rawCount > 0 ? undefined : this
  }

  /** The values of a slot. */
  of(slot: number): ColumnText {
    const { bytes } = this.#writer
    return { bytes, start: this.#columnStart[slot]!, end: this.#cursor[slot]! }
  }

  /**
   * The layout of the `count` events that were gathered, valid until the next call; up to what
   * `digitsEnd` has.
   */
  layout(count: number): Uint8Array {
    this.#closeColumns(count)
    return this.#withHeader(count)
  }

  #begin(source: TextSource, index: ColumnIndex, count: number): void {
    this.#source = source
    this.#templates = []
    this.#gapCount = 0
    this.#gapBytes = 0
    this.#layoutCells = index.layoutCells
    this.#groups = groupBySlots(index)
    this.#candidates = arena.roomFor(index.layouts.length * TEMPLATES_TRIED_MAX, this.#candidates)
    this.#candidates.fill(NO_TEMPLATE, 0, index.layouts.length * TEMPLATES_TRIED_MAX)
    this.#raw = undefined
    this.#rawCount = 0
    if (this.#templateOf.length < count) {
      this.#templateOf = arena.replaced(this.#templateOf, arena.uint8(count * 2))
    }
    this.#reserveColumns(index)
  }

  /** Appends the rows from `first` on that have templates; returns the first that has none. */
  #appendRows(index: ColumnIndex, events: DecodedEvents, range: EventRange, first: number): number {
    const { entries, bytes } = this.#source!
    this.#context.set([
      this.#candidates.byteOffset,
      TEMPLATES_TRIED_MAX,
      this.#gapsOf.byteOffset,
      this.#gaps.byteOffset,
      entries.byteOffset,
      bytes.byteOffset,
      this.#cursor.byteOffset,
      this.#writer.bytes.byteOffset,
    ])
    return kernels.appendRows(
      this.#context.byteOffset,
      index.context(),
      events.context(),
      first,
      range.count,
      range.first,
      this.#templateOf.byteOffset,
    )
  }

  /** Room for each column, at most what its values need. */
  #reserveColumns(index: ColumnIndex): void {
    const { slots, cellStart, textBytes } = index
    this.#rawColumn = slots
    if (this.#cursor.length <= slots) {
      this.#cursor = arena.roomFor(slots + 1, this.#cursor)
      this.#columnStart = new Int32Array(this.#cursor.length)
      this.#columnOf = arena.roomFor(this.#cursor.length, this.#columnOf)
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

  /**
   * Makes a template of an event, whose layout has no other that fits; false when there is no room.
   */
  #tryCreateTemplate(
    group: LayoutGroup,
    cells: CellRun,
    events: DecodedEvents,
    event: number,
  ): boolean {
    if (group.templates === TEMPLATES_TRIED_MAX) return false
    const { entries } = this.#source!
    const layoutCells = this.#layoutCells
    const template = this.#add(cells, false)
    const tapeStart = events.tapeStart[event]!
    let pos = events.start[event]!
    for (let cell = cells.first; cell < cells.first + cells.count; cell++) {
      const entry = tapeStart + layoutCells[2 * cell + 1]!
      this.#addGap(pos, entries[entry + 2]!)
      pos = entries[entry + 3]!
    }
    this.#addGap(pos, events.end[event]!)
    for (const layout of group.layouts) {
      this.#candidates[layout * TEMPLATES_TRIED_MAX + group.templates] = template.number
    }
    group.templates++
    return true
  }

  #add(cells: CellRun, isRaw: boolean): Template {
    const template = { number: this.#templates.length, cells, firstGap: this.#gapCount, isRaw }
    this.#templates.push(template)
    this.#gapsOf[template.number] = template.firstGap
    return template
  }

  #addGap(start: number, end: number): void {
    const at = 2 * this.#gapCount++
    if (at === this.#gaps.length) this.#gaps = arena.doubled(this.#gaps)
    this.#gaps[at] = start
    this.#gaps[at + 1] = end - start
    this.#gapBytes += end - start
  }

  /** Appends an event to the raw column; returns the number of the raw template. */
  #appendRaw(events: DecodedEvents, event: number): number {
    if (this.#raw === undefined) {
      this.#raw = this.#add(NO_CELLS, true)
      this.#addGap(0, 0)
    }
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
    return this.#raw.number
  }

  /**
   * Closes the gaps between columns: raw events left unused bytes, and packed columns are left out,
   * as are columns of digits if the raw column is empty.
   */
  #closeColumns(rows: number): void {
    const { bytes, view } = this.#writer
    const packer = this.#packer
    let at = HEADER_ROOM
    this.#largestBytes = 0
    packer.begin()
    this.#digits.begin()
    const ofDigits: number[] = []
    let column = 0
    for (let slot = 0; slot <= this.#rawColumn; slot++) {
      const start = this.#columnStart[slot]!
      let end = this.#cursor[slot]!
      if (slot === this.#rawColumn && ofDigits.length > 0) break
      if (slot < this.#rawColumn) {
        const left = packer.pack(bytes, { column, start, end, rows })
        if (left === end && this.#tryDigits(start, end)) {
          ofDigits.push(slot)
          continue
        }
        this.#columnOf[slot] = column++
        if (left === start && end > start) continue
        this.#cursor[slot] = end = left
      }
      this.#largestBytes = Math.max(this.#largestBytes, end - start)
      at = start === at ? end : copyRange(bytes, at, bytes, start, end)
      // Nothing of an earlier batch is stored there.
      view.setFloat64(at, 0, true)
      at += COLUMN_PADDING
    }
    for (const slot of ofDigits) this.#columnOf[slot] = column++
    this.#columnOf[this.#rawColumn] = column
    this.#digitsEnd = ofDigits.length > 0 ? this.#digits.end() : NOTHING
    this.#packed = packer.end()
    this.#writer.length = at
  }

  /** Whether the column that was left unpacked is one of digits, and is written as such. */
  #tryDigits(start: number, end: number): boolean {
    if (this.#rawCount > 0 || !this.#packer.isVaried) return false
    return this.#digits.tryAdd(this.#writer.bytes, start, end)
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
    const templates = this.#templates
    writer.length = 0
    writer.reserve(this.#gapBytes + (this.#gapCount + templates.length + 1) * 2 * VARUINT_BYTES)
    writer.varuint(templates.length)
    for (const { cells, firstGap, isRaw } of templates) {
      writer.varuint(cells.count)
      writer.bytes[writer.length++] = isRaw ? 1 : 0
      const { byteOffset } = writer.bytes
      writer.length =
        kernels.writeTemplate(
          this.#layoutCells.byteOffset + cells.first * CELL_BYTES,
          cells.count,
          this.#columnOf.byteOffset,
          this.#gaps.byteOffset + firstGap * GAP_BYTES,
          this.#source!.bytes.byteOffset,
          byteOffset + writer.length,
        ) - byteOffset
    }
    const columns = this.#rawColumn + 1
    writer.reserve(count + 2 * VARUINT_BYTES + 4 * columns)
    writer.varuint(count)
    if (this.#templates.length > 1) {
      writer.bytes.set(this.#templateOf.subarray(0, count), writer.length)
      writer.length += count
    }
    writer.varuint(this.#rawColumn)
    for (let slot = 0; slot < columns; slot++) {
      const size = this.#cursor[slot]! - this.#columnStart[slot]!
      writer.view.setUint32(writer.length + 4 * this.#columnOf[slot]!, size, true)
    }
    writer.length += 4 * columns
  }
}
