/** Seeded pseudo-random numbers, so that a corpus is the same on every machine and every run. */

/** sfc32: fast, passes PractRand, and 15 lines. Not for secrets. */
export class Random {
  #a = 0x9e3779b9
  #b = 0x243f6a88
  #c = 0xb7e15162
  #d: number

  constructor(seed: number) {
    this.#d = seed | 0
    for (let i = 0; i < 16; i++) this.uint32()
  }

  uint32(): number {
    const sum = (this.#a + this.#b + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    return sum >>> 0
  }

  /** In `[0, 1)`. */
  unit(): number {
    return this.uint32() / 0x1_0000_0000
  }

  /** An integer in `[0, end)`. */
  below(end: number): number {
    return Math.floor(this.unit() * end)
  }

  chance(probability: number): boolean {
    return this.unit() < probability
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }

  /** Early items far more often than late ones, as hosts, routes and clients really are. */
  pickSkewed<T>(items: readonly T[]): T {
    const unit = this.unit()
    return items[Math.floor(unit * unit * items.length)]!
  }

  /** Log-normal with the given median: many small values and a long tail, as latencies are. */
  skewed(median: number, sigma: number): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.unit()))
    return median * Math.exp(sigma * radius * Math.cos(2 * Math.PI * this.unit()))
  }

  hex(digits: number): string {
    let text = ''
    while (text.length < digits) text += this.uint32().toString(16).padStart(8, '0')
    return text.slice(0, digits)
  }
}
