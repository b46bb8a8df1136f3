/** Puts the text of a segment in column layout together again: `encode/segment-columns.ts`. */

import { COLUMN_PADDING } from '../encode/segment-columns.ts'

const LINE_FEED = 0x0a

interface Template {
  readonly columns: readonly number[]
  readonly gaps: readonly Uint8Array[]
  readonly isRaw: boolean
}

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

  take(length: number): Buffer {
    if (this.at + length > this.#bytes.length) throw new Error('segment is cut short')
    this.at += length
    return this.#bytes.subarray(this.at - length, this.at)
  }

  uint32(): number {
    return this.take(4).readUInt32LE(0)
  }
}

/** The events' text, each ended by a line feed, `textBytes` in all. Throws on a damaged layout. */
export function decodeColumns(layout: Buffer, textBytes: number): Buffer {
  const reader = new Reader(layout)
  const templates = readTemplates(reader)
  const count = reader.varuint()
  const templateOf = templates.length > 1 ? reader.take(count) : Buffer.alloc(count)
  const columnCount = reader.varuint() + 1
  const sizes = Array.from({ length: columnCount }, () => reader.uint32())
  const columns = sizes.map((size) => reader.take(size + COLUMN_PADDING).subarray(0, size))
  const positions = new Array<number>(columnCount).fill(0)
  const text = Buffer.allocUnsafe(textBytes)
  let at = 0
  const put = (bytes: Uint8Array) => {
    if (at + bytes.length >= textBytes) throw new Error('segment holds more than it says')
    text.set(bytes, at)
    at += bytes.length
  }
  const next = (column: number): Uint8Array => {
    const start = positions[column] ?? 0
    const end = columns[column]?.indexOf(LINE_FEED, start) ?? -1
    if (end < 0) throw new Error('segment is cut short')
    positions[column] = end + 1
    return columns[column]!.subarray(start, end)
  }
  for (const number of templateOf) {
    const template = templates[number]
    if (template === undefined) throw new Error('segment names a template that it lacks')
    if (template.isRaw) put(next(columnCount - 1))
    else putEvent(template, put, next)
    text[at++] = LINE_FEED
  }
  if (at !== textBytes) throw new Error('segment is cut short')
  return text
}

function putEvent(
  { columns, gaps }: Template,
  put: (bytes: Uint8Array) => void,
  next: (column: number) => Uint8Array,
): void {
  for (const [i, column] of columns.entries()) {
    put(gaps[i]!)
    put(next(column))
  }
  put(gaps[columns.length]!)
}

function readTemplates(reader: Reader): Template[] {
  const templates: Template[] = []
  const count = reader.varuint()
  for (let i = 0; i < count; i++) {
    const values = reader.varuint()
    const isRaw = reader.byte() === 1
    const columns: number[] = []
    const gaps: Uint8Array[] = []
    for (let value = 0; value <= values; value++) {
      if (value < values) columns.push(reader.varuint())
      gaps.push(reader.take(reader.varuint()))
    }
    templates.push({ columns, gaps, isRaw })
  }
  return templates
}
