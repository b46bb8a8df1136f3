/**
 * Turns row order into column order: which cells each path of a block has. Two passes of counting
 * sort, without an object or a list per path. Rows of one layout (`EventLayouts`) have their cells
 * at the same positions, which are found once. Other rows are read entry by entry.
 */
import { BLOCK_CELLS_MAX, BLOCK_PATHS_MAX } from '../../src/limits.ts'
import { NO_LAYOUT } from '../facts/event-layouts.ts'
import { arena } from '../kernel/arena.ts'
import { kernels } from '../kernel/kernels.ts'
import type { PathTrie } from '../tape/path-trie.ts'
import { ENTRY, nextEntry } from '../tape/tape-types.ts'
import { LayoutNumbers } from './layout-numbers.ts'
import { NO_TYPE, nativeTypeOf } from './native-types.ts'

/** Cells that any JSON column may have, and how many more for each byte of its rows' text. */
export const BLOCK_CELLS_MIN = 64 * 1024
export const BLOCK_CELLS_PER_BYTE = 8

const NO_CELL = -1
/** With fewer rows nothing can be said of how rare a path is. */
const RARE_ROWS_MIN = 64
/** The row was read entry by entry. */
export const NO_TEMPLATE_ROW = -1

/** A run of tape entries that makes one row. */
export interface TapeRows {
  readonly count: number
  /**
   * Row `i` is the entries from `start[first + i]` to `end[first + i]`. Where rows have layouts,
   * `start` is an array of the arena.
   */
  readonly start: Int32Array
  readonly end: Int32Array
  readonly first: number
  /** Bytes of the rows' JSON. Bounds the discriminators that wide and sparse rows may cost. */
  readonly textBytes: number
  /** Layout of row `i` at `first + i`; undefined where none has one. */
  readonly layout: Int32Array | undefined
}

/** The cells of all rows of one layout. */
export interface RowLayout {
  /** Its cells are `count` pairs of `layoutCells`, from the pair `first` on. */
  readonly first: number
  readonly count: number
  /** One path came twice (a dotted key beside a nested one): one cell holds less than the row. */
  readonly isAmbiguous: boolean
  readonly skipped: number
  rows: number
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
  textBytes = arena.float64(BLOCK_PATHS_MAX)
  cellRow = arena.int32(1_024)
  cellEntry = arena.int32(1_024)
  /** Entries that found no column: too many paths. */
  skipped = 0
  /** The layouts that occur, and by row which of them it has, or NO_TEMPLATE_ROW. */
  layouts: RowLayout[] = []
  layoutOf = arena.int32(256)
  /**
   * The layouts' cells: pairs of a slot and an entry, counted from the row's first, in the entries'
   * order.
   */
  layoutCells = arena.int32(256)
  #layoutCellCount = 0
  /** The layouts as kernels read them; see `kernels/layouts.ts`. */
  #layoutTable = arena.int32(32)
  readonly #context = arena.addresses(3)
  #slotOf = new Int32Array(1_024)
  #lastRow = new Int32Array(BLOCK_PATHS_MAX)
  readonly #fill = arena.int32(BLOCK_PATHS_MAX)
  /** Places in `layouts`. */
  readonly #numbers = new LayoutNumbers()
  /** More paths than there may be. */
  #isFull = false
  /** 1 for the columns that are left out for being rare. */
  #isRare: Uint8Array | undefined
  /** Slot by entry, or NO_CELL; of rows without a layout. */
  #marks = new Int16Array(0)

