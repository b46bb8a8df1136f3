/** Unpacks columns that `encode/column-packer.ts` packed. */
import { PACKED_DECIMAL, PACKED_END, PACKED_HEX, PACKED_UUID } from '../encode/column-packer.ts'
import type { LayoutReader } from './layout-reader.ts'

const HEX = Buffer.from('0123456789abcdef')
const DECIMAL = Buffer.from('0123456789\n+\0-.e')
const LINE_FEED = 0x0a
const DASH = 0x2d
const UUID_CHARS = 36
/** Before which of a UUID's 32 digits a dash stands. */
const DASHES = new Set([8, 12, 16, 20])

/**
 * The text of each packed column by its number. `sizes`: the bytes of all columns' text. Throws
 * where the two do not go together.
 */
export function unpackColumns(reader: LayoutReader, sizes: readonly number[]): Map<number, Buffer> {
  const texts = new Map<number, Buffer>()
  for (let kind = reader.byte(); kind !== PACKED_END; kind = reader.byte()) {
    const column = reader.varuint()
    const size = sizes[column]
    if (size === undefined) throw new Error('segment packs a column that it lacks')
    texts.set(column, unpack(reader, kind, size))
  }
  return texts
}

function unpack(reader: LayoutReader, kind: number, size: number): Buffer {
  switch (kind) {
    case PACKED_HEX:
      return unpackFixed(reader, size, reader.varuint(), false)
    case PACKED_UUID:
      return unpackFixed(reader, size, UUID_CHARS, true)
    case PACKED_DECIMAL:
      return unpackDecimals(reader.bytes(Math.ceil(size / 2)), size)
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

function unpackDecimals(packed: Buffer, size: number): Buffer {
  const text = Buffer.allocUnsafe(size)
  for (let at = 0; at < size; at++) {
    const byte = packed[at >> 1]!
    text[at] = DECIMAL[at % 2 === 0 ? byte >> 4 : byte & 15]!
  }
  return text
}
