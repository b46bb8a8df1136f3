/**
 * One JSON column in ClickHouse's Native format, flattened serialization (version 3): path names,
 * then each path's Dynamic prefix, then each path's discriminators and values by type.
 *
 *   UInt64 3, varuint paths, names · per path: UInt64 3, varuint types, names[, nested prefix]
 *   · per path: a discriminator byte per row, then each type's values, of the rows that have it
 *
 * Arrays of objects nest: their elements are the rows of an inner JSON column. The nested column's
 * prefix is part of the outer prefix and its data part of the outer data, so its rows are indexed
 * first, and the index is kept until the data is written.
 */
import { NESTED_COLUMNS_DEPTH_MAX } from '../../src/limits.ts'
import { PIECE_OFFSETS, PIECE_VALUES } from '../../src/model/batch/encoded-block.ts'
import { arena } from '../kernel/arena.ts'
import { type ByteWriter, WORD_SLACK } from '../kernel/byte-writer.ts'
import { kernels } from '../kernel/kernels.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import type { PathTrie } from '../tape/path-trie.ts'
import { ENTRY, NULL, nextEntry } from '../tape/tape-types.ts'
import { ColumnIndex, type TapeRows } from './column-index.ts'
import {
  ARRAY_BYTES_FACTOR,
  ARRAY_JSON,
  BOOL,
  ELEMENT_TYPES,
  FLOAT64,
  NATIVE_TYPES,
  nativeTypeName,
  nativeTypeOf,
  STRING_TYPE,
} from './native-types.ts'
import {
  type Cells,
  type ColumnText,
  type TextSource,
  writeBooleans,
  writeColumn,
  writeFloats,
  writeIntegers,
  writeStrings,
} from './native-values.ts'
import { PathOrder } from './path-order.ts'

const FLATTENED_VERSION = 3
/** Room a cell may need beyond its text: offsets, discriminator, length prefix. */
const CELL_BYTES = 24

/** What encoding reads: one batch's tape. */
export interface TapeSource extends TextSource {
  readonly trie: PathTrie
}

/** The values of a block's columns as text. */
export interface ColumnTexts {
  /** Of a slot of the block's index: all its cells' values. */
  of(slot: number): ColumnText
}

/** What a batch's tape and bytes are to the encoders. */
export function tapeSource(given: Uint8Array, tape: JsonTape): TapeSource {
  const bytes = tape.batch.hold(given)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { bytes, view, entries: tape.entries, trie: tape.trie }
}

export class JsonColumn {
  readonly #depth: number
  readonly #index = new ColumnIndex()
  /** Discriminator of each native type in the path being written. */
  readonly #discriminator = new Uint8Array(NATIVE_TYPES)
  readonly #order = new PathOrder()
  /** Nested columns by slot, for paths that hold arrays of objects. */
  readonly #nested = new Map<number, JsonColumn>()
  /** Nested columns that earlier blocks had. */
  readonly #spare: JsonColumn[] = []
  /** Cells of one type, where a slot has several; valid until the next ones are asked for. */
  #typeCells = arena.int32(0)
  #elements = arena.int32(0)
  #source: TapeSource | undefined
  #rowCount = 0

  constructor(depth: number) {
    this.#depth = depth
  }

