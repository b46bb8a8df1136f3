/** Seeds and time for tests that try random input. */

/** The run's seed: printed, and set by SLUICE_TEST_SEED to repeat a run. */
export function testSeed(): number {
  const given = process.env.SLUICE_TEST_SEED
  return given === undefined ? (Date.now() ^ (process.pid << 16)) >>> 0 : Number(given)
}

/** `ms` times SLUICE_TEST_FUZZ_FACTOR: long runs look for what short ones miss. */
export function fuzzMs(ms: number): number {
  return ms * Number(process.env.SLUICE_TEST_FUZZ_FACTOR ?? 1)
}

/** Options of fast-check for at most `runs` and `ms`, both times that factor. */
export function fuzzed(seed: number, runs: number, ms: number) {
  const numRuns = Math.ceil(fuzzMs(runs))
  return { seed, numRuns, interruptAfterTimeLimit: fuzzMs(ms) }
}

/** Runs `step` for `fuzzMs(ms)` milliseconds, at least once; returns how often. */
export function forMilliseconds(ms: number, step: () => void): number {
  const deadline = performance.now() + fuzzMs(ms)
  let count = 0
  do {
    step()
    count++
  } while (performance.now() < deadline)
  return count
}
