/**
 * The columns that a worker has seen: dotted paths, each inside a scope, numbered from 0. Names lie
 * one after another in one buffer and are found through a table of integers: a client that sends
 * nothing but new keys causes no objects, and so nothing that has to be collected.
 */
import { hashBytes } from './hash-bytes.ts'

export const NO_COLUMN = -1
const DOT = 0x2e
const COLUMNS_FIRST = 1_024
const NAME_BYTES_FIRST = 16_384

export class ColumnNames {
  count = 0
  /** Rises when all are forgotten: the same numbers mean others then. */
  generation = 0
  readonly #seed: number
  #scope = new Int32Array(0)
  #start = new Int32Array(0)
  #length = new Int32Array(0)
  #names: Uint8Array = new Uint8Array(0)
  /** Where the next name begins. */
  #end = 0
  /** Column + 1, at most half full. */
  #table = new Int32Array(0)

  /** `seed` is as that of the trie. */
  constructor(seed: number) {
    this.#seed = seed
  }

  /** Bytes of all buffers. */
  get bytes(): number {
    const integers = this.#scope.length * 3 + this.#table.length
    return integers * Int32Array.BYTES_PER_ELEMENT + this.#names.length
  }

  /** Forgets all; keeps the buffers where they are for at most `keepMax` columns. */
  reset(keepMax: number): void {
    const kept = this.#scope.length
    if (kept === 0 || kept > keepMax) this.#allocate(COLUMNS_FIRST)
    else this.#table.fill(0)
    if (kept === 0 || kept > keepMax) this.#names = new Uint8Array(NAME_BYTES_FIRST)
    this.count = 0
    this.generation++
    this.#end = 0
  }

  lengthOf(column: number): number {
    return this.#length[column]!
  }

  /** A view of the column's name, valid until a column is added. */
  nameOf(column: number): Uint8Array {
    const start = this.#start[column]!
    return this.#names.subarray(start, start + this.#length[column]!)
  }

  /** The column of a whole path; NO_COLUMN when it was not seen. */
  tryFind(scope: number, path: Uint8Array): number {
    const start = this.#end
    const end = this.#writeName(NO_COLUMN, path, 0, path.length)
    return this.#table[this.#slotOf(scope, start, end)]! - 1 // The slot is masked into the table.
  }

  isNamed(column: number, name: Uint8Array): boolean {
    return this.#length[column] === name.length && this.startsWith(column, name)
  }

  startsWith(column: number, prefix: Uint8Array): boolean {
    const { length } = prefix
    if (this.#length[column]! < length) return false
    const start = this.#start[column]!
    for (let i = 0; i < length; i++) if (this.#names[start + i] !== prefix[i]) return false
    return true
  }

  /**
   * The column of a key below `parent`, a column, or of a key that is a whole path when that is
   * NO_COLUMN.
   */
  find(scope: number, parent: number, bytes: Uint8Array, start: number, end: number): number {
    const nameStart = this.#end
    const nameEnd = this.#writeName(parent, bytes, start, end)
    const slot = this.#slotOf(scope, nameStart, nameEnd)
    const known = this.#table[slot]! // The slot is masked into the table.
    if (known !== 0) return known - 1
    const column = this.count++
    this.#scope[column] = scope
    this.#start[column] = nameStart
    this.#length[column] = nameEnd - nameStart
    this.#end = nameEnd
    this.#table[slot] = column + 1
    if (this.count === this.#scope.length) this.#grow()
    return column
  }

  /** Writes the name after the others; it is one of them only when `#end` moves over it. */
  #writeName(parent: number, bytes: Uint8Array, start: number, end: number): number {
    const parentLength = parent === NO_COLUMN ? 0 : this.#length[parent]! + 1
    let at = this.#end
    this.#reserve(parentLength + end - start)
    const names = this.#names
    if (parent !== NO_COLUMN) {
      const parentStart = this.#start[parent]!
      names.copyWithin(at, parentStart, parentStart + parentLength - 1)
      at += parentLength
      names[at - 1] = DOT
    }
    for (let i = start; i < end; i++) names[at++] = bytes[i]! // The caller's range is in `bytes`.
    return at
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#names.length) return
    const grown = new Uint8Array(Math.max(this.#names.length * 2, this.#end + bytes))
    grown.set(this.#names)
    this.#names = grown
  }

  /** The slot of the name, or the free one where it belongs. */
  #slotOf(scope: number, start: number, end: number): number {
    const mask = this.#table.length - 1
    const names = this.#names
    let slot = hashBytes(names, start, end, this.#seed ^ Math.imul(scope, 0x9e3779b1)) & mask
    for (;;) {
      const column = this.#table[slot]! - 1
      if (column < 0) return slot
      if (this.#scope[column] === scope && this.#length[column] === end - start) {
        let at = this.#start[column]!
        let i = start
        while (i < end && names[i] === names[at]) {
          i++
          at++
        }
        if (i === end) return slot
      }
      slot = (slot + 1) & mask
    }
  }

  #allocate(capacity: number): void {
    this.#scope = new Int32Array(capacity)
    this.#start = new Int32Array(capacity)
    this.#length = new Int32Array(capacity)
    this.#table = new Int32Array(capacity * 2)
  }

  #grow(): void {
    const [scope, start, length] = [this.#scope, this.#start, this.#length]
    this.#allocate(scope.length * 2)
    this.#scope.set(scope)
    this.#start.set(start)
    this.#length.set(length)
    for (let column = 0; column < this.count; column++) {
      const from = this.#start[column]!
      const slot = this.#slotOf(this.#scope[column]!, from, from + this.#length[column]!)
      this.#table[slot] = column + 1
    }
  }
}
