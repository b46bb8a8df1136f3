/** Puts the text of a segment in column layout together again: `encode/segment-columns.ts`. */

import { COLUMN_PADDING } from '../encode/segment-columns.ts'

const LINE_FEED = 0x0a

/** Offsets are those of the layout's bytes. */
interface Template {
  readonly columns: readonly number[]
  /** The text before each value, and behind the last. */
  readonly gapStarts: readonly number[]
  readonly gapEnds: readonly number[]
  readonly isRaw: boolean
}

/** Shorter runs of bytes are copied one by one: a call costs more. */
const LOOP_BYTES_MAX = 48

/** Reads the layout's numbers and bytes. Throws past its end. */
class Reader {
  readonly #bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  byte(): number {
    const byte = this.#bytes[this.at++]
    if (byte === undefined) throw new Error('segment is cut short')
    return byte
  }

  varuint(): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte()
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }

  /** Steps over so many bytes; returns where they begin. */
  skip(length: number): number {
    if (this.at + length > this.#bytes.length) throw new Error('segment is cut short')
    this.at += length
    return this.at - length
  }

  uint32(): number {
    return this.#bytes.readUInt32LE(this.skip(4))
  }
}

/** The events' text, each ended by a line feed, `textBytes` in all. Throws on a damaged layout. */
export function decodeColumns(layout: Buffer, textBytes: number): Buffer {
  const reader = new Reader(layout)
  const templates = readTemplates(reader)
  const count = reader.varuint()
  const templateOf = templates.length > 1 ? reader.skip(count) : undefined
  const columnCount = reader.varuint() + 1
  const sizes = Array.from({ length: columnCount }, () => reader.uint32())
  /** Where the next value of each column begins, and where the column ends. */
  const next = sizes.map((size) => reader.skip(size + COLUMN_PADDING))
  const ends = next.map((start, column) => start + sizes[column]!)
  const text = Buffer.allocUnsafe(textBytes)
  let at = 0
  for (let event = 0; event < count; event++) {
    const template = templates[templateOf === undefined ? 0 : layout[templateOf + event]!]
    if (template === undefined) throw new Error('segment names a template that it lacks')
    const { columns, gapStarts, gapEnds, isRaw } = template
    if (isRaw) {
      at = copyValue(layout, next, ends, columnCount - 1, text, at)
    } else {
      for (let i = 0; i < columns.length; i++) {
        at = copyGap(layout, gapStarts[i]!, gapEnds[i]!, text, at)
        at = copyValue(layout, next, ends, columns[i]!, text, at)
      }
      at = copyGap(layout, gapStarts[columns.length]!, gapEnds[columns.length]!, text, at)
    }
    if (at >= textBytes) throw new Error('segment holds more than it says')
    text[at++] = LINE_FEED
  }
  if (at !== textBytes) throw new Error('segment is cut short')
  return text
}

/** Copies to `text` from `at` on, and returns where it ends; past its end nothing is written. */
function copyGap(layout: Buffer, start: number, end: number, text: Buffer, at: number): number {
  if (end - start > LOOP_BYTES_MAX) {
    layout.copy(text, at, start, end)
    return at + end - start
  }
  let to = at
  for (let from = start; from < end; from++) text[to++] = layout[from]!
  return to
}

/** The same for the column's next value, up to its line feed. */
function copyValue(
  layout: Buffer,
  next: number[],
  ends: readonly number[],
  column: number,
  text: Buffer,
  at: number,
): number {
  let from = next[column] ?? 0
  const end = ends[column] ?? 0
  let to = at
  for (; from < end; from++) {
    const byte = layout[from]!
    if (byte === LINE_FEED) {
      next[column] = from + 1
      return to
    }
    text[to++] = byte
  }
  throw new Error('segment is cut short')
}

function readTemplates(reader: Reader): Template[] {
  const templates: Template[] = []
  const count = reader.varuint()
  for (let i = 0; i < count; i++) {
    const values = reader.varuint()
    const isRaw = reader.byte() === 1
    const columns: number[] = []
    const gapStarts: number[] = []
    const gapEnds: number[] = []
    for (let value = 0; value <= values; value++) {
      if (value < values) columns.push(reader.varuint())
      const length = reader.varuint()
      gapStarts.push(reader.skip(length))
      gapEnds.push(reader.at)
    }
    templates.push({ columns, gapStarts, gapEnds, isRaw })
  }
  return templates
}
