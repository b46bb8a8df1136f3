/**
 * Turns row order into column order: which cells each path of a block has. Two passes of counting
 * sort over the tape; no object and no list a path.
 */
import { BLOCK_CELLS_MAX, BLOCK_PATHS_MAX } from '../../src/limits.ts'
import { ARRAY, DEAD, ELEMENT, ENTRY } from '../decode/json-tape.ts'
import type { PathTrie } from '../decode/path-trie.ts'
import { NO_TYPE, nativeTypeOf } from './native-types.ts'

/** A run of tape entries that makes one row. */
export interface TapeRows {
  readonly count: number
  /** Row `i` is the entries from `start[first + i]` to `end[first + i]`. */
  readonly start: Int32Array
  readonly end: Int32Array
  readonly first: number
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

  /** Indexes `rows`. Cells are then at `cellStart[slot]`.. in row order. */
  build(entries: Int32Array, trie: PathTrie, rows: TapeRows, nestedAllowed: boolean): void {
    this.slots = 0
    this.skipped = 0
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
    this.#place(entries, trie, rows, nestedAllowed)
  }

  /** The slot of a column, or -1 when it has none in this block. */
  #slot(column: number): number {
    const slot = this.#slotOf[column]!
    return slot < this.slots && this.column[slot] === column ? slot : -1
  }

  #count(entries: Int32Array, trie: PathTrie, rows: TapeRows, nestedAllowed: boolean): void {
    const pathsMax = Math.min(BLOCK_PATHS_MAX, Math.max(1, Math.floor(BLOCK_CELLS_MAX / rows.count)))
    const columnOf = trie.column
    for (let row = 0; row < rows.count; row++) {
      const end = rows.end[rows.first + row]!
      for (let at = rows.start[rows.first + row]!; at < end; ) {
        const type = entries[at + 1]!
        const entry = at
        at = type === ARRAY || type === ELEMENT ? entries[at + 7]! : at + ENTRY
        const native = nativeTypeOf(entries, entry, nestedAllowed)
        const column = columnOf[entries[entry]!]!
        if (native === NO_TYPE || column < 0) continue
        let slot = this.#slot(column)
        if (slot < 0) {
          if (this.slots >= pathsMax) {
            this.skipped++
            continue
          }
          slot = this.#open(column)
        }
        this.typeMask[slot]! |= 1 << native
        this.textBytes[slot]! += entries[entry + 3]! - entries[entry + 2]!
        // The same path twice in one row (a dotted key beside a nested one) is one cell.
        if (this.#lastRow[slot] !== row) {
          this.#lastRow[slot] = row
          this.cellStart[slot]!++
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

  #place(entries: Int32Array, trie: PathTrie, rows: TapeRows, nestedAllowed: boolean): void {
    const columnOf = trie.column
    const { cellRow, cellEntry } = this
    for (let row = 0; row < rows.count; row++) {
      const end = rows.end[rows.first + row]!
      for (let at = rows.start[rows.first + row]!; at < end; ) {
        const type = entries[at + 1]!
        const entry = at
        at = type === ARRAY || type === ELEMENT ? entries[at + 7]! : at + ENTRY
        if (type === DEAD) continue
        const column = columnOf[entries[entry]!]!
        const slot = column < 0 ? -1 : this.#slot(column)
        if (slot < 0 || nativeTypeOf(entries, entry, nestedAllowed) === NO_TYPE) continue
        let cell = this.#fill[slot]!
        if (this.#lastRow[slot] === row) cell--
        else {
          this.#lastRow[slot] = row
          this.#fill[slot] = cell + 1
        }
        cellRow[cell] = row
        cellEntry[cell] = entry
      }
    }
  }
}
