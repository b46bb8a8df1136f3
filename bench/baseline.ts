/**
 * The unit of every figure: what `JSON.parse` of the corpus' lines costs here and now, on one
 * thread. Machines differ and are noisy; the multiples of this are what can be compared.
 */

const ROUNDS = 48
const LINES_MAX = 4_000

/**
 * Microseconds an event: the lower quartile of many rounds, as on a shared machine the mean and the
 * median measure the neighbours. Blocks the thread for about half a second.
 */
export function measureJsonParse(lines: readonly string[]): number {
  const sample = lines.slice(0, LINES_MAX)
  let checksum = 0
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = process.hrtime.bigint()
    for (const line of sample) checksum += typeof JSON.parse(line) === 'object' ? 1 : 0
    rounds.push(Number(process.hrtime.bigint() - startedAt) / 1_000 / sample.length)
  }
  if (checksum !== ROUNDS * sample.length) throw new Error('the corpus holds more than objects')
  rounds.sort((a, b) => a - b)
  return rounds[ROUNDS >> 2]!
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
    const startedAt = process.cpuUsage()
    for (const line of this.#lines) JSON.parse(line)
    const { user, system } = process.cpuUsage(startedAt)
    this.#micros += user + system
    this.#events += this.#lines.length
  }
}
