/** Times as Loki's JSON has them: nanoseconds since 1970 in decimal digits. */

export interface Nanos {
  /** Whole milliseconds. */
  ms: number
  /** Nanoseconds beyond them. */
  nanos: number
}

const NANOS_READ = 0
export const NO_DIGITS = 1
export const TOO_LATE = 2

const ZERO = 0x30
const NANOS_DIGITS = 6
/** Digits of the greatest time, of which the milliseconds and the rest. */
const DIGITS_MAX = 19
const MS_MAX = 9_223_372_036_854
const NANOS_MAX = 775_807

/** Reads `start`..`end` into `into`; returns what became of it. */
export function readNanos(bytes: Uint8Array, start: number, end: number, into: Nanos): number {
  if (start === end) return NO_DIGITS
  let first = start
  while (first < end - 1 && bytes[first] === ZERO) first++
  const msEnd = end - NANOS_DIGITS
  let ms = 0
  let nanos = 0
  for (let i = first; i < end; i++) {
    const digit = bytes[i]! - ZERO
    if (digit < 0 || digit > 9) return NO_DIGITS
    if (i < msEnd) ms = ms * 10 + digit
    else nanos = nanos * 10 + digit
  }
  if (end - first > DIGITS_MAX || ms > MS_MAX || (ms === MS_MAX && nanos > NANOS_MAX)) {
    return TOO_LATE
  }
  into.ms = ms
  into.nanos = nanos
  return NANOS_READ
}
