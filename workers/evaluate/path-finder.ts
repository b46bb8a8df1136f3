/**
 * Where the paths that a query names are in events. Whatever follows from the layout is found once
 * per layout (docs/decisions/0016-event-layouts.md): the entry of each path, from the event's
 * first.
 *
 * A path has the last entry with a value that the event has for it, whichever way its keys are
 * spelled, just as in the projection.
 */

import { NESTED_COLUMNS_DEPTH_MAX } from '../../src/limits.ts'
import { NO_TYPE, nativeTypeOf } from '../block/native-types.ts'
import { NO_LAYOUT } from '../facts/event-layouts.ts'
import { type ColumnNames, NO_COLUMN } from '../tape/column-names.ts'
import { nextEntry } from '../tape/tape-types.ts'
import type { EventCursor } from './event-cursor.ts'

export const NO_ENTRY = -1
const EVENT_SCOPE = 0
const LAYOUTS_FIRST = 256
/** The layout was not seen yet. */
const UNKNOWN = 0

export class PathFinder {
  readonly #paths: readonly Buffer[]
  /** Which path a column of the event is, of the columns that were looked through last. */
  readonly #pathOf = new Map<number, number>()
  #columns: ColumnNames | undefined
  #generation = -1
  #columnCount = -1
  /** By layout: where its offsets begin, less one row; UNKNOWN for others. */
  #rowOf = new Int32Array(LAYOUTS_FIRST)
  /** Rows of offsets by path, NO_ENTRY where the layout has no such path. The first is unused. */
  #offsets: Int32Array
  #rows = 1
  #layoutResets = -1
  /** Of the event without a layout that was looked through last. */
  readonly #found: Int32Array
  #foundEvent = NO_ENTRY

  /** Paths of the event, dotted. */
  constructor(paths: readonly string[]) {
    this.#paths = paths.map((path) => Buffer.from(path))
    this.#offsets = new Int32Array(Math.max(1, paths.length) * 4)
    this.#found = new Int32Array(paths.length)
  }

  /** Before the events of a batch. */
  begin({ trie, facts }: EventCursor): void {
    this.#foundEvent = NO_ENTRY
    this.#findColumns(trie.columns)
    if (facts.layoutResets === this.#layoutResets) return
    this.#layoutResets = facts.layoutResets
    this.#rowOf.fill(UNKNOWN)
    this.#rows = 1
  }

  #findColumns(columns: ColumnNames): void {
    const { count, generation } = columns
    const isSame = columns === this.#columns && generation === this.#generation
    // Columns are only added to a generation.
    if (isSame && (count === this.#columnCount || this.#pathOf.size === this.#paths.length)) return
    this.#columns = columns
    this.#generation = generation
    this.#columnCount = count
    this.#pathOf.clear()
    for (const [index, path] of this.#paths.entries()) {
      const column = columns.tryFind(EVENT_SCOPE, path)
      if (column !== NO_COLUMN) this.#pathOf.set(column, index)
    }
  }

  /** The entry of a path in the event, or NO_ENTRY. */
  find(event: EventCursor, path: number): number {
    const layout = event.facts.layout[event.event]!
    if (layout === NO_LAYOUT) return this.#findAlone(event, path)
    let row = layout < this.#rowOf.length ? this.#rowOf[layout]! : UNKNOWN
    if (row === UNKNOWN) row = this.#learn(event, layout)
    const offset = this.#offsets[row * this.#paths.length + path]!
    return offset === NO_ENTRY ? NO_ENTRY : event.start + offset
  }

  #findAlone(event: EventCursor, path: number): number {
    if (this.#foundEvent !== event.event) {
      this.#foundEvent = event.event
      this.#findAll(event, this.#found, 0)
    }
    const offset = this.#found[path]!
    return offset === NO_ENTRY ? NO_ENTRY : event.start + offset
  }

  #learn(event: EventCursor, layout: number): number {
    if (layout >= this.#rowOf.length) {
      const grown = new Int32Array(2 * layout)
      grown.set(this.#rowOf)
      this.#rowOf = grown
    }
    const row = this.#rows++
    const first = row * this.#paths.length
    if (first + this.#paths.length > this.#offsets.length) {
      const grown = new Int32Array(2 * (first + this.#paths.length))
      grown.set(this.#offsets)
      this.#offsets = grown
    }
    this.#findAll(event, this.#offsets, first)
    this.#rowOf[layout] = row
    return row
  }

  #findAll(event: EventCursor, offsets: Int32Array, first: number): void {
    const { entries, trie, start, end } = event
    offsets.fill(NO_ENTRY, first, first + this.#paths.length)
    for (let at = start; at < end; at = nextEntry(entries, at)) {
      const path = this.#pathOf.get(trie.column[entries[at]!]!)
      if (path === undefined || nativeTypeOf(entries, at, true) === NO_TYPE) continue
      offsets[first + path] = at - start
    }
  }
}

/** The same in an element of an array, whose entries are `from`..`to`. */
export function findInElement(
  { entries, trie }: EventCursor,
  from: number,
  to: number,
  path: Uint8Array,
): number {
  let found = NO_ENTRY
  for (let at = from; at < to; at = nextEntry(entries, at)) {
    const column = trie.column[entries[at]!]!
    if (column === NO_COLUMN || !trie.columns.isNamed(column, path)) continue
    if (nativeTypeOf(entries, at, true) !== NO_TYPE) found = at
  }
  return found
}

/** The type of an entry's column at that nesting of arrays; 0 is the event. */
export function columnTypeOf(entries: Int32Array, at: number, depth: number): number {
  return nativeTypeOf(entries, at, depth < NESTED_COLUMNS_DEPTH_MAX)
}
