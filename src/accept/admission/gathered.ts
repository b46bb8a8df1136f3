/**
 * Counters that are gathered in memory and written some time later, together: a client that is
 * refused a thousand times a second must not cause a thousand database writes. What cannot be
 * written is kept for later; the maker of the keys bounds how many there are.
 */

interface GatheredOptions<T> {
  /** Adds the counters to the store; rejects when it is away. */
  readonly record: (counters: readonly T[]) => Promise<void>
  /** Adds the second one to the first. */
  readonly merge: (into: T, more: T) => void
  /** How long counters are gathered, by how many were written the last time. */
  readonly flushMs: (written: number) => number
}

export class Gathered<K, T> {
  readonly #options: GatheredOptions<T>
  #counters = new Map<K, T>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()
  #written = 0

  constructor(options: GatheredOptions<T>) {
    this.#options = options
  }

  get size(): number {
    return this.#counters.size
  }

  /** A counter that the caller may raise. */
  get(key: K): T | undefined {
    return this.#counters.get(key)
  }

  /** A new counter. */
  set(key: K, counter: T): void {
    this.#counters.set(key, counter)
    this.#schedule()
  }

  /** Writes what was gathered; keeps it for later when the store is away. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flushing = this.#flushing.then(async () => {
      if (this.#counters.size === 0) return
      const counters = this.#counters
      this.#counters = new Map()
      this.#written = counters.size
      try {
        await this.#options.record([...counters.values()])
      } catch {
        for (const [key, counter] of counters) {
          const known = this.#counters.get(key)
          if (known === undefined) this.#counters.set(key, counter)
          else this.#options.merge(known, counter)
        }
        this.#schedule()
      }
    })
    return this.#flushing
  }

  /** Writes the last counters. */
  async stop(): Promise<void> {
    await this.flush()
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    const ms = () => this.#options.flushMs(this.#written)
    this.#timer ??= setTimeout(() => this.flush(), ms()).unref()
  }
}
