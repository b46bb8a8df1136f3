/**
 * Steps that numbers are counted by: the first bits of a double, which are its sign, its exponent,
 * and a sixteenth of the octave. So a step is at most a sixteenth wider than it begins, whatever
 * the size of its numbers, and ends at round binary numbers.
 */

/** Bits of a double behind those of its step. */
export const STEP_SHIFT = 48
const SIGN = 0x8000

/** The least number of a step; of negative numbers it is the one nearest to 0. */
export function stepStart(step: number): number {
  const bits = new DataView(new ArrayBuffer(8))
  bits.setUint16(0, step)
  return bits.getFloat64(0)
}

/** In the order of their numbers; what is no number is the last. */
export function stepOrder(step: number): number {
  return step >= SIGN ? SIGN - 1 - step : step
}
