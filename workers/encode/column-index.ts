/**
 * Turns row order into column order: which cells each path of a block has. Two passes of counting
 * sort over the tape; no object and no list a path.
 */
import {
  BLOCK_CELLS_MAX,
  BLOCK_CELLS_MIN,
  BLOCK_CELLS_PER_BYTE,
  BLOCK_PATHS_MAX,
} from '../../src/limits.ts'
import type { PathTrie } from '../decode/path-trie.ts'
import { ARRAY, ELEMENT, ENTRY } from '../decode/tape-types.ts'
import { NO_TYPE, nativeTypeOf } from './native-types.ts'

/** A slot and a native type fit 16 bits: 1,024 paths by 16 types is 2^14. */
export const NO_CELL = -1

/** A run of tape entries that makes one row. */
export interface TapeRows {
  readonly count: number
  /** Row `i` is the entries from `start[first + i]` to `end[first + i]`. */
  readonly start: Int32Array
  readonly end: Int32Array
  readonly first: number
  /** Bytes of the rows' JSON. Bounds the discriminators that wide and sparse rows may cost. */
  readonly textBytes: number
}

export class ColumnIndex {
  /** Columns in use; they are numbered by `slot`. */
  slots = 0
  /** The trie's column of a slot. */
  column = new Int32Array(BLOCK_PATHS_MAX)
  /** First cell of a slot; its last is before `cellStart[slot + 1]`. */
  cellStart = new Int32Array(BLOCK_PATHS_MAX + 1)
  /** Bits of the native types that occur. */
  typeMask = new Int32Array(BLOCK_PATHS_MAX)
  /** Upper bound of the bytes of a slot's values as text. */
  textBytes = new Float64Array(BLOCK_PATHS_MAX)
  cellRow = new Int32Array(16_384)
  cellEntry = new Int32Array(16_384)
  /** Entries that found no column: too many paths. */
  skipped = 0
  #slotOf = new Int32Array(1_024)
  #lastRow = new Int32Array(BLOCK_PATHS_MAX)
  #fill = new Int32Array(BLOCK_PATHS_MAX)
  /** By entry: `slot << 4 | native type`, or NO_CELL. */
  marks = new Int16Array(16_384)

  /** Indexes `rows`. Cells are then at `cellStart[slot]`.. in row order. */
  build(entries: Int32Array, trie: PathTrie, rows: TapeRows, nestedAllowed: boolean): void {
    this.slots = 0
    this.skipped = 0
    if (this.marks.length < entries.length / ENTRY) {
      this.marks = new Int16Array(entries.length / ENTRY)
    }
    if (this.#slotOf.length < trie.columns.length) {
      this.#slotOf = new Int32Array(trie.columns.length * 2)
    }
    this.#count(entries, trie, rows, nestedAllowed)
    let cells = 0
    for (let slot = 0; slot < this.slots; slot++) {
      const count = this.cellStart[slot]!
      this.cellStart[slot] = cells
      this.#fill[slot] = cells
      this.#lastRow[slot] = -1
      cells += count
    }
    this.cellStart[this.slots] = cells
    if (cells > this.cellRow.length) {
      this.cellRow = new Int32Array(cells * 2)
      this.cellEntry = new Int32Array(cells * 2)
    }
    this.#place(entries, rows)
  }

  /** First pass: which columns there are and how many cells each has; marks each entry's place. */
  #count(entries: Int32Array, trie: PathTrie, rows: TapeRows, nestedAllowed: boolean): void {
    const cellsMax = Math.min(
      BLOCK_CELLS_MAX,
      Math.max(BLOCK_CELLS_MIN, BLOCK_CELLS_PER_BYTE * rows.textBytes),
    )
    const pathsMax = Math.min(BLOCK_PATHS_MAX, Math.max(1, Math.floor(cellsMax / rows.count)))
    const columnOf = trie.column
    const { typeMask, textBytes, cellStart } = this
    const slotOf = this.#slotOf
    const lastRow = this.#lastRow
    const marks = this.marks
    for (let row = 0; row < rows.count; row++) {
      const end = rows.end[rows.first + row]!
      for (let at = rows.start[rows.first + row]!; at < end; ) {
        const type = entries[at + 1]!
        const entry = at
        at = type === ARRAY || type === ELEMENT ? entries[at + 7]! : at + ENTRY
        const native = nativeTypeOf(entries, entry, nestedAllowed)
        const column = columnOf[entries[entry]!]!
        marks[entry >> 2] = NO_CELL
        if (native === NO_TYPE || column < 0) continue
        let slot = slotOf[column]!
        if (slot >= this.slots || this.column[slot] !== column) {
          if (this.slots >= pathsMax) {
            this.skipped++
            continue
          }
          slot = this.#open(column)
        }
        marks[entry >> 2] = (slot << 4) | native
        typeMask[slot]! |= 1 << native
        textBytes[slot]! += entries[entry + 3]! - entries[entry + 2]!
        // The same path twice in one row (a dotted key beside a nested one) is one cell.
        if (lastRow[slot] !== row) {
          lastRow[slot] = row
          cellStart[slot]!++
        }
      }
    }
  }

  #open(column: number): number {
    const slot = this.slots++
    this.#slotOf[column] = slot
    this.column[slot] = column
    this.cellStart[slot] = 0
    this.typeMask[slot] = 0
    this.textBytes[slot] = 0
    this.#lastRow[slot] = -1
    return slot
  }

  /** Second pass: puts each entry where its column's cells are. */
  #place(entries: Int32Array, rows: TapeRows): void {
    const { cellRow, cellEntry } = this
    const lastRow = this.#lastRow
    const fill = this.#fill
    const marks = this.marks
    for (let row = 0; row < rows.count; row++) {
      const end = rows.end[rows.first + row]!
      for (let at = rows.start[rows.first + row]!; at < end; ) {
        const type = entries[at + 1]!
        const entry = at
        at = type === ARRAY || type === ELEMENT ? entries[at + 7]! : at + ENTRY
        const mark = marks[entry >> 2]!
        if (mark === NO_CELL) continue
        const slot = mark >> 4
        let cell = fill[slot]!
        if (lastRow[slot] === row) cell--
        else {
          lastRow[slot] = row
          fill[slot] = cell + 1
        }
        cellRow[cell] = row
        cellEntry[cell] = entry
      }
    }
  }

  /** Native type of a cell's entry. */
  nativeType(entry: number): number {
    return this.marks[entry >> 2]! & 15
  }
}
