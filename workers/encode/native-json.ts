/**
 * One JSON column in ClickHouse's Native format, flattened serialization (version 3): path names,
 * then each path's Dynamic prefix, then each path's discriminators and values by type.
 *
 *   UInt64 3, varuint paths, names · per path: UInt64 3, varuint types, names[, nested prefix]
 *   · per path: a discriminator byte a row, then each type's values of just the rows that have it
 *
 * Arrays of objects nest: their elements are the rows of a JSON column inside. The nested column's
 * prefix belongs into the outer prefix and its data into the outer data, so its rows are indexed
 * first, and the index is kept until the data is written.
 */
import { NESTED_COLUMNS_DEPTH_MAX } from '../../src/limits.ts'
import { ARRAY, ELEMENT, ENTRY, ESCAPED, NULL, STRING, TRUE } from '../decode/json-tape.ts'
import type { PathTrie } from '../decode/path-trie.ts'
import type { ByteWriter } from './byte-writer.ts'
import { ColumnIndex, type TapeRows } from './column-index.ts'
import {
  ARRAY_BOOL,
  ARRAY_FLOAT64,
  ARRAY_JSON,
  ARRAY_STRING,
  BOOL,
  FLOAT64,
  INT64,
  NATIVE_TYPES,
  nativeTypeName,
  nativeTypeOf,
  STRING_TYPE,
  UINT64,
} from './native-types.ts'
import { writeFloat, writeInteger, writeString } from './native-values.ts'

const FLATTENED_VERSION = 3
/** Room a cell may need beyond its text: offsets, discriminator, length prefix. */
const CELL_BYTES = 24
/** An array of one-digit integers takes nine bytes for every two of its text. */
const ARRAY_BYTES_FACTOR = 9

/** What encoding reads: one batch's tape. */
export interface TapeSource {
  readonly bytes: Uint8Array
  readonly entries: Int32Array
  readonly trie: PathTrie
}

export class JsonColumn {
  readonly #depth: number
  readonly #index = new ColumnIndex()
  /** Discriminator of each native type in the path being written. */
  readonly #discriminator = new Uint8Array(NATIVE_TYPES)
  /** Nested columns by slot, for paths that hold arrays of objects. */
  #nested = new Map<number, JsonColumn>()
  #source: TapeSource | undefined
  #rowCount = 0

  constructor(depth: number) {
    this.#depth = depth
  }

