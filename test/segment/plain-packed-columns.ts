/** Unpacks columns that `segment/column-packer.ts` packed, in TypeScript: what kernels do. */

import { PACKED_END, PACKED_HEX, PACKED_UUID } from '../../workers/segment/column-packer.ts'
import type { LayoutReader } from '../../workers/segment/layout-reader.ts'
import { LISTED_VALUES_MAX, PACKED_DICTIONARY } from '../../workers/segment/value-dictionary.ts'

const HEX = Buffer.from('0123456789abcdef')
const LINE_FEED = 0x0a
const DASH = 0x2d
const UUID_CHARS = 36
/** Before which of a UUID's 32 digits a dash stands. */
const DASHES = new Set([8, 12, 16, 20])

/** What the layout says of its columns. */
export interface StoredColumns {
  readonly rows: number
  /** The bytes that it has of each column, or would have if that were not packed. */
  readonly sizes: readonly number[]
  /** Reads the next column. */
  readonly read: (size: number) => Buffer
}

/** The text of every column. Throws where the two do not go together. */
export function unpackColumns(reader: LayoutReader, columns: StoredColumns): Buffer[] {
  const { sizes, rows, read } = columns
  const texts: Buffer[] = []
  const readUntil = (column: number) => {
    while (texts.length < column) texts.push(read(sizes[texts.length]!))
  }
  for (let kind = reader.byte(); kind !== PACKED_END; kind = reader.byte()) {
    const column = reader.varuint()
    const size = sizes[column]
    if (size === undefined || column < texts.length) {
      throw new Error('segment packs a column that it lacks')
    }
    readUntil(column)
    const isDictionary = kind === PACKED_DICTIONARY
    texts.push(
      isDictionary ? unpackDictionary(reader, read(size), rows) : unpack(reader, kind, size),
    )
  }
  readUntil(sizes.length)
  return texts
}

function unpack(reader: LayoutReader, kind: number, size: number): Buffer {
  switch (kind) {
    case PACKED_HEX:
      return unpackFixed(reader, size, reader.varuint(), false)
    case PACKED_UUID:
      return unpackFixed(reader, size, UUID_CHARS, true)
    default:
      throw new Error(`segment has a packed column of kind ${kind}, which is not known`)
  }
}

function unpackFixed(reader: LayoutReader, size: number, chars: number, isUuid: boolean): Buffer {
  const count = size / (chars + 1)
  if (!Number.isInteger(count)) throw new Error('segment packs part of a value')
  const digits = isUuid ? chars - DASHES.size : chars
  const packed = reader.bytes((count * digits) / 2)
  const text = Buffer.allocUnsafe(size)
  let at = 0
  for (let value = 0; value < count; value++) {
    const from = (value * digits) / 2
    for (let digit = 0; digit < digits; digit += 2) {
      if (isUuid && DASHES.has(digit)) text[at++] = DASH
      const byte = packed[from + digit / 2]!
      text[at++] = HEX[byte >> 4]!
      text[at++] = HEX[byte & 15]!
    }
    text[at++] = LINE_FEED
  }
  return text
}

/** The column of which `values` is the dictionary: its different values, each with a line feed. */
function unpackDictionary(reader: LayoutReader, values: Buffer, rowsMax: number): Buffer {
  const rows = reader.varuint()
  if (rows > rowsMax) throw new Error('segment has fewer rows than a column of it')
  const starts: number[] = [0]
  for (let end = values.indexOf(LINE_FEED); end >= 0; end = values.indexOf(LINE_FEED, end + 1)) {
    starts.push(end + 1)
  }
  const count = starts.length - 1
  if (count === 0 || count > LISTED_VALUES_MAX || starts[count] !== values.length) {
    throw new Error('segment has a dictionary that is none')
  }
  const width = 32 - Math.clz32(count - 1)
  const packed = reader.bytes(Math.ceil((rows * width) / 8))
  const mask = 2 ** width - 1
  const numbers = new Uint8Array(rows)
  let size = 0
  for (let row = 0, bit = 0; row < rows; row++, bit += width) {
    const pair = packed[bit >> 3]! | (packed[(bit >> 3) + 1]! << 8)
    const number = (pair >> (bit & 7)) & mask
    if (number >= count) throw new Error('segment names a value that it lacks')
    numbers[row] = number
    size += starts[number + 1]! - starts[number]!
  }
  const text = Buffer.allocUnsafe(size)
  let at = 0
  for (const number of numbers) at += values.copy(text, at, starts[number], starts[number + 1])
  return text
}
