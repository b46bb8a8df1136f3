/** Date-times in bytes: just what `tryReadTime` takes of a string, without making one. */

const ZERO = 0x30
const DASH = 0x2d
const COLON = 0x3a
const POINT = 0x2e
const PLUS = 0x2b
const LOWER_T = 0x74
const LOWER_Z = 0x7a
const SPACE = 0x20

/** `2026-01-01T00:00:00Z`, and with nanoseconds and an offset. */
const BYTES_MIN = 20
const BYTES_MAX = 35
const YEAR_MIN = 1900
const YEAR_MAX = 2261
const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const
const NO_NUMBER = -1

export class MomentReader {
  /** Whole milliseconds since 1970. */
  ms = 0
  /** Nanoseconds beyond them, 0 to 999,999. */
  nanos = 0
  #at = 0
  #fraction = 0

  /** False for a text that is not a date-time. */
  tryRead(bytes: Uint8Array, start: number, end: number): boolean {
    const length = end - start
    if (length < BYTES_MIN || length > BYTES_MAX) return false
    if (bytes[start + 4] !== DASH || bytes[start + 7] !== DASH) return false
    const separator = bytes[start + 10]!
    if (separator !== SPACE && (separator | 0x20) !== LOWER_T) return false
    const day = dayOf(bytes, start)
    const time = minutesOf(bytes, start + 11)
    const second = twoDigits(bytes, start + 17)
    if (day === undefined || time === NO_NUMBER || bytes[start + 16] !== COLON) return false
    if (second === NO_NUMBER || second > 60) return false
    this.#at = start + 19
    if (!this.#readFraction(bytes, end)) return false
    const zone = zoneOf(bytes, this.#at, end)
    if (zone === undefined) return false
    const ms = Math.floor(this.#fraction / 1e6)
    this.ms = day * DAY_MS + (time - zone) * MINUTE_MS + second * 1_000 + ms
    this.nanos = this.#fraction - ms * 1e6
    return true
  }

  /** Nanoseconds, when there is a point. */
  #readFraction(bytes: Uint8Array, end: number): boolean {
    this.#fraction = 0
    if (bytes[this.#at] !== POINT) return true
    const first = ++this.#at
    let unit = 1e9
    for (; this.#at < end && unit > 1; this.#at++) {
      const digit = bytes[this.#at]! - ZERO
      if (digit < 0 || digit > 9) break
      unit /= 10
      this.#fraction += digit * unit
    }
    return this.#at > first
  }
}

/** Minutes that the zone is ahead of UTC, if it is all that is left. */
function zoneOf(bytes: Uint8Array, at: number, end: number): number | undefined {
  const sign = bytes[at]!
  if (at + 1 === end) return (sign | 0x20) === LOWER_Z ? 0 : undefined
  if (at + 6 !== end || (sign !== PLUS && sign !== DASH)) return undefined
  const minutes = minutesOf(bytes, at + 1)
  if (minutes === NO_NUMBER) return undefined
  return sign === DASH ? -minutes : minutes
}

/** Minutes of `hh:mm`, or NO_NUMBER. */
function minutesOf(bytes: Uint8Array, at: number): number {
  const hour = twoDigits(bytes, at)
  const minute = twoDigits(bytes, at + 3)
  const isTime = hour >= 0 && hour < 24 && minute >= 0 && minute < 60
  return isTime && bytes[at + 2] === COLON ? hour * 60 + minute : NO_NUMBER
}

function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = bytes[at]! - ZERO
  const ones = bytes[at + 1]! - ZERO
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NO_NUMBER
}

/** Days since 1970 of `yyyy-mm-dd`, if there is such a day in the years that are taken. */
function dayOf(bytes: Uint8Array, at: number): number | undefined {
  const century = twoDigits(bytes, at)
  const rest = twoDigits(bytes, at + 2)
  const month = twoDigits(bytes, at + 5)
  const day = twoDigits(bytes, at + 8)
  if (century === NO_NUMBER || rest === NO_NUMBER || month < 1 || month > 12) return undefined
  const year = century * 100 + rest
  if (year < YEAR_MIN || year > YEAR_MAX) return undefined
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && isLeap ? 29 : DAYS_OF_MONTH[month - 1]!
  if (day < 1 || day > days) return undefined
  // Years that begin in March have their leap day last.
  const from = month <= 2 ? year - 1 : year
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const leaps = Math.floor(from / 4) - Math.floor(from / 100) + Math.floor(from / 400)
  return from * 365 + leaps + ofYear - 719_468
}
