/**
 * Counters for hot places: a plain number in a map, read by prom-client only when it is scraped.
 * prom-client's own `inc` builds and hashes a label object a call.
 */
import { Counter, type Registry } from 'prom-client'

export interface TallyOptions {
  readonly name: string
  readonly help: string
  readonly registry: Registry
}

/** A counter with one label from a closed set: all its values are exported from the start. */
export class Tally<Label extends string> {
  readonly #counts: Map<Label, number>

  constructor(options: TallyOptions & { label: string; values: readonly Label[] }) {
    const counts = new Map<Label, number>(options.values.map((value) => [value, 0]))
    this.#counts = counts
    new Counter({
      name: options.name,
      help: options.help,
      labelNames: [options.label],
      registers: [options.registry],
      collect() {
        this.reset()
        for (const [value, count] of counts) this.inc({ [options.label]: value }, count)
      },
    })
  }

  add(label: Label, count = 1): void {
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + count)
  }
}

/** Requests by surface and status; surfaces, and the statuses that they send, are named in code. */
export class StatusTally {
  readonly #bySurface = new Map<string, Map<number, number>>()

  constructor(options: TallyOptions) {
    const bySurface = this.#bySurface
    new Counter({
      name: options.name,
      help: options.help,
      labelNames: ['surface', 'status'],
      registers: [options.registry],
      collect() {
        this.reset()
        for (const [surface, counts] of bySurface) {
          for (const [status, count] of counts) this.inc({ surface, status }, count)
        }
      },
    })
  }

  add(surface: string, status: number): void {
    let counts = this.#bySurface.get(surface)
    if (counts === undefined) {
      counts = new Map()
      this.#bySurface.set(surface, counts)
    }
    counts.set(status, (counts.get(status) ?? 0) + 1)
  }
}