  get #nestedAllowed(): boolean {
    return this.#depth < NESTED_COLUMNS_DEPTH_MAX
  }

  /** Indexes the rows; returns how many entries found no column. */
  prepare(source: TapeSource, rows: TapeRows): number {
    this.#source = source
    this.#rowCount = rows.count
    const index = this.#index
    index.build(source.entries, source.trie, rows, this.#nestedAllowed)
    this.#nested.clear()
    let skipped = index.skipped
    for (let slot = 0; slot < index.slots; slot++) {
      if ((index.typeMask[slot]! & (1 << ARRAY_JSON)) === 0) continue
      const nested = new JsonColumn(this.#depth + 1)
      skipped += nested.prepare(source, this.#elementRows(source, slot))
      this.#nested.set(slot, nested)
    }
    return skipped
  }

  /** The elements of all arrays of objects at one path, as rows. */
  #elementRows(source: TapeSource, slot: number): TapeRows {
    const { entries } = source
    const starts: number[] = []
    const ends: number[] = []
    this.#eachCell(slot, ARRAY_JSON, (entry) => {
      const end = entries[entry + 7]!
      for (let at = entry + 2 * ENTRY; at < end; at = entries[at + 7]!) {
        starts.push(at + 2 * ENTRY)
        ends.push(entries[at + 7]!)
      }
    })
    const start = Int32Array.from(starts)
    return { count: start.length, start, end: Int32Array.from(ends), first: 0 }
  }

  #eachCell(slot: number, native: number, visit: (entry: number) => void): void {
    const { entries } = this.#source!
    const index = this.#index
    const end = index.cellStart[slot + 1]!
    for (let cell = index.cellStart[slot]!; cell < end; cell++) {
      const entry = index.cellEntry[cell]!
      if (nativeTypeOf(entries, entry, this.#nestedAllowed) === native) visit(entry)
    }
  }

  /** Writes the column's prefix: paths and types, nested ones included. */
  writePrefix(writer: ByteWriter): void {
    const { trie } = this.#source!
    const index = this.#index
    writer.reserve(16)
    writer.uint64(FLATTENED_VERSION)
    writer.varuint(index.slots)
    for (let slot = 0; slot < index.slots; slot++) {
      writer.string(trie.columns[index.column[slot]!]!.nameBytes)
    }
    for (let slot = 0; slot < index.slots; slot++) {
      const mask = index.typeMask[slot]!
      writer.reserve(16)
      writer.uint64(FLATTENED_VERSION)
      writer.varuint(bitCount(mask))
      for (let type = 0; type < NATIVE_TYPES; type++) {
        if ((mask & (1 << type)) !== 0) writer.string(nativeTypeName(type, this.#depth))
      }
      this.#nested.get(slot)?.writePrefix(writer)
    }
  }

  /** Writes the column's data, path by path. */
  writeData(writer: ByteWriter): void {
    const index = this.#index
    for (let slot = 0; slot < index.slots; slot++) {
      const mask = index.typeMask[slot]!
      const start = index.cellStart[slot]!
      const end = index.cellStart[slot + 1]!
      const hasArrays = (mask & ((1 << BOOL) - 1)) !== 0
      const textBytes = index.textBytes[slot]! * (hasArrays ? ARRAY_BYTES_FACTOR : 1)
      writer.reserve(this.#rowCount + (end - start) * CELL_BYTES + textBytes)
      this.#writeDiscriminators(writer, slot, mask)
      for (let type = 0; type < NATIVE_TYPES; type++) {
        if ((mask & (1 << type)) === 0) continue
        this.#writeType(writer, slot, type, mask === 1 << type)
        // A nested column has used up the room that was reserved above.
        if (type === ARRAY_JSON) writer.reserve((end - start) * CELL_BYTES + textBytes)
      }
    }
  }

  #writeDiscriminators(writer: ByteWriter, slot: number, mask: number): void {
    const { entries } = this.#source!
    const index = this.#index
    const start = index.cellStart[slot]!
    const end = index.cellStart[slot + 1]!
    const single = (mask & (mask - 1)) === 0
    const base = writer.length
    const { bytes } = writer
    if (single && end - start === this.#rowCount) {
      bytes.fill(0, base, base + this.#rowCount)
    } else {
      let types = 0
      for (let type = 0; type < NATIVE_TYPES; type++) {
        if ((mask & (1 << type)) !== 0) this.#discriminator[type] = types++
      }
      bytes.fill(types, base, base + this.#rowCount)
      for (let cell = start; cell < end; cell++) {
        const native = nativeTypeOf(entries, index.cellEntry[cell]!, this.#nestedAllowed)
        bytes[base + index.cellRow[cell]!] = this.#discriminator[native]!
      }
    }
    writer.length = base + this.#rowCount
  }

  #writeType(writer: ByteWriter, slot: number, type: number, isOnlyType: boolean): void {
    if (type < BOOL) {
      if (type === ARRAY_JSON) this.#writeNested(writer, slot)
      else this.#writeArrays(writer, slot, type)
      return
    }
    const { entries, bytes } = this.#source!
    const index = this.#index
    const end = index.cellStart[slot + 1]!
    for (let cell = index.cellStart[slot]!; cell < end; cell++) {
      const entry = index.cellEntry[cell]!
      if (!isOnlyType && nativeTypeOf(entries, entry, this.#nestedAllowed) !== type) continue
      const valueStart = entries[entry + 2]!
      const valueEnd = entries[entry + 3]!
      if (type === STRING_TYPE) {
        writeString(writer, bytes, valueStart, valueEnd, entries[entry + 1]!)
      } else if (type === INT64 || type === UINT64) {
        writeInteger(writer, bytes, valueStart, valueEnd)
      } else if (type === FLOAT64) {
        writeFloat(writer, bytes, valueStart, valueEnd)
      } else {
        writer.bytes[writer.length++] = entries[entry + 1] === TRUE ? 1 : 0
      }
    }
  }

  #writeNested(writer: ByteWriter, slot: number): void {
    const { entries } = this.#source!
    let offset = 0
    this.#eachCell(slot, ARRAY_JSON, (entry) => {
      offset += entries[entry + 6]!
      writer.uint64(offset)
    })
    this.#nested.get(slot)!.writeData(writer)
  }

  /** `Array(Nullable(T))`: offsets, then for all elements their null flags, then their values. */
  #writeArrays(writer: ByteWriter, slot: number, type: number): void {
    const { entries } = this.#source!
    let offset = 0
    this.#eachCell(slot, type, (entry) => {
      offset += entries[entry + 6]!
      writer.uint64(offset)
    })
    this.#eachCell(slot, type, (entry) => {
      const end = entries[entry + 7]!
      for (let at = entry + 2 * ENTRY; at < end; at = nextElement(entries, at)) {
        writer.bytes[writer.length++] = entries[at + 1] === NULL ? 1 : 0
      }
    })
    this.#eachCell(slot, type, (entry) => {
      const end = entries[entry + 7]!
      for (let at = entry + 2 * ENTRY; at < end; at = nextElement(entries, at)) {
        this.#writeElement(writer, at, type)
      }
    })
  }

  #writeElement(writer: ByteWriter, at: number, type: number): void {
    const { entries, bytes } = this.#source!
    const kind = entries[at + 1]!
    const isNull = kind === NULL
    if (type === ARRAY_STRING) {
      // Elements that are no strings among strings keep their JSON text.
      const textKind = kind === ESCAPED ? ESCAPED : STRING
      if (isNull) writer.bytes[writer.length++] = 0
      else writeString(writer, bytes, entries[at + 2]!, entries[at + 3]!, textKind)
    } else if (type === ARRAY_BOOL) {
      writer.bytes[writer.length++] = kind === TRUE ? 1 : 0
    } else if (isNull) {
      writer.uint64(0)
    } else if (type === ARRAY_FLOAT64) {
      writeFloat(writer, bytes, entries[at + 2]!, entries[at + 3]!)
    } else {
      writeInteger(writer, bytes, entries[at + 2]!, entries[at + 3]!)
    }
  }
}

function nextElement(entries: Int32Array, at: number): number {
  const type = entries[at + 1]!
  return type === ARRAY || type === ELEMENT ? entries[at + 7]! : at + ENTRY
}

function bitCount(mask: number): number {
  let count = 0
  for (let rest = mask; rest !== 0; rest &= rest - 1) count++
  return count
}