  get #nestedAllowed(): boolean {
    return this.#depth < NESTED_COLUMNS_DEPTH_MAX
  }

  /** Where each path's cells are; valid after `prepare`, until the next. */
  get index(): ColumnIndex {
    return this.#index
  }

  /** Indexes the rows; returns how many entries found no column. */
  prepare(source: TapeSource, rows: TapeRows): number {
    this.#source = source
    this.#rowCount = rows.count
    const index = this.#index
    index.build(source.entries, source.trie, rows, this.#nestedAllowed)
    this.#spare.push(...this.#nested.values())
    this.#nested.clear()
    let skipped = index.skipped
    for (let slot = 0; slot < index.slots; slot++) {
      if ((index.typeMask[slot]! & (1 << ARRAY_JSON)) === 0) continue
      const nested = this.#spare.pop() ?? new JsonColumn(this.#depth + 1)
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
    const cells = this.#cellsOf(slot, ARRAY_JSON, false)
    for (let cell = cells.start; cell < cells.end; cell++) {
      const array = cells.entries[cell]!
      const end = entries[array + 7]!
      for (let at = array + 2 * ENTRY; at < end; at = entries[at + 7]!) {
        starts.push(at + 2 * ENTRY)
        ends.push(entries[at + 7]!)
      }
    }
    const start = Int32Array.from(starts)
    const textBytes = this.#index.textBytes[slot]!
    const end = Int32Array.from(ends)
    return { count: start.length, start, end, first: 0, textBytes, layout: undefined }
  }

  /** Writes the column's prefix, paths and types, nested ones included; before its data. */
  writePrefix(writer: ByteWriter): void {
    const { trie } = this.#source!
    const index = this.#index
    this.#order.arrange(index, trie.columns, this.#rowCount)
    writer.reserve(16)
    writer.uint64(FLATTENED_VERSION)
    writer.varuint(index.slots)
    const { slots } = this.#order
    for (let i = 0; i < index.slots; i++) {
      writer.string(trie.columns.nameOf(index.column[slots[i]!]!))
    }
    for (let i = 0; i < index.slots; i++) {
      const slot = slots[i]!
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

  /**
   * Writes the column's data, path by path; notes its pieces (`EncodedBlock.pieces`), and in
   * `pathPieces` the one that each path begins with. `texts`: the paths' values by slot, if they
   * were gathered.
   */
  writeData(
    writer: ByteWriter,
    pieces: number[],
    texts?: ColumnTexts,
    pathPieces?: number[],
  ): void {
    const index = this.#index
    const { slots } = this.#order
    for (let i = 0; i < index.slots; i++) {
      const slot = slots[i]!
      const mask = index.typeMask[slot]!
      const start = index.cellStart[slot]!
      const end = index.cellStart[slot + 1]!
      const hasArrays = (mask & ((1 << BOOL) - 1)) !== 0
      const textBytes = index.textBytes[slot]! * (hasArrays ? ARRAY_BYTES_FACTOR : 1)
      writer.reserve(this.#rowCount + (end - start) * CELL_BYTES + textBytes + WORD_SLACK)
      pathPieces?.push(pieces.length)
      this.#writeDiscriminators(writer, slot, mask)
      notePiece(pieces, writer, PIECE_VALUES)
      for (let type = 0; type < NATIVE_TYPES; type++) {
        if ((mask & (1 << type)) === 0) continue
        if (texts !== undefined && type >= BOOL && mask === 1 << type) {
          writeColumn(writer, texts.of(slot), end - start, type)
          notePiece(pieces, writer, PIECE_VALUES)
          continue
        }
        this.#writeType(writer, slot, type, mask === 1 << type, pieces)
        // A nested column has used up the room that was reserved above.
        if (type === ARRAY_JSON) writer.reserve((end - start) * CELL_BYTES + textBytes + WORD_SLACK)
      }
    }
  }

  #writeDiscriminators(writer: ByteWriter, slot: number, mask: number): void {
    const index = this.#index
    const start = index.cellStart[slot]!
    const end = index.cellStart[slot + 1]!
    const single = (mask & (mask - 1)) === 0
    const base = writer.length
    const { bytes } = writer
    if (single) {
      const isWhole = end - start === this.#rowCount
      bytes.fill(isWhole ? 0 : 1, base, base + this.#rowCount)
      const { byteOffset } = index.cellRow
      if (!isWhole) kernels.markRows(byteOffset, start, end, bytes.byteOffset + base)
    } else {
      let types = 0
      for (let type = 0; type < NATIVE_TYPES; type++) {
        if ((mask & (1 << type)) !== 0) this.#discriminator[type] = types++
      }
      bytes.fill(types, base, base + this.#rowCount)
      for (let cell = start; cell < end; cell++) {
        const native = this.#nativeType(index.cellEntry[cell]!)
        bytes[base + index.cellRow[cell]!] = this.#discriminator[native]!
      }
    }
    writer.length = base + this.#rowCount
  }

  #nativeType(entry: number): number {
    return nativeTypeOf(this.#source!.entries, entry, this.#nestedAllowed)
  }

  #writeType(
    writer: ByteWriter,
    slot: number,
    type: number,
    isOnlyType: boolean,
    pieces: number[],
  ): void {
    if (type === ARRAY_JSON) return this.#writeNested(writer, slot, pieces)
    const cells = this.#cellsOf(slot, type, isOnlyType)
    if (type < BOOL) this.#writeArrays(writer, cells, type, pieces)
    else writeScalars(writer, this.#source!, cells, type)
    notePiece(pieces, writer, PIECE_VALUES)
  }

  /** The slot's cells of one type. */
  #cellsOf(slot: number, type: number, isOnlyType: boolean): Cells {
    const index = this.#index
    const start = index.cellStart[slot]!
    const end = index.cellStart[slot + 1]!
    if (isOnlyType) return { entries: index.cellEntry, start, end }
    this.#typeCells = arena.roomFor(end - start, this.#typeCells)
    const entries = this.#typeCells
    let count = 0
    for (let cell = start; cell < end; cell++) {
      const entry = index.cellEntry[cell]!
      if (this.#nativeType(entry) === type) entries[count++] = entry
    }
    return { entries, start: 0, end: count }
  }

  #writeNested(writer: ByteWriter, slot: number, pieces: number[]): void {
    const { entries } = this.#source!
    const cells = this.#cellsOf(slot, ARRAY_JSON, false)
    let offset = 0
    for (let cell = cells.start; cell < cells.end; cell++) {
      offset += entries[cells.entries[cell]! + 6]!
      writer.uint64(offset)
    }
    notePiece(pieces, writer, PIECE_OFFSETS)
    this.#nested.get(slot)!.writeData(writer, pieces)
  }

  /** `Array(Nullable(T))`: offsets, then for all elements their null flags, then their values. */
  #writeArrays(writer: ByteWriter, cells: Cells, type: number, pieces: number[]): void {
    const source = this.#source!
    const { entries } = source
    let count = 0
    for (let cell = cells.start; cell < cells.end; cell++) {
      count += entries[cells.entries[cell]! + 6]!
      writer.uint64(count)
    }
    notePiece(pieces, writer, PIECE_OFFSETS)
    this.#elements = arena.roomFor(count, this.#elements)
    const elements = this.#elements
    let index = 0
    for (let cell = cells.start; cell < cells.end; cell++) {
      const array = cells.entries[cell]!
      const end = entries[array + 7]!
      for (let at = array + 2 * ENTRY; at < end; at = nextEntry(entries, at)) {
        elements[index++] = at
        writer.bytes[writer.length++] = entries[at + 1] === NULL ? 1 : 0
      }
    }
    notePiece(pieces, writer, PIECE_VALUES)
    const scalar = ELEMENT_TYPES[type]!
    // Runs without nulls go in one call; a null takes the place of an empty or zero value.
    for (let start = 0; start < count; ) {
      let end = start
      while (end < count && entries[elements[end]! + 1] !== NULL) end++
      writeScalars(writer, source, { entries: elements, start, end }, scalar)
      if (end < count) writeNull(writer, scalar)
      start = end + 1
    }
  }
}

function writeScalars(writer: ByteWriter, source: TextSource, cells: Cells, type: number): void {
  if (type === STRING_TYPE) writeStrings(writer, source, cells)
  else if (type === FLOAT64) writeFloats(writer, source, cells)
  else if (type === BOOL) writeBooleans(writer, source, cells)
  else writeIntegers(writer, source, cells)
}

function writeNull(writer: ByteWriter, type: number): void {
  if (type === STRING_TYPE || type === BOOL) writer.bytes[writer.length++] = 0
  else writer.uint64(0)
}

/** The piece of this kind ends here. */
export function notePiece(pieces: number[], writer: ByteWriter, kind: number): void {
  pieces.push(writer.length * 4 + kind)
}

function bitCount(mask: number): number {
  let count = 0
  for (let rest = mask; rest !== 0; rest &= rest - 1) count++
  return count
}
