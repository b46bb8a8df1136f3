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