  /** Indexes `rows`. Cells are then at `cellStart[slot]`.. in row order. */
  build(entries: Int32Array, trie: PathTrie, rows: TapeRows, nestedAllowed: boolean): void {
    this.#isRare = undefined
    this.layoutOf = arena.roomFor(rows.count, this.layoutOf)
    if (this.#slotOf.length < trie.columns.count) {
      this.#slotOf = new Int32Array(trie.columns.count * 2)
    }
    this.#count(entries, trie, rows, nestedAllowed)
    if (this.#isFull && rows.count >= RARE_ROWS_MIN) {
      this.#isRare = findRare(entries, trie, rows)
      this.#count(entries, trie, rows, nestedAllowed)
    }
    this.#countLayouts()
    let cells = 0
    for (let slot = 0; slot < this.slots; slot++) {
      const count = this.cellStart[slot]!
      this.cellStart[slot] = cells
      this.#fill[slot] = cells
      this.#lastRow[slot] = -1
      cells += count
    }
    this.cellStart[this.slots] = cells
    this.cellRow = arena.roomFor(cells, this.cellRow)
    this.cellEntry = arena.roomFor(cells, this.cellEntry)
    this.#place(entries, rows)
  }

  /** First pass: which columns there are and how many cells each has. */
  #count(entries: Int32Array, trie: PathTrie, rows: TapeRows, nestedAllowed: boolean): void {
    this.slots = 0
    this.skipped = 0
    this.layouts = []
    this.#numbers.begin()
    this.#layoutCellCount = 0
    this.#isFull = false
    const cellsMax = Math.min(
      BLOCK_CELLS_MAX,
      Math.max(BLOCK_CELLS_MIN, BLOCK_CELLS_PER_BYTE * rows.textBytes),
    )
    const pathsMax = Math.min(BLOCK_PATHS_MAX, Math.max(1, Math.floor(cellsMax / rows.count)))
    const reader = { entries, trie, pathsMax, nestedAllowed }
    for (let row = 0; row < rows.count; row++) {
      const layout = rows.layout?.[rows.first + row] ?? NO_LAYOUT
      const start = rows.start[rows.first + row]!
      const end = rows.end[rows.first + row]!
      if (layout === NO_LAYOUT) {
        this.layoutOf[row] = NO_TEMPLATE_ROW
        this.#countRow(reader, row, start, end)
        continue
      }
      const number = this.#numbers.of(layout)
      if (number === this.layouts.length) {
        this.layouts.push(this.#readLayout(reader, row, start, end))
      }
      this.layoutOf[row] = number
      this.layouts[number]!.rows++
    }
  }

  /** Marks each entry of a row with its slot, and counts its cells. */
  #countRow(reader: EntryReader, row: number, start: number, end: number): void {
    const { entries } = reader
    if (this.#marks.length < entries.length / ENTRY) {
      const marks = new Int16Array(entries.length / ENTRY)
      marks.set(this.#marks)
      this.#marks = marks
    }
    for (let at = start; at < end; at = nextEntry(entries, at)) {
      const slot = this.#slotAt(reader, at)
      this.#marks[at >> 2] = slot
      if (slot === NO_CELL) continue
      this.textBytes[slot]! += entries[at + 3]! - entries[at + 2]!
      // The same path twice in one row (a dotted key beside a nested one) is one cell.
      if (this.#lastRow[slot] === row) continue
      this.#lastRow[slot] = row
      this.cellStart[slot]!++
    }
  }

  /** Finds the cells of a layout in the first row that has it. */
  #readLayout(reader: EntryReader, row: number, start: number, end: number): RowLayout {
    const { entries } = reader
    const first = this.#layoutCellCount
    let count = 0
    let isAmbiguous = false
    const skippedBefore = this.skipped
    while (2 * first + (end - start) > this.layoutCells.length) {
      this.layoutCells = arena.doubled(this.layoutCells)
    }
    const cells = this.layoutCells
    for (let at = start; at < end; at = nextEntry(entries, at)) {
      const slot = this.#slotAt(reader, at)
      if (slot === NO_CELL) continue
      let cell = first + count
      if (this.#lastRow[slot] === row) {
        isAmbiguous = true
        cell = first
        while (cells[2 * cell] !== slot) cell++ // The last one counts.
      } else {
        this.#lastRow[slot] = row
        count++
      }
      cells[2 * cell] = slot
      cells[2 * cell + 1] = at - start
    }
    this.#layoutCellCount = first + count
    const skipped = this.skipped - skippedBefore
    this.skipped = skippedBefore
    return { first, count, isAmbiguous, skipped, rows: 0 }
  }

