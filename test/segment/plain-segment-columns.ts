/** Puts the text of a segment in column layout together again, in TypeScript: what kernels do. */

import { LayoutReader } from '../../workers/segment/layout-reader.ts'
import { COLUMN_PADDING } from '../../workers/segment/segment-columns.ts'
import { unpackColumns } from './plain-packed-columns.ts'

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

/**
 * The events' text, each ended by a line feed, `textBytes` in all. `packed` holds the columns that
 * are not in the layout as they are. Throws on a damaged layout.
 */
export function decodeColumns(layout: Buffer, packed: Buffer, textBytes: number): Buffer {
  const reader = new LayoutReader(layout)
  const templates = readTemplates(reader)
  const count = reader.varuint()
  const templateOf = templates.length > 1 ? reader.skip(count) : undefined
  const columnCount = reader.varuint() + 1
  const sizes = Array.from({ length: columnCount }, () => reader.uint32())
  const read = (size: number) => reader.bytes(size + COLUMN_PADDING).subarray(0, size)
  const values =
    packed.length > 0
      ? unpackColumns(new LayoutReader(packed), { rows: count, sizes, read })
      : sizes.map(read)
  /** Where the next value of each column begins. */
  const next = sizes.map(() => 0)
  const text = Buffer.allocUnsafe(textBytes)
  let at = 0
  for (let event = 0; event < count; event++) {
    const template = templates[templateOf === undefined ? 0 : layout[templateOf + event]!]
    if (template === undefined) throw new Error('segment names a template that it lacks')
    const { columns, gapStarts, gapEnds, isRaw } = template
    if (isRaw) {
      at = copyValue(values, next, columnCount - 1, text, at)
    } else {
      for (let i = 0; i < columns.length; i++) {
        at = copyGap(layout, gapStarts[i]!, gapEnds[i]!, text, at)
        at = copyValue(values, next, columns[i]!, text, at)
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
  values: readonly Buffer[],
  next: number[],
  column: number,
  text: Buffer,
  at: number,
): number {
  const bytes = values[column]
  if (bytes === undefined) throw new Error('segment names a column that it lacks')
  let to = at
  for (let from = next[column]!; from < bytes.length; from++) {
    const byte = bytes[from]!
    if (byte === LINE_FEED) {
      next[column] = from + 1
      return to
    }
    text[to++] = byte
  }
  throw new Error('segment is cut short')
}

function readTemplates(reader: LayoutReader): Template[] {
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
