/**
 * ISO 8601 date-times on bytes: `YYYY-MM-DD`, `T` or a space, `HH:MM`, optionally `:SS` and a
 * fraction behind `.` or `,`, then `Z`, an offset (`+01:00`, `+0100`, `+01`) or nothing (UTC).
 * Fractions keep nanoseconds; further digits are cut. Years 1900 to 2261: what a 64-bit count of
 * nanoseconds and ClickHouse's DateTime64(9) both hold.
 */
const MS_PER_DAY = 86_400_000
const YEAR_MIN = 1900
const YEAR_MAX = 2261
const DASH = 0x2d
const COLON = 0x3a
const PLUS = 0x2b
const DAYS_IN_MONTH = Uint8Array.of(0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

/** Where `parseTimestamp` leaves its result: no allocation an event. */
export class Timestamp {
  /** Milliseconds since 1970, whole. */
  ms = 0
  /** Nanoseconds beyond `ms`, 0 to 999,999. */
  nanos = 0
}

/** The two digits at `at`, or -1. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = bytes[at]! - 0x30
  const ones = bytes[at + 1]! - 0x30
  return tens >>> 0 < 10 && ones >>> 0 < 10 ? tens * 10 + ones : -1
}

/** Days since 1970-01-01 of a Gregorian date (Howard Hinnant, days_from_civil). */
function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + (yearOfEra >> 2) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

/** The day's start in milliseconds, or NaN when `at` holds no valid date. */
function tryDate(bytes: Uint8Array, at: number): number {
  const century = twoDigits(bytes, at)
  const yearOfCentury = twoDigits(bytes, at + 2)
  const month = twoDigits(bytes, at + 5)
  const day = twoDigits(bytes, at + 8)
  if (century < 0 || yearOfCentury < 0 || month < 1 || month > 12 || day < 1) return Number.NaN
  if (bytes[at + 4] !== DASH || bytes[at + 7] !== DASH) return Number.NaN
  const year = century * 100 + yearOfCentury
  if (year < YEAR_MIN || year > YEAR_MAX) return Number.NaN
  const days = DAYS_IN_MONTH[month]! + (month === 2 && isLeap(year) ? 1 : 0)
  return day <= days ? daysFromCivil(year, month, day) * MS_PER_DAY : Number.NaN
}

/** The zone's offset in minutes at `at`..`end`, or NaN. */
function tryOffset(bytes: Uint8Array, at: number, end: number): number {
  if (at === end) return 0
  const sign = bytes[at]
  if (sign === 0x5a || sign === 0x7a) return at + 1 === end ? 0 : Number.NaN
  if (sign !== PLUS && sign !== DASH) return Number.NaN
  const length = end - at
  const hours = length >= 3 ? twoDigits(bytes, at + 1) : -1
  let minutes = -1
  if (length === 3) minutes = 0
  else if (length === 5) minutes = twoDigits(bytes, at + 3)
  else if (length === 6 && bytes[at + 3] === COLON) minutes = twoDigits(bytes, at + 4)
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return Number.NaN
  return (sign === DASH ? -1 : 1) * (hours * 60 + minutes)
}

/**
 * Parses `start`..`end` into `into`; false when it is not a date-time, `into` is then undefined.
 * Second 60 is taken as the next minute's second 0 (leap seconds).
 */
export function tryTimestamp(
  bytes: Uint8Array,
  start: number,
  end: number,
  into: Timestamp,
): boolean {
  if (end - start < 16 || end - start > 64) return false
  const day = tryDate(bytes, start)
  const separator = bytes[start + 10]
  const hour = twoDigits(bytes, start + 11)
  const minute = twoDigits(bytes, start + 14)
  if (separator !== 0x54 && separator !== 0x20 && separator !== 0x74) return false
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || bytes[start + 13] !== COLON)
    return false
  let at = start + 16
  let second = 0
  let fraction = 0
  if (at < end && bytes[at] === COLON) {
    second = at + 3 <= end ? twoDigits(bytes, at + 1) : -1
    if (second < 0 || second > 60) return false
    at += 3
    if (at < end && (bytes[at] === 0x2e || bytes[at] === 0x2c)) {
      const first = ++at
      let scale = 100_000_000
      while (at < end && (bytes[at]! - 0x30) >>> 0 < 10) {
        fraction += (bytes[at]! - 0x30) * scale
        scale = Math.floor(scale / 10)
        at++
      }
      if (at === first) return false
    }
  }
  const offset = tryOffset(bytes, at, end)
  const fractionMs = Math.floor(fraction / 1_000_000)
  const clock = ((hour * 60 + minute - offset) * 60 + second) * 1_000
  into.ms = day + clock + fractionMs
  into.nanos = fraction - fractionMs * 1_000_000
  return !Number.isNaN(into.ms) // NaN when the date or the offset was not one.
}