  /** The slot of the entry at `at`, opened if it is new; NO_CELL when it is not stored. */
  #slotAt({ entries, trie, pathsMax, nestedAllowed }: EntryReader, at: number): number {
    const native = nativeTypeOf(entries, at, nestedAllowed)
    const column = trie.column[entries[at]!]!
    if (native === NO_TYPE || column < 0) return NO_CELL
    let slot = this.slotOf(column)
    if (slot === NO_CELL) {
      const isFull = this.slots >= pathsMax
      this.#isFull ||= isFull
      if (isFull || this.#isRare?.[column] === 1) {
        this.skipped++
        return NO_CELL
      }
      slot = this.#open(column)
    }
    this.typeMask[slot]! |= 1 << native
    return slot
  }

  /** The slot of a column; -1 for one that is not in use. */
  slotOf(column: number): number {
    const slot = this.#slotOf[column]!
    return slot < this.slots && this.column[slot] === column ? slot : NO_CELL
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

  /** Counts the cells of all layouts, and writes where they are for kernels. */
  #countLayouts(): void {
    const { layouts, layoutCells } = this
    this.#layoutTable = arena.roomFor(layouts.length * 2, this.#layoutTable)
    for (const [number, { first, count, rows, skipped }] of layouts.entries()) {
      this.skipped += rows * skipped
      for (let cell = first; cell < first + count; cell++) {
        this.cellStart[layoutCells[2 * cell]!]! += rows
      }
      this.#layoutTable[2 * number] = first
      this.#layoutTable[2 * number + 1] = count
    }
  }

  /** The layouts' context for kernels: see `Layouts` of `kernels/layouts.ts`. */
  context(): number {
    const arrays = [this.layoutOf, this.#layoutTable, this.layoutCells]
    this.#context.set(arrays.map((array) => array.byteOffset))
    return this.#context.byteOffset
  }

  /** Second pass: puts each entry where its column's cells are. */
  #place(entries: Int32Array, rows: TapeRows): void {
    const { count, first, start, end } = rows
    const context = this.context()
    for (let row = 0; row < count; ) {
      if (this.layoutOf[row] === NO_TEMPLATE_ROW) {
        this.#placeRow(entries, row, start[first + row]!, end[first + row]!)
        row++
        continue
      }
      row = kernels.placeRows(
        context,
        row,
        count,
        start.byteOffset + first * Int32Array.BYTES_PER_ELEMENT,
        entries.byteOffset,
        this.#fill.byteOffset,
        this.cellRow.byteOffset,
        this.cellEntry.byteOffset,
        this.textBytes.byteOffset,
      )
    }
  }

  #placeRow(entries: Int32Array, row: number, start: number, end: number): void {
    for (let at = start; at < end; at = nextEntry(entries, at)) {
      const slot = this.#marks[at >> 2]!
      if (slot === NO_CELL) continue
      let cell = this.#fill[slot]!
      if (this.#lastRow[slot] === row) cell--
      else {
        this.#lastRow[slot] = row
        this.#fill[slot] = cell + 1
      }
      this.cellRow[cell] = row
      this.cellEntry[cell] = at
    }
  }
}

/**
 * Columns with fewer than two cells. When there are more paths than may reach the projection, these
 * are left out first: keys that never recur are the usual cause of so many paths, and each would
 * cost ClickHouse as much as a column that every event has.
 */
function findRare(entries: Int32Array, trie: PathTrie, rows: TapeRows): Uint8Array {
  const isRare = new Uint8Array(trie.columns.count).fill(1)
  const isSeen = new Uint8Array(trie.columns.count)
  for (let i = rows.first; i < rows.first + rows.count; i++) {
    const end = rows.end[i]!
    for (let at = rows.start[i]!; at < end; at = nextEntry(entries, at)) {
      const column = trie.column[entries[at]!]!
      if (column < 0) continue
      if (isSeen[column] === 1) isRare[column] = 0
      isSeen[column] = 1
    }
  }
  return isRare
}

interface EntryReader {
  readonly entries: Int32Array
  readonly trie: PathTrie
  readonly pathsMax: number
  readonly nestedAllowed: boolean
}
