/** Slices of a second: in each some events pass, so that they are spread over the second. */
const SLICES = 4
const SLICE_MS = 1_000 / SLICES

/** Lets `perSecond` events a second pass, a quarter of them in each quarter of a second. */
export class Sampler {
  readonly #perSlice: number
  #slice = Number.NEGATIVE_INFINITY
  #left = 0

  constructor(perSecond: number) {
    this.#perSlice = perSecond / SLICES
  }

  /** Whether the next event passes. `nowMs`: monotonic. */
  passes(nowMs: number): boolean {
    const slice = Math.floor(nowMs / SLICE_MS)
    if (slice !== this.#slice) {
      // A fraction is kept, so that one event a second passes at all; unused whole events are not.
      const kept = this.#left < 1 ? this.#left : 0
      const slices = Math.min(SLICES, slice - this.#slice)
      this.#left = kept + Math.min(this.#perSlice * slices, Math.max(1, this.#perSlice))
      this.#slice = slice
    }
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}
