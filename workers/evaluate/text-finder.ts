/**
 * Where the text fields of events are. Which of an event's entries they are follows from its layout
 * (docs/decisions/0016-event-layouts.md), so they are found once per layout.
 */
import { isFieldPath } from '../../src/model/field-path.ts'
import type { TextNames } from '../../src/model/text-fields.ts'
import { NO_TYPE, nativeTypeOf, STRING_TYPE } from '../block/native-types.ts'
import { NO_LAYOUT } from '../facts/event-layouts.ts'
import { type ColumnNames, NO_COLUMN } from '../tape/column-names.ts'
import { nextEntry } from '../tape/tape-types.ts'
import type { EventCursor } from './event-cursor.ts'

const LAYOUTS_FIRST = 256
/** Of a layout that was not seen yet. */
const UNKNOWN = 0
/** Of a column whose name was not read yet. */
const UNREAD = 0
const IS_TEXT = 1
const IS_OTHER = 2

export class TextFinder {
  readonly #names: TextNames
  #columns: ColumnNames | undefined
  #generation = -1
  /** By column. */
  #kinds = new Uint8Array(LAYOUTS_FIRST)
  #layoutResets = -1
  /** By layout: where its entries begin, or UNKNOWN. */
  #rowOf = new Int32Array(LAYOUTS_FIRST)
  /** Rows: twice the count, and one if a string is among them; then entries from the event's. */
  #rows = new Int32Array(4 * LAYOUTS_FIRST)
  #end = 1
  /** Of the event that was found last: entries of `rows` from `from` to `to`. */
  from = 0
  to = 0
  hasString = false

  constructor(names: TextNames) {
    this.#names = names
  }

  /** Precondition: `find` was called. */
  entryAt(index: number): number {
    return this.#rows[index]!
  }

  /** Before the events of a batch. */
  begin({ trie, facts }: EventCursor): void {
    const { columns } = trie
    if (columns !== this.#columns || columns.generation !== this.#generation) {
      this.#columns = columns
      this.#generation = columns.generation
      this.#kinds.fill(UNREAD)
    }
    if (facts.layoutResets === this.#layoutResets) return
    this.#layoutResets = facts.layoutResets
    this.#rowOf.fill(UNKNOWN)
    this.#end = 1
  }

  /** Whether the column is that of a text field, of the event or of an element. */
  isText(column: number): boolean {
    if (column >= this.#kinds.length) {
      const grown = new Uint8Array(2 * column)
      grown.set(this.#kinds)
      this.#kinds = grown
    }
    let kind = this.#kinds[column]!
    if (kind === UNREAD) {
      const name = Buffer.from(this.#columns!.nameOf(column)).toString()
      kind = this.#names.has(name) && isFieldPath(name) ? IS_TEXT : IS_OTHER
      this.#kinds[column] = kind
    }
    return kind === IS_TEXT
  }

  /** Finds the text fields of the event that the cursor is at. */
  find(event: EventCursor): void {
    const layout = event.facts.layout[event.event]!
    if (layout === NO_LAYOUT) {
      // Behind the rows, which it does not become one of.
      const end = this.#end
      this.#take(this.#write(event))
      this.#end = end
      return
    }
    if (layout >= this.#rowOf.length) {
      const grown = new Int32Array(2 * layout)
      grown.set(this.#rowOf)
      this.#rowOf = grown
    }
    if (this.#rowOf[layout] === UNKNOWN) this.#rowOf[layout] = this.#write(event)
    this.#take(this.#rowOf[layout]!)
  }

  #take(row: number): void {
    const head = this.#rows[row]!
    this.from = row + 1
    this.to = row + 1 + (head >> 1)
    this.hasString = (head & 1) === 1
  }

  /** Of several entries of one path the last with a value counts. */
  #write({ entries, trie, start, end }: EventCursor): number {
    const row = this.#end
    let count = 0
    let hasString = 0
    const columnOf = (at: number) => trie.column[entries[start + at]!]!
    for (let at = start; at < end; at = nextEntry(entries, at)) {
      const column = trie.column[entries[at]!]!
      if (column === NO_COLUMN || !this.isText(column)) continue
      if (nativeTypeOf(entries, at, true) === NO_TYPE) continue
      let place = 0
      while (place < count && columnOf(this.#rows[row + 1 + place]!) !== column) place++
      if (place === count) count++
      this.#put(row + 1 + place, at - start)
    }
    for (let place = 0; place < count; place++) {
      const at = start + this.#rows[row + 1 + place]!
      if (nativeTypeOf(entries, at, true) === STRING_TYPE) hasString = 1
    }
    this.#put(row, (count << 1) | hasString)
    this.#end = row + 1 + count
    return row
  }

  #put(index: number, value: number): void {
    if (index >= this.#rows.length) {
      const grown = new Int32Array(2 * index)
      grown.set(this.#rows)
      this.#rows = grown
    }
    this.#rows[index] = value
  }
}
