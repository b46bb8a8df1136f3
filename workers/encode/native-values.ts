/** Writes single values in ClickHouse's Native encoding. The caller has reserved the room. */
import { unescapeInto } from '../decode/json-string.ts'
import { ESCAPED } from '../decode/json-tape.ts'
import type { ByteWriter } from './byte-writer.ts'

const MINUS = 0x2d
const TWO_32 = 0x1_0000_0000
/** Below this a byte loop beats a call into `set`. Measured with the corpus: most values are short. */
const LOOP_COPY_MAX = 48

/** Powers of ten that a double holds exactly. */
const EXACT_POWERS = Float64Array.from({ length: 23 }, (_, exponent) => 10 ** exponent)

/** Copies `start`..`end` to `out` at `at`; returns where it ended. */
function copyBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  at: number,
): number {
  if (end - start > LOOP_COPY_MAX) {
    out.set(bytes.subarray(start, end), at)
    return at + end - start
  }
  for (let i = start; i < end; i++) out[at++] = bytes[i]!
  return at
}

/** A String: length and bytes. Needs `end - start + 5` bytes. */
export function writeString(
  writer: ByteWriter,
  bytes: Uint8Array,
  start: number,
  end: number,
  type: number,
): void {
  if (type !== ESCAPED) {
    const length = end - start
    if (length < 0x80) writer.bytes[writer.length++] = length
    else writer.varuint(length)
    writer.length = copyBytes(bytes, start, end, writer.bytes, writer.length)
    return
  }
  // The decoded length is not known yet: decode behind room for it, then close the gap.
  const at = writer.length
  const valueStart = at + 5
  const valueEnd = unescapeInto(bytes, start, end, writer.bytes, valueStart)
  writer.varuint(valueEnd - valueStart)
  writer.bytes.copyWithin(writer.length, valueStart, valueEnd)
  writer.length += valueEnd - valueStart
}

/** An Int64 or UInt64 from at most 20 decimal digits with an optional minus. Needs 8 bytes. */
export function writeInteger(
  writer: ByteWriter,
  bytes: Uint8Array,
  start: number,
  end: number,
): void {
  const negative = bytes[start] === MINUS
  let i = negative ? start + 1 : start
  // Doubles are exact up to 15 digits; longer numbers are head * 10^9 + the last 9 digits.
  const headEnd = end - i > 15 ? end - 9 : end
  let head = 0
  for (; i < headEnd; i++) head = head * 10 + (bytes[i]! - 0x30)
  let low = head % TWO_32
  let high = (head - low) / TWO_32
  if (i < end) {
    let tail = 0
    for (; i < end; i++) tail = tail * 10 + (bytes[i]! - 0x30)
    // 16-bit halves keep every product below 2^53.
    const lowHalf = (head % 0x10000) * 1e9 + tail
    const highHalf = Math.floor(head / 0x10000) * 1e9 + Math.floor(lowHalf / 0x10000)
    low = (highHalf % 0x10000) * 0x10000 + (lowHalf % 0x10000)
    high = Math.floor(highHalf / 0x10000)
  }
  if (negative) {
    // Two's complement of the 64 bits.
    high = low === 0 ? -high : -high - 1
    low = -low
  }
  const { view, length } = writer
  view.setInt32(length, low | 0, true)
  view.setInt32(length + 4, high | 0, true)
  writer.length = length + 8
}

/** A Float64 equal to `Number(text)`. Needs 8 bytes. */
export function writeFloat(
  writer: ByteWriter,
  bytes: Uint8Array,
  start: number,
  end: number,
): void {
  writer.view.setFloat64(writer.length, parseFloat64(bytes, start, end), true)
  writer.length += 8
}

/**
 * `Number(text)` of a valid JSON number. Up to 15 digits and small exponents need no string: digits
 * and power of ten are then both exact doubles, and one operation on them rounds once (Clinger).
 */
export function parseFloat64(bytes: Uint8Array, start: number, end: number): number {
  let i = start
  const negative = bytes[i] === MINUS
  if (negative) i++
  let digits = 0
  let count = 0
  let fractionDigits = 0
  let inFraction = 0
  for (; i < end; i++) {
    const digit = bytes[i]! - 0x30
    if (digit >>> 0 < 10) {
      digits = digits * 10 + digit
      count++
      fractionDigits += inFraction
    } else if (bytes[i] === 0x2e) inFraction = 1
    else break
  }
  if (i < end || count > 15) return Number(latin1(bytes, start, end))
  const value = digits / EXACT_POWERS[fractionDigits]! // At most 15, the table holds 22.
  return negative ? -value : value
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1')
}
