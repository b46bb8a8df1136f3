/** Every latency of a run, kept exactly: percentiles of buckets would be guesses. */

export interface Percentiles {
  readonly count: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

export class Latencies {
  #values = new Float64Array(4_096)
  #count = 0

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const grown = new Float64Array(this.#values.length * 2)
      grown.set(this.#values)
      this.#values = grown
    }
    this.#values[this.#count++] = value
  }

  /** Nearest rank; NaN when there are none. */
  percentiles(): Percentiles {
    const sorted = this.#values.slice(0, this.#count).sort()
    const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN
    return {
      count: this.#count,
      p50: at(0.5),
      p90: at(0.9),
      p99: at(0.99),
      p999: at(0.999),
      max: at(1),
    }
  }
}
