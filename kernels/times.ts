/**
 * ISO 8601 date-times: `YYYY-MM-DD`, `T` or a space, `HH:MM`, optionally `:SS` and a fraction
 * after `.` or `,`, then `Z`, an offset (`+01:00`, `+0100`, `+01`) or nothing (UTC). Fractions
 * keep nanoseconds; further digits are cut. Years 1900 to 2261: what a 64-bit count of nanoseconds
 * and ClickHouse's DateTime64(9) both hold.
 *
 * And what the OpenTelemetry Collector's exporter `elasticsearch` writes: the milliseconds since
 * 1970 in 12 or 13 digits, a point, and how many nanoseconds are beyond them, which it does not
 * fill up with zeros: `1732604400123.45` has 45.
 */
const MS_PER_DAY: f64 = 86_400_000
const YEAR_MIN: i32 = 1900
const YEAR_MAX: i32 = 2261
const TEXT_BYTES_MIN: usize = 16
const TEXT_BYTES_MAX: usize = 64
/** Milliseconds since 1970: from 1973 on, and until the end of 2261. */
const EPOCH_DIGITS_MIN: usize = 12
const EPOCH_DIGITS_MAX: usize = 13
const EPOCH_MS_MAX: i64 = 9_214_646_399_999
const NANOS_DIGITS_MAX: usize = 6
const DASH: u32 = 0x2d
const COLON: u32 = 0x3a
const PLUS: u32 = 0x2b
const POINT: u32 = 0x2e
const COMMA: u32 = 0x2c
const SPACE: u32 = 0x20
const LETTER_T: u32 = 0x54
const LETTER_Z: u32 = 0x5a
/** Turns a letter into a capital. */
const CAPITAL: u32 = ~0x20
const NO_DAY: i32 = i32.MIN_VALUE
const NO_OFFSET: i32 = i32.MIN_VALUE
/** Beyond what two characters can be: a new clock knows no date. */
const DATE_KNOWN: u32 = 0x10000
const FIRST_SCALE: i32 = 100_000_000

/** The time that was read last. */
@unmanaged
export class Clock {
  /** Milliseconds since 1970, and nanoseconds beyond them. */
  ms: f64 = 0
  nanos: i32 = 0
  /** The ten characters of the last date, with DATE_KNOWN, and the days from 1970 to it. */
  dateTail: u32 = 0
  dateHead: u64 = 0
  dateDay: i32 = 0
}

function byteAt(at: usize): u32 {
  return <u32>load<u8>(at)
}

/** The two digits at `at`, or below zero. */
function twoDigits(at: usize): i32 {
  const tens = byteAt(at) - 0x30
  const ones = byteAt(at + 1) - 0x30
  return tens < 10 && ones < 10 ? <i32>(tens * 10 + ones) : -1
}

