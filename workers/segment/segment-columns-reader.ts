/** Puts the text of a segment in column layout together again: `segment-columns.ts`. */

import { arena } from '../kernel/arena.ts'
import { BatchBytes } from '../kernel/batch-bytes.ts'
import { kernels } from '../kernel/kernels.ts'
import { LayoutReader } from './layout-reader.ts'
import { ColumnUnpacker, type UnpackedColumn } from './packed-columns.ts'
import { COLUMN_PADDING } from './segment-columns.ts'

/** Offsets are those of the layout's bytes. */
interface Template {
  /** The raw column, which is the last, is undefined. */
  readonly columns: readonly (number | undefined)[]
  /** The text before each value, and after the last. */
  readonly gapStarts: readonly number[]
  readonly gapEnds: readonly number[]
}

/** As `kernels/segment/stored.ts` has them. */
const GAP_NUMBERS = 3
const COLUMN_NUMBERS = 4
const NO_COLUMN = -1
/** The kind of the template whose events are stored whole in the last column; others have 0. */
const RAW_TEMPLATE = 1
const FAULTS = [
  'segment is cut short',
  'segment names a template that it lacks',
  'segment holds more than it says',
]

export class SegmentColumnsReader {
  readonly #layout = new BatchBytes()
  readonly #packed = new BatchBytes()
  readonly #unpacker = new ColumnUnpacker()
  /** By template its first gap; of a gap where its text is, its bytes, and the column after it. */
  #gapsOf = arena.addresses(64)
  #gaps = arena.addresses(1024)
  #columns = arena.addresses(256)

  /**
   * Writes the events' text, each event ended by a line feed, to `text` of the arena, which it
   * fills; up to 31 bytes after it are overwritten. `packed` holds the columns that are not stored
   * as plain text. Throws on damaged data.
   */
  write(layout: Uint8Array, packed: Uint8Array, text: Uint8Array): void {
    const bytes = held(this.#layout, layout)
    const reader = new LayoutReader(bytes)
    const templates = readTemplates(reader)
    const rows = reader.varuint()
    if (rows > text.length) throw new Error(FAULTS[2])
    const templateOf = templates.length > 1 ? bytes.byteOffset + reader.skip(rows) : 0
    const columnCount = reader.varuint() + 1
    const sizes = Array.from({ length: columnCount }, () => reader.uint32())
    const read = (size: number) => reader.bytes(size + COLUMN_PADDING).subarray(0, size)
    const columns =
      packed.length > 0
        ? this.#unpacker.unpack(new LayoutReader(held(this.#packed, packed)), { rows, sizes, read })
        : sizes.map((size) => ({ text: read(size) }))
    reader.end()
    this.#placeTemplates(templates, bytes.byteOffset, columnCount)
    this.#placeColumns(columns)
    const start = text.byteOffset
    const end = kernels.writeStored(
      rows,
      templateOf,
      this.#gapsOf.byteOffset,
      templates.length,
      this.#columns.byteOffset,
      start,
      start + text.length,
    )
    if (end !== start + text.length) throw new Error(FAULTS[end] ?? FAULTS[0])
    this.#checkAllRead(columns.length)
  }

  #checkAllRead(columns: number): void {
    for (let at = 0; at < columns * COLUMN_NUMBERS; at += COLUMN_NUMBERS) {
      if (this.#columns[at] !== this.#columns[at + 1]) {
        throw new Error('segment has a value that no event has')
      }
    }
  }

  #placeTemplates(templates: readonly Template[], address: number, columnCount: number): void {
    this.#gapsOf = arena.roomFor(templates.length, this.#gapsOf)
    const gaps = templates.reduce((sum, { columns }) => sum + columns.length + 1, 0)
    this.#gaps = arena.roomFor(gaps * GAP_NUMBERS, this.#gaps)
    let at = 0
    for (const [index, { columns, gapStarts, gapEnds }] of templates.entries()) {
      this.#gapsOf[index] = this.#gaps.byteOffset + at * Int32Array.BYTES_PER_ELEMENT
      for (const [i, start] of gapStarts.entries()) {
        const column = i < columns.length ? (columns[i] ?? columnCount - 1) : NO_COLUMN
        if (column >= columnCount) throw new Error('segment names a column that it lacks')
        this.#gaps[at++] = address + start
        this.#gaps[at++] = gapEnds[i]! - start
        this.#gaps[at++] = column
      }
    }
  }

  #placeColumns(columns: readonly UnpackedColumn[]): void {
    this.#columns = arena.roomFor(columns.length * COLUMN_NUMBERS, this.#columns)
    let at = 0
    for (const { text, listed } of columns) {
      const values = listed?.numbers ?? text
      this.#columns[at++] = values.byteOffset
      this.#columns[at++] = values.byteOffset + values.length
      this.#columns[at++] = listed?.starts.byteOffset ?? 0
      this.#columns[at++] = text.byteOffset
    }
  }
}

/** A copy in the arena. `set` would go byte by byte where the two are not aligned alike. */
function held(room: BatchBytes, bytes: Uint8Array): Buffer {
  return room.room(bytes.length).fill(bytes)
}

function readTemplates(reader: LayoutReader): Template[] {
  const templates: Template[] = []
  const count = reader.varuint()
  for (let i = 0; i < count; i++) {
    const values = reader.varuint()
    const kind = reader.byte()
    const isRaw = kind === RAW_TEMPLATE
    if (kind > RAW_TEMPLATE || (isRaw && values > 0)) {
      throw new Error('segment has a template that is none')
    }
    const columns: (number | undefined)[] = []
    const gapStarts: number[] = []
    const gapEnds: number[] = []
    for (let value = 0; value <= values; value++) {
      if (value < values) columns.push(reader.varuint())
      const length = reader.varuint()
      gapStarts.push(reader.skip(length))
      gapEnds.push(reader.at)
    }
    templates.push(
      isRaw
        ? { columns: [undefined], gapStarts: [0, 0], gapEnds: [0, 0] }
        : { columns, gapStarts, gapEnds },
    )
  }
  return templates
}
