/**
 * Where the texts of events are: strings of text fields, the first being the one whose name comes
 * first in the stream's setting; of equally good ones the least deep, then the one that comes first
 * in the event. A path's value is the last that the event has for it, just as in the payload's
 * column. Found once per layout.
 */
import { isFieldPath } from '../../src/model/field-path.ts'
import { TextNames } from '../../src/model/text-fields.ts'
import { arena } from '../kernel/arena.ts'
import { type ColumnNames, NO_COLUMN } from '../tape/column-names.ts'
import type { PathTrie } from '../tape/path-trie.ts'
import { DEAD, ESCAPED, NULL, nextEntry, OBJECT, STRING } from '../tape/tape-types.ts'
import { NO_LAYOUT } from './event-layouts.ts'

/** Of a column whose name was not read yet, and of one that is no text field. */
const UNREAD = 0
const IS_OTHER = 1
/** The first order of a text field. */
const FIRST_ORDER = 2
const DEPTH_MAX = 1_000
const FIRST_LENGTH = 256

interface FoundText {
  readonly column: number
  readonly order: number
  offset: number
  isString: boolean
}

export class TextPlaces {
  /** By layout: where its list begins, 0 when none was made. */
  listOf = arena.int32(FIRST_LENGTH)
  /** Lists, from 1 on: how many texts; then each one's offset from the event's first entry. */
  lists = arena.int32(FIRST_LENGTH)
  /** Of the event that was found last: which of `lists` are its texts. */
  from = 0
  to = 0
  readonly #names: TextNames
  #columns: ColumnNames | undefined
  #generation = -1
  /** By column: UNREAD, IS_OTHER, or its order among text fields. */
  #orders = new Int32Array(FIRST_LENGTH)
  #layoutResets = -1
  #end = 1

  /** `textFields`: the stream's setting. */
  constructor(textFields: readonly string[]) {
    this.#names = new TextNames(textFields)
  }

  /** Gives back what it has of the arena. */
  dispose(): void {
    arena.release(this.listOf)
    arena.release(this.lists)
  }

  /** Before events of another batch. Layouts are always of the same `EventLayouts`. */
  begin({ columns }: PathTrie, { layoutResets }: { readonly layoutResets: number }): void {
    if (columns !== this.#columns || columns.generation !== this.#generation) {
      this.#columns = columns
      this.#generation = columns.generation
      this.#orders.fill(UNREAD)
    }
    if (layoutResets === this.#layoutResets) return
    this.#layoutResets = layoutResets
    this.listOf.fill(0)
    this.#end = 1
  }

  offsetAt(index: number): number {
    return this.lists[index]!
  }

  /** Finds the texts of the event whose entries are from `start` to `end`. */
  find(entries: Int32Array, trie: PathTrie, layout: number, start: number, end: number): void {
    if (layout === NO_LAYOUT) {
      // Behind the lists, of which it does not become one.
      const kept = this.#end
      this.#take(this.#write(entries, trie, start, end))
      this.#end = kept
      return
    }
    while (layout >= this.listOf.length) this.listOf = arena.doubled(this.listOf)
    if (this.listOf[layout] === 0) this.listOf[layout] = this.#write(entries, trie, start, end)
    this.#take(this.listOf[layout]!)
  }

  #take(list: number): void {
    this.from = list + 1
    this.to = this.from + this.lists[list]!
  }

  /** Writes the list of an event's texts; returns where it begins. */
  #write(entries: Int32Array, trie: PathTrie, start: number, end: number): number {
    const found: FoundText[] = []
    for (let at = start; at < end; at = nextEntry(entries, at)) {
      const column = trie.column[entries[at]!]!
      const order = column === NO_COLUMN ? IS_OTHER : this.#orderOf(column)
      const type = entries[at + 1]!
      if (order === IS_OTHER || type === NULL || type === OBJECT || type === DEAD) continue
      const isString = type === STRING || type === ESCAPED
      const before = found.find((other) => other.column === column)
      if (before === undefined) found.push({ column, order, offset: at - start, isString })
      else Object.assign(before, { offset: at - start, isString })
    }
    const texts = found.filter(({ isString }) => isString).sort((a, b) => a.order - b.order)
    const list = this.#end
    while (list + 1 + texts.length > this.lists.length) this.lists = arena.doubled(this.lists)
    this.lists.set([texts.length, ...texts.map(({ offset }) => offset)], list)
    this.#end = list + 1 + texts.length
    return list
  }

  #orderOf(column: number): number {
    if (column >= this.#orders.length) {
      const grown = new Int32Array(2 * column)
      grown.set(this.#orders)
      this.#orders = grown
    }
    if (this.#orders[column] === UNREAD) {
      const name = Buffer.from(this.#columns!.nameOf(column)).toString()
      const rank = this.#names.rankOf(name)
      const depth = Math.min(name.split('.').length, DEPTH_MAX - 1)
      const isText = rank !== undefined && isFieldPath(name)
      this.#orders[column] = isText ? FIRST_ORDER + rank * DEPTH_MAX + depth : IS_OTHER
    }
    return this.#orders[column]!
  }
}
