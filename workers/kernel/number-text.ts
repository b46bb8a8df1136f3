/**
 * Numbers as the text that `JSON.stringify` would give them, written without strings. 64-bit
 * integers are two halves of 32 bits and keep all their digits.
 */

const ASCII_0 = 0x30
const MINUS = 0x2d
const DOT = 0x2e
const TWO_32 = 0x1_0000_0000
/** Digits of the largest: -9223372036854775808 and 18446744073709551615. */
export const INTEGER_BYTES_MAX = 20
/** -1.2345678901234567e-300 and less. */
export const DOUBLE_BYTES_MAX = 32

/** Writes an integer below 2^32. */
export function writeUint32(out: Uint8Array, at: number, value: number): number {
  let digits = 1
  for (let limit = 10; digits < 10 && value >= limit; limit *= 10) digits++
  const end = at + digits
  let rest = value
  for (let i = end - 1; i >= at; i--) {
    const tens = Math.floor(rest / 10)
    out[i] = ASCII_0 + rest - tens * 10
    rest = tens
  }
  return end
}

/** Writes the last `digits` digits of `value`, with leading zeros. */
function writeDigits(out: Uint8Array, at: number, value: number, digits: number): number {
  let rest = value
  for (let i = at + digits - 1; i >= at; i--) {
    const tens = (rest / 10) | 0 // Callers pass less than 2^31.
    out[i] = ASCII_0 + rest - tens * 10
    rest = tens
  }
  return at + digits
}

/** Milliseconds of 64-bit nanoseconds: exact, for it is less than 2^45. */
export function nanosToMs(high: number, low: number): number {
  // high = quotient * 10^6 + rest; each product stays below 2^53.
  const quotient = Math.floor(high / 1e6)
  const rest = high - quotient * 1e6
  return quotient * TWO_32 + Math.floor((rest * TWO_32 + low) / 1e6)
}

/** Nanoseconds beyond the milliseconds. Not by `%`, which is slow on doubles this large. */
export function nanosBeyondMs(high: number, low: number): number {
  const rest = high - Math.floor(high / 1e6) * 1e6
  const nanos = rest * TWO_32 + low
  return nanos - Math.floor(nanos / 1e6) * 1e6
}

/** Writes an unsigned integer of 64 bits; both halves are unsigned. */
export function writeUint64(out: Uint8Array, at: number, high: number, low: number): number {
  if (high === 0) return writeUint32(out, at, low)
  const upper = nanosToMs(high, low) // Without the last six digits.
  const head = Math.floor(upper / 1e7)
  let end = at
  if (head > 0) end = writeDigits(out, writeUint32(out, at, head), upper - head * 1e7, 7)
  else end = writeUint32(out, at, upper)
  return writeDigits(out, end, nanosBeyondMs(high, low), 6)
}

/** Writes a signed integer of 64 bits, given as its unsigned halves. */
export function writeInt64(out: Uint8Array, at: number, high: number, low: number): number {
  if (high < 0x8000_0000) return writeUint64(out, at, high, low)
  out[at] = MINUS
  const lowNegated = -low >>> 0
  const highNegated = (low === 0 ? -high : ~high) >>> 0
  return writeUint64(out, at + 1, highNegated, lowNegated)
}

/**
 * Writes a finite double: the shortest text that reads back as the same, in the form of
 * `JSON.stringify`. Few decimals, which nearly all numbers of logs have, need no string: when
 * `integer / 10^k` is `value` for the smallest k, and the integer has at most 15 digits, then its
 * digits are the shortest (any two decimals of 15 digits are different doubles).
 */
export function writeDouble(out: Uint8Array, at: number, value: number): number {
  const magnitude = Math.abs(value)
  if (magnitude < 1e9 && (magnitude >= 1e-6 || value === 0)) {
    let power = 1
    for (let decimals = 0; decimals <= 6; decimals++, power *= 10) {
      const integer = Math.round(magnitude * power)
      if (integer / power === magnitude) {
        if (value < 0) out[at++] = MINUS
        return writeDecimal(out, at, integer, power, decimals)
      }
    }
  }
  const text = String(value)
  for (let i = 0; i < text.length; i++) out[at + i] = text.charCodeAt(i)
  return at + text.length
}

function writeDecimal(
  out: Uint8Array,
  at: number,
  integer: number,
  power: number,
  decimals: number,
): number {
  const whole = Math.floor(integer / power)
  const end = writeUint32(out, at, whole)
  if (decimals === 0) return end
  out[end] = DOT
  return writeDigits(out, end + 1, integer - whole * power, decimals)
}
