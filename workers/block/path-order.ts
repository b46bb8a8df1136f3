/**
 * The order of a block's paths: by name, so that blocks with the same paths begin with the same
 * bytes, whichever worker made them and whichever path came first. Such blocks can be joined
 * (`materialize/join-blocks.ts`).
 */
import type { ColumnNames } from '../tape/column-names.ts'
import type { ColumnIndex } from './column-index.ts'

/** So many are always sorted; more only where there are as many rows, which cost more than that. */
const PATHS_ALWAYS_SORTED = 64

export class PathOrder {
  /** Slots of the index, in order; as many as it has. */
  slots = new Int32Array(64)
  /** Columns of the block before, by name: most often they are this one's. */
  #sorted: number[] = []
  #generation = -1

  arrange(index: ColumnIndex, names: ColumnNames, rows: number): void {
    const count = index.slots
    if (this.slots.length < count) this.slots = new Int32Array(count * 2)
    if (count > PATHS_ALWAYS_SORTED && count > rows) {
      for (let slot = 0; slot < count; slot++) this.slots[slot] = slot
      return
    }
    if (!this.#isSame(index, names)) {
      const columns = Array.from(index.column.subarray(0, count))
      this.#sorted = columns.sort((a, b) => Buffer.compare(names.nameOf(a), names.nameOf(b)))
      this.#generation = names.generation
    }
    for (let i = 0; i < count; i++) this.slots[i] = index.slotOf(this.#sorted[i]!)
  }

  /** The sorted columns are just those of the index. */
  #isSame(index: ColumnIndex, names: ColumnNames): boolean {
    if (this.#sorted.length !== index.slots || this.#generation !== names.generation) return false
    return this.#sorted.every((column) => index.slotOf(column) >= 0)
  }
}
