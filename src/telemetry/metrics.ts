/**
 * Metrics of Sluice itself. Labels are from closed sets, but for the names of surfaces, which are
 * theirs. Whoever counts something makes its metric here, once, when it starts. Counters move once
 * a request, batch or commit, never once an event. What is watched is read when it is scraped, and
 * costs nothing else.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface BuildInfo {
  readonly version: string
  /** The HTTP engine and its version. */
  readonly engine: string
}

/** Each value with its labels. */
type Readings = Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>

/** From a tenth of a millisecond to over ten seconds. */
const SECONDS_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  30,
]

export class Metrics {
  /** Of its own, so that tests and several services in one process do not meet. */
  readonly #registry = new Registry()

  constructor(build: BuildInfo) {
    collectDefaultMetrics({ register: this.#registry })
    const labels = { ...build, node: process.versions.node }
    const info = ['ingest_build_info', 'Always 1; the labels say what runs'] as const
    this.watch('gauge', info, ['version', 'engine', 'node'], () => [[labels, 1]])
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** The text to answer a scrape with. */
  scrape(): Promise<string> {
    return this.#registry.metrics()
  }

  counter(name: string, help: string): Counter {
    return new Counter({ name, help, registers: [this.#registry] })
  }

  /** Of seconds, where nothing else is said. */
  histogram<Label extends string = never>(
    name: string,
    help: string,
    {
      buckets = SECONDS_BUCKETS,
      labelNames = [],
    }: { readonly buckets?: number[]; readonly labelNames?: readonly Label[] } = {},
  ): Histogram<Label> {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.#registry] })
  }

  /** `read` is called at each scrape and must be quick. */
  gauge(name: string, help: string, read: () => number): void {
    this.watch('gauge', [name, help], [], () => [[{}, read()]])
  }

  /** A counter with one label from a closed set: all its values are exported from the start. */
  tally<Label extends string>(
    name: string,
    help: string,
    label: string,
    values: readonly Label[],
  ): Tally<Label> {
    const counts = new Map(values.map((value) => [value, 0]))
    this.watch('counter', [name, help], [label], function* () {
      for (const [value, count] of counts) yield [{ [label]: value }, count]
    })
    return new Tally(counts)
  }

  /** A counter with two labels, of which those pairs are exported that `known` or `add` name. */
  pairTally<First extends string, Second extends string>(
    name: string,
    help: string,
    labels: readonly [string, string],
    known: readonly (readonly [First, Second])[] = [],
  ): PairTally<First, Second> {
    const counts = new Map<First, Map<Second, number>>()
    const [one, other] = labels
    this.watch('counter', [name, help], labels, function* () {
      for (const [first, those] of counts) {
        for (const [second, count] of those) yield [{ [one]: first, [other]: second }, count]
      }
    })
    const tally = new PairTally(counts)
    for (const [first, second] of known) tally.add(first, second, 0)
    return tally
  }

  /** A metric whose values are read at each scrape. */
  watch(
    kind: 'gauge' | 'counter',
    [name, help]: readonly [name: string, help: string],
    labelNames: readonly string[],
    read: () => Readings,
  ): void {
    const options = { name, help, labelNames, registers: [this.#registry] }
    if (kind === 'gauge') {
      new Gauge({
        ...options,
        collect() {
          for (const [labels, value] of read()) this.set(labels, value)
        },
      })
    } else {
      new Counter({
        ...options,
        collect() {
          this.reset()
          for (const [labels, value] of read()) this.inc(labels, value)
        },
      })
    }
  }
}

/**
 * A counter for hot places: a plain number in a map, read by prom-client only when it is scraped.
 * prom-client's own `inc` builds and hashes a label object a call.
 */
export class Tally<Label extends string> {
  readonly #counts: Map<Label, number>

  constructor(counts: Map<Label, number>) {
    this.#counts = counts
  }

  add(label: Label, count = 1): void {
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + count)
  }
}

/** The same with two labels. */
export class PairTally<First extends string, Second extends string> {
  readonly #counts: Map<First, Map<Second, number>>

  constructor(counts: Map<First, Map<Second, number>>) {
    this.#counts = counts
  }

  add(first: First, second: Second, count = 1): void {
    let those = this.#counts.get(first)
    if (those === undefined) {
      those = new Map()
      this.#counts.set(first, those)
    }
    those.set(second, (those.get(second) ?? 0) + count)
  }
}