/** Days since 1970-01-01 of a Gregorian date (Howard Hinnant, days_from_civil). */
function daysFromCivil(year: i32, month: i32, day: i32): i32 {
  const y = month <= 2 ? year - 1 : year
  const era = y / 400
  const yearOfEra = y - era * 400
  const dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
  const dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

function daysIn(year: i32, month: i32): i32 {
  if (month !== 2) return 30 + ((month + (month >> 3)) & 1)
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

/** The day at `at`, or NO_DAY where it is not a valid date. */
function readDay(clock: Clock, at: usize): i32 {
  const head = load<u64>(at)
  const tail = <u32>load<u16>(at, 8) | DATE_KNOWN
  if (head === clock.dateHead && tail === clock.dateTail) return clock.dateDay
  const century = twoDigits(at)
  const yearOfCentury = twoDigits(at + 2)
  const month = twoDigits(at + 5)
  const day = twoDigits(at + 8)
  if (century < 0 || yearOfCentury < 0 || month < 1 || month > 12 || day < 1) return NO_DAY
  if (byteAt(at + 4) !== DASH || byteAt(at + 7) !== DASH) return NO_DAY
  const year = century * 100 + yearOfCentury
  if (year < YEAR_MIN || year > YEAR_MAX || day > daysIn(year, month)) return NO_DAY
  clock.dateHead = head
  clock.dateTail = tail
  clock.dateDay = daysFromCivil(year, month, day)
  return clock.dateDay
}

/** The zone's offset in minutes at `at`..`end`, or NO_OFFSET. */
function readOffset(at: usize, end: usize): i32 {
  if (at === end) return 0
  const sign = byteAt(at)
  if ((sign & CAPITAL) === LETTER_Z) return at + 1 === end ? 0 : NO_OFFSET
  if (sign !== PLUS && sign !== DASH) return NO_OFFSET
  const length = end - at
  const hours = length >= 3 ? twoDigits(at + 1) : -1
  let minutes = -1
  if (length === 3) minutes = 0
  else if (length === 5) minutes = twoDigits(at + 3)
  else if (length === 6 && byteAt(at + 3) === COLON) minutes = twoDigits(at + 4)
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return NO_OFFSET
  const size = hours * 60 + minutes
  return sign === DASH ? -size : size
}

/** Reads milliseconds and nanoseconds; false where the text is something else. */
function tryEpoch(clock: Clock, start: usize, end: usize): bool {
  let ms: i64 = 0
  let at = start
  for (; at < end && at - start <= EPOCH_DIGITS_MAX; at++) {
    const digit = byteAt(at) - 0x30
    if (digit > 9) break
    ms = ms * 10 + digit
  }
  const digits = at - start
  if (digits < EPOCH_DIGITS_MIN || digits > EPOCH_DIGITS_MAX || ms > EPOCH_MS_MAX) return false
  if (at === end || byteAt(at) !== POINT || byteAt(start) === 0x30) return false
  const first = ++at
  if (first === end || end - first > NANOS_DIGITS_MAX) return false
  let nanos = 0
  for (; at < end; at++) {
    const digit = byteAt(at) - 0x30
    if (digit > 9) return false
    nanos = nanos * 10 + <i32>digit
  }
  clock.ms = <f64>ms
  clock.nanos = nanos
  return true
}

/**
 * Reads the date-time at `start`..`end` to `clock`; false when it is not one. Second 60 is taken as
 * the next minute's second 0 (leap seconds).
 */
export function tryTime(clock: Clock, start: usize, end: usize): bool {
  const length = end - start
  if (length < TEXT_BYTES_MIN || length > TEXT_BYTES_MAX) return tryEpoch(clock, start, end)
  const day = readDay(clock, start)
  if (day === NO_DAY) return tryEpoch(clock, start, end)
  const separator = byteAt(start + 10)
  if ((separator & CAPITAL) !== LETTER_T && separator !== SPACE) return false
  const hour = twoDigits(start + 11)
  const minute = twoDigits(start + 14)
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return false
  if (byteAt(start + 13) !== COLON) return false
  let at = start + 16
  let second = 0
  let fraction = 0
  if (at < end && byteAt(at) === COLON) {
    second = at + 3 <= end ? twoDigits(at + 1) : -1
    if (second < 0 || second > 60) return false
    at += 3
    if (at < end && (byteAt(at) === POINT || byteAt(at) === COMMA)) {
      const first = ++at
      let scale = FIRST_SCALE
      for (; at < end; at++) {
        const digit = byteAt(at) - 0x30
        if (digit > 9) break
        fraction += <i32>digit * scale
        scale /= 10
      }
      if (at === first) return false
    }
  }
  const offset = readOffset(at, end)
  if (offset === NO_OFFSET) return false
  const fractionMs = fraction / 1_000_000
  const timeOfDay = ((hour * 60 + minute - offset) * 60 + second) * 1_000 + fractionMs
  clock.ms = <f64>day * MS_PER_DAY + <f64>timeOfDay
  clock.nanos = fraction - fractionMs * 1_000_000
  return true
}
