/** Unpacks columns that `column-packer.ts` packed, into the arena. */

import { arena } from '../kernel/arena.ts'
import { BatchBytes } from '../kernel/batch-bytes.ts'
import { kernels } from '../kernel/kernels.ts'
import { PACKED_END, PACKED_HEX, PACKED_UUID } from './column-packer.ts'
import type { LayoutReader } from './layout-reader.ts'
import { LISTED_VALUES_MAX, PACKED_DICTIONARY } from './value-dictionary.ts'

const LINE_FEED = 0x0a
const UUID_CHARS = 36
const UUID_DASHES = 4
/** What kernels may write after a column. */
const COLUMN_SLACK = 16

/** What the layout says of its columns. */
export interface StoredColumns {
  readonly rows: number
  /** The bytes that it has of each column, or would have if that were not packed. */
  readonly sizes: readonly number[]
  /** Reads the next column, of bytes in the arena. */
  readonly read: (size: number) => Uint8Array
}

/** A column, all in the arena: its values' text, or a number for each row. */
export interface UnpackedColumn {
  /** Each value ended by a line feed; of a dictionary its different ones. */
  readonly text: Uint8Array
  readonly listed?: {
    /** By row, a byte. */
    readonly numbers: Uint8Array
    /** Where each value begins in `text`, and the last one ends. */
    readonly starts: Int32Array
  }
}

interface PackedColumn {
  readonly column: number
  readonly kind: number
  /** Of its text, or the numbers of its rows. */
  readonly size: number
  /** Characters of a value, if all have as many. */
  readonly chars: number
  /** Bits of a number. */
  readonly width: number
  readonly packed: Uint8Array
  /** Its different values. */
  readonly values: Uint8Array
}

const NOTHING = new Uint8Array(0)

export class ColumnUnpacker {
  readonly #room = new BatchBytes()
  #starts = arena.int32(LISTED_VALUES_MAX + 1)

  /**
   * Every column, valid until the next call. The bytes of `reader` are the arena's. Throws where
   * the two do not match.
   */
  unpack(reader: LayoutReader, columns: StoredColumns): UnpackedColumn[] {
    const { texts, packed } = readPacked(reader, columns)
    const bytes = packed.reduce((sum, { size }) => sum + size + COLUMN_SLACK, 0)
    const room = this.#room.room(bytes)
    this.#starts = arena.roomFor(packed.length * (LISTED_VALUES_MAX + 1), this.#starts)
    const unpacked = texts.map((text): UnpackedColumn => ({ text }))
    let at = 0
    for (const [index, each] of packed.entries()) {
      const out = room.subarray(at, at + each.size)
      const from = index * (LISTED_VALUES_MAX + 1)
      const starts = this.#starts.subarray(from, from + LISTED_VALUES_MAX + 1)
      unpacked[each.column] = unpackColumn(each, out, starts)
      at += each.size + COLUMN_SLACK
    }
    return unpacked
  }
}

/** The columns that are there as text, and what is packed of the others. */
function readPacked(reader: LayoutReader, { sizes, rows, read }: StoredColumns) {
  const texts: Uint8Array[] = []
  const packed: PackedColumn[] = []
  const readUntil = (column: number) => {
    while (texts.length < column) texts.push(read(sizes[texts.length]!))
  }
  for (let kind = reader.byte(); kind !== PACKED_END; kind = reader.byte()) {
    const column = reader.varuint()
    const size = sizes[column]
    // The last is the raw column, which is never packed.
    if (size === undefined || column < texts.length || column === sizes.length - 1) {
      throw new Error('segment packs a column that it lacks')
    }
    readUntil(column)
    const isDictionary = kind === PACKED_DICTIONARY
    const values = isDictionary ? read(size) : NOTHING
    texts.push(values)
    packed.push({
      column,
      kind,
      values,
      ...(isDictionary ? readNumbers(reader, values, rows) : readText(reader, kind, size)),
    })
  }
  readUntil(sizes.length)
  reader.end()
  return { texts, packed }
}

type Packed = Pick<PackedColumn, 'size' | 'chars' | 'width' | 'packed'>

function readText(reader: LayoutReader, kind: number, size: number): Packed {
  switch (kind) {
    case PACKED_HEX:
      return readFixed(reader, size, reader.varuint(), 0)
    case PACKED_UUID:
      return readFixed(reader, size, UUID_CHARS, UUID_DASHES)
    default:
      throw new Error(`segment has a packed column of kind ${kind}, which is not known`)
  }
}

function readFixed(reader: LayoutReader, size: number, chars: number, dashes: number): Packed {
  const count = size / (chars + 1)
  if (!Number.isInteger(count) || count === 0 || chars === 0 || chars % 2 !== 0) {
    throw new Error('segment packs part of a value')
  }
  return { size, chars, width: 0, packed: reader.bytes((count * (chars - dashes)) / 2) }
}

function readNumbers(reader: LayoutReader, values: Uint8Array, rowsMax: number): Packed {
  const size = reader.varuint()
  if (size > rowsMax) throw new Error('segment has fewer rows than a column of it')
  let count = 0
  for (const byte of values) if (byte === LINE_FEED) count++
  if (count === 0 || count > LISTED_VALUES_MAX || values.at(-1) !== LINE_FEED) {
    throw new Error('segment has a dictionary that is none')
  }
  const width = 32 - Math.clz32(count - 1)
  return { size, chars: count, width, packed: reader.bytes(Math.ceil((size * width) / 8)) }
}

function unpackColumn(column: PackedColumn, out: Uint8Array, starts: Int32Array): UnpackedColumn {
  const { kind, size, chars, width, packed, values } = column
  const from = packed.byteOffset
  const to = out.byteOffset
  if (kind === PACKED_HEX) kernels.unpackHex(from, size / (chars + 1), chars, to)
  else if (kind === PACKED_UUID) kernels.unpackUuids(from, size / (chars + 1), to)
  else {
    let count = 0
    starts[0] = 0
    for (let at = 0; at < values.length; at++) {
      if (values[at] === LINE_FEED) starts[++count] = at + 1
    }
    if (kernels.unpackNumbers(from, size, width, to) >= count) {
      throw new Error('segment names a value that it lacks')
    }
    return { text: values, listed: { numbers: out, starts } }
  }
  return { text: out }
}
