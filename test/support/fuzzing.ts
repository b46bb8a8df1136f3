/** Seeds and time for tests that try random input. */

import { cpuNow } from './cpu-time.ts'

/** The run's seed: printed, and set by SLUICE_TEST_SEED to repeat a run. */
export function testSeed(): number {
  const given = process.env.SLUICE_TEST_SEED
  return given === undefined ? (Date.now() ^ (process.pid << 16)) >>> 0 : Number(given)
}

/** `scripts/test.mjs` sets it: `npm run test:long` looks for what `npm test` misses. */
const FACTOR = Number(process.env.SLUICE_TEST_FUZZ_FACTOR ?? 1)

/** `ms` times SLUICE_TEST_FUZZ_FACTOR. */
export function fuzzMs(ms: number): number {
  return ms * FACTOR
}

/** How many of something a test must have met where it meets `count` at full length. */
export function fewest(count: number): number {
  return count * Math.min(1, FACTOR)
}

let third: number | undefined

/** Of a list that `npm test` goes through over several runs: a third, by the seed, as printed. */
export function someOf<T>(all: readonly T[]): readonly T[] {
  if (FACTOR >= 1) return all
  if (third === undefined) {
    const seed = testSeed()
    console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this choice)`)
    third = seed % 3
  }
  return all.filter((_, index) => index % 3 === third)
}

/** The `skip` of a test that takes long and guards what few changes touch. */
export const ONLY_LONG = FACTOR < 1 && 'npm run test:long has it'

/** As many of what takes long, as kills do, times the same; two at least. */
export function rounds(count: number): number {
  return Math.max(2, Math.ceil(count * FACTOR))
}

/** Options of fast-check for `runs` times that factor; fewer where that takes too long. */
export function fuzzed(seed: number, runs: number, ms: number) {
  const numRuns = Math.ceil(fuzzMs(runs))
  return { seed, numRuns, interruptAfterTimeLimit: Math.max(fuzzMs(ms), 1_000) }
}

/**
 * Runs `step` for `fuzzMs(ms)` milliseconds, at least once; returns how often. Of CPU time: what is
 * tried is the same where others use the machine as well.
 */
export function forMilliseconds(ms: number, step: () => void): number {
  const deadline = cpuNow() + fuzzMs(ms)
  let count = 0
  do {
    step()
    count++
  } while (cpuNow() < deadline)
  return count
}
