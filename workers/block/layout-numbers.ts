import { LAYOUT_STATES_MAX } from '../../src/limits.ts'

/** Numbers the layouts (`EventLayouts`) that occur in a run of events, as they come. */
export class LayoutNumbers {
  /** By layout: its number, if the layout of that number says so too. */
  #numberOf = new Int32Array(0)
  #layouts: number[] = []

  /** Starts a run. */
  begin(): void {
    this.#layouts = []
  }

  /** The layout's number; the one after the last, from then on its own, when it is new. */
  of(layout: number): number {
    if (this.#numberOf.length === 0) this.#numberOf = new Int32Array(LAYOUT_STATES_MAX)
    const known = this.#numberOf[layout]!
    if (this.#layouts[known] === layout) return known
    const number = this.#layouts.push(layout) - 1
    this.#numberOf[layout] = number
    return number
  }
}
