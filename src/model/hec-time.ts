/**
 * The `time` of a Splunk HEC event, to the digit: seconds since 1970 with a fraction. What would be
 * seconds after 2286 is milliseconds, microseconds or nanoseconds, as Splunk's own receiver of the
 * OpenTelemetry Collector takes it.
 */

const DOT = 0x2e
/** Digits of a whole number of seconds, and how many more each next unit has. */
const SECOND_DIGITS_MAX = 10
const UNIT_DIGITS = 3
const UNITS = 4
const MS_DIGITS = 3
const NANO_DIGITS = 6
/** What the signed 64-bit nanoseconds of event times can hold. */
const MS_MAX = 9_223_372_036_853
/** A longer text is no time. */
const CHARS_MAX = 64
const NUMBER = /^[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

export class HecTime {
  /** Whole milliseconds since 1970, and nanoseconds beyond them. Both zero: no time is said. */
  ms = 0
  nanos = 0

  /** Reads the number spelled at `start`..`end`; false when it is none, or none of a time. */
  tryRead(bytes: Uint8Array, start: number, end: number): boolean {
    return (
      this.readUsual(bytes, start, end) === end ||
      this.#tryDigits(bytes, start, end) ||
      this.#tryOther(bytes, start, end)
    )
  }

  /**
   * Reads seconds with a fraction of three to nine digits, as nearly all are sent, which end before
   * `limit`; returns where, or -1 when there is something else. Hot.
   */
  readUsual(bytes: Uint8Array, start: number, limit: number): number {
    let ms = 0
    let at = start
    for (; at < limit && isDigit(bytes[at]!); at++) ms = ms * 10 + bytes[at]! - 0x30
    const fraction = at + 1
    if (at === start || at - start > SECOND_DIGITS_MAX || bytes[at] !== DOT) return -1
    let nanos = 0
    for (at++; at < limit && isDigit(bytes[at]!); at++) {
      if (at - fraction < MS_DIGITS) ms = ms * 10 + bytes[at]! - 0x30
      else nanos = nanos * 10 + bytes[at]! - 0x30
    }
    const digits = at - fraction
    if (digits < MS_DIGITS || digits > MS_DIGITS + NANO_DIGITS || ms > MS_MAX) return -1
    for (let i = digits; i < MS_DIGITS + NANO_DIGITS; i++) nanos *= 10
    this.ms = ms
    this.nanos = nanos
    return at
  }

  /** Digits, with a fraction or without. */
  #tryDigits(bytes: Uint8Array, start: number, end: number): boolean {
    let first = start
    while (first < end && bytes[first] === 0x30) first++
    let dot = first
    while (dot < end && isDigit(bytes[dot]!)) dot++
    if (dot < end && (bytes[dot] !== DOT || dot + 1 === end || dot === start)) return false
    for (let i = dot + 1; i < end; i++) if (!isDigit(bytes[i]!)) return false
    if (start === end) return false
    const whole = dot - first
    const unit = Math.max(0, Math.ceil((whole - SECOND_DIGITS_MAX) / UNIT_DIGITS))
    if (unit >= UNITS) return false
    /** Digits of whole seconds; those that follow are of the fraction. */
    const seconds = whole - unit * UNIT_DIGITS
    let ms = 0
    let nanos = 0
    for (let i = 0; i < seconds + MS_DIGITS; i++) ms = ms * 10 + digitAt(bytes, first, dot, end, i)
    for (let i = 0; i < NANO_DIGITS; i++) {
      nanos = nanos * 10 + digitAt(bytes, first, dot, end, seconds + MS_DIGITS + i)
    }
    if (ms > MS_MAX) return false
    this.ms = ms
    this.nanos = nanos
    return true
  }

  /** With an exponent. Cold. */
  #tryOther(bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start > CHARS_MAX) return false
    // The copy leaves shared memory.
    const text = Buffer.from(bytes.subarray(start, end)).toString('latin1')
    if (!NUMBER.test(text) || !/e/i.test(text)) return false
    const value = Number(text)
    if (value >= 1e21) return false // Would not be written in digits.
    const digits = Buffer.from(value.toFixed(NANO_DIGITS + MS_DIGITS))
    return this.#tryDigits(digits, 0, digits.length)
  }
}

/** The n-th digit of the number at `first`..`end` whose point is at `dot`; zero behind its end. */
function digitAt(
  bytes: Uint8Array,
  first: number,
  dot: number,
  end: number,
  index: number,
): number {
  const at = first + index < dot ? first + index : first + index + 1
  return at < end ? bytes[at]! - 0x30 : 0
}

function isDigit(byte: number): boolean {
  return (byte - 0x30) >>> 0 < 10
}
