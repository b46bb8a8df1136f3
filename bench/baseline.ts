/**
 * The unit of every figure: what `JSON.parse` of the corpus' lines costs here and now, on one
 * thread. Machines differ and are noisy; the multiples of this are what can be compared.
 */

const LINES_MAX = 4_000
const MEASURE_MS = 5_000
/** Not counted, of the time that is: the compiler finishes in it. */
const WARM_UP_SHARE = 0.1

/** Microseconds of CPU an event. */
export interface JsonParseCost {
  /** Over all of the time, as the CPU of a service under load is a mean of all of its time. */
  readonly mean: number
  /** The lower quartile of short rounds: what it costs while no neighbour is heard. */
  readonly quick: number
}

/** Parses the lines over and over. Blocks the thread for a little more than `ms`. */
export function measureJsonParse(lines: readonly string[], ms = MEASURE_MS): JsonParseCost {
  const sample = lines.slice(0, LINES_MAX)
  parseFor(sample, ms * WARM_UP_SHARE)
  const rounds = parseFor(sample, ms).sort((a, b) => a - b)
  const mean = rounds.reduce((sum, micros) => sum + micros, 0) / rounds.length
  return { mean, quick: rounds[rounds.length >> 2]! }
}

/** What each round over the lines took, in microseconds of CPU an event; one round at least. */
function parseFor(lines: readonly string[], ms: number): number[] {
  const rounds: number[] = []
  const until = performance.now() + ms
  do {
    rounds.push(cpuMicrosOf(lines) / lines.length)
  } while (performance.now() < until)
  return rounds
}

function cpuMicrosOf(lines: readonly string[]): number {
  const startedAt = process.cpuUsage()
  let objects = 0
  for (const line of lines) objects += typeof JSON.parse(line) === 'object' ? 1 : 0
  const { user, system } = process.cpuUsage(startedAt)
  if (objects !== lines.length) throw new Error('the corpus holds more than objects')
  return user + system
}

/** A sample takes about 5 ms, so sampling costs one per cent of a core. */
const SAMPLE_LINES = 2_000
const SAMPLE_EVERY_MS = 500

/**
 * The same unit while something else runs. A virtual machine's neighbours and the load itself slow
 * `JSON.parse` down as they do the service, which the figures of an idle machine do not show.
 */
export class JsonParseSampler {
  readonly #lines: readonly string[]
  #timer: NodeJS.Timeout | undefined
  #micros = 0
  #events = 0

  constructor(lines: readonly string[]) {
    this.#lines = lines.slice(0, SAMPLE_LINES)
  }

  start(): void {
    this.#timer = setInterval(() => this.#sample(), SAMPLE_EVERY_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Microseconds of CPU an event, over all samples; undefined if there was none. */
  get microsPerEvent(): number | undefined {
    return this.#events === 0 ? undefined : this.#micros / this.#events
  }

  #sample(): void {
    this.#micros += cpuMicrosOf(this.#lines)
    this.#events += this.#lines.length
  }
}
