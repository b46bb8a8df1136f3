/** Repeatable randomness for tests that choose their moments: the seed is printed, can be set. */
const SEED_VARIABLE = 'TEST_SEED'

export interface Random {
  readonly seed: number
  /** From 0, below 1. */
  readonly next: () => number
}

/** Takes the seed from TEST_SEED, else `fixed`, else a new one. */
export function createRandom(fixed = Math.floor(Math.random() * 2 ** 32)): Random {
  const given = process.env[SEED_VARIABLE]
  const seed = given === undefined ? fixed : Number(given)
  let state = seed >>> 0
  const next = () => {
    // mulberry32: small, and good enough to choose moments.
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { seed, next }
}
