/**
 * The times of syslog's messages:
 *
 *   2026-11-27T10:00:00.123456+01:00   also with a space, a comma, or without an offset
 *   Nov 27 10:00:00                    one space or two before the day; a fraction; a year before
 *                                      or behind the time, or in front; a zone or an offset behind
 *   Fri Nov 27 10:00:00 2026, 27 Nov 2026 10:00:00
 *   1795777200.123456789               seconds since 1970
 *
 * What a time does not say is decided, and told: the year, so that the time is the latest that is
 * not more than a day past the receipt time; the zone, which is the listener's.
 */
import {
  daysFromCivil,
  daysIn,
  isWeekdayAt,
  monthAt,
  twoDigits,
  wordAt,
  yearAt,
} from './calendar.ts'
import { DASH, isDigit, SLASH, SPACE } from './syslog-bytes.ts'
import { TimeZone } from './time-zone.ts'
import { zoneMinutes, zoneNameEnd } from './zone-names.ts'

const DAY_MS = 86_400_000
const COLON = 0x3a
const COMMA = 0x2c
const POINT = 0x2e
const PLUS = 0x2b
const STAR = 0x2a
const LETTER_T = 0x74
const LETTER_Z = 0x7a
const SMALL = 0x20
/** What event times can hold, as everywhere. */
const YEAR_MIN = 1900
const YEAR_MAX = 2261
const NO_OFFSET = Number.MIN_SAFE_INTEGER
/** From the year after the receipt's back to a leap year. Between two are eight years at most. */
const YEARS_BACK = 10
const CLOCK_BYTES = 8
/** `Nov 27 10:00:00` */
const USUAL_BYTES = 15
const HOUR_MS = 3_600_000
/** So old a date may be at most for its year to be beyond doubt. */
const DATE_DAYS_MAX = 360
const NANO_DIGITS = 9
/** Digits of seconds since 1970: from 1973 to 2286. */
const EPOCH_DIGITS_MIN = 9
const EPOCH_DIGITS_MAX = 10
const EPOCH_MAX = 9_214_646_400
/** What Cisco writes before times. */
export const CLOCK_KNOWN = 0
export const CLOCK_UNSET = 1
export const CLOCK_UNSYNCED = 2

export class SyslogTime {
  /** Whole milliseconds since 1970, and nanoseconds beyond them; if a time was found. */
  ms = 0
  nanos = 0
  isFound = false
  /** The year that was decided; 0 where the time says it. */
  assumedYear = 0
  /** The zone's name where it was decided. */
  assumedZone: string | undefined
  /** CLOCK_… */
  clock = CLOCK_KNOWN
  #zone = new TimeZone('UTC')
  #isUtc = true
  #receivedAtMs = 0
  /** How far the zone's clocks were ahead then, and the year that they showed. */
  #receivedOffset = 0
  #receivedYear = 1970
  // Of the time that is being read.
  #year = 0
  #month = 0
  #day = 0
  #secondOfDay = 0
  #fraction = 0
  #offset = NO_OFFSET
  /** The last one, in one number, and when it began. */
  #lastDate = 0
  #lastDateMs = 0
  // The date last read of those without a year and a zone, where the year is beyond doubt.
  #dateStart = 0
  #dateEnd = 0
  #dateMs = 0
  #dateYear = 0

  /** Starts a part. */
  begin(zone: string, receivedAtMs: number): void {
    if (zone !== this.#zone.name) this.#zone = new TimeZone(zone)
    this.#isUtc = zone === 'UTC'
    this.#receivedAtMs = receivedAtMs
    this.#receivedOffset = this.#isUtc ? 0 : this.#zone.offsetAt(receivedAtMs)
    this.#receivedYear = new Date(receivedAtMs + this.#receivedOffset).getUTCFullYear()
    this.#dateYear = 0
  }

  clear(): void {
    this.isFound = false
    this.assumedYear = 0
    this.assumedZone = undefined
    this.clock = CLOCK_KNOWN
  }

  // Each returns where the time ends, or -1 where there is none.

  /** Any time of RFC 3164 and its like. */
  read(bytes: Uint8Array, at: number, end: number): number {
    if (at >= end) return -1
    const usual = this.#readUsual(bytes, at, end)
    if (usual >= 0) return usual
    const first = bytes[at]
    const isMarked = first === STAR || first === POINT
    const pos = isMarked ? at + 1 : at
    const found = isDigit(bytes[pos])
      ? this.#readDigits(bytes, pos, end)
      : this.#readNamed(bytes, pos, end)
    if (isMarked && found >= 0) this.clock = first === STAR ? CLOCK_UNSET : CLOCK_UNSYNCED
    return found
  }

  /** `2026-11-27T10:00:00.123456+01:00` and its like. */
  readIso(bytes: Uint8Array, at: number, end: number): number {
    if (end - at < 19) return -1
    const separator = bytes[at + 4]
    if ((separator !== DASH && separator !== SLASH) || bytes[at + 7] !== separator) return -1
    const between = bytes[at + 10]!
    if ((between | SMALL) !== LETTER_T && between !== SPACE) return -1
    const century = twoDigits(bytes, at)
    const yearOfCentury = twoDigits(bytes, at + 2)
    if (century < 0 || yearOfCentury < 0) return -1
    this.#year = century * 100 + yearOfCentury
    this.#month = twoDigits(bytes, at + 5)
    this.#day = twoDigits(bytes, at + 8)
    const pos = this.#readClock(bytes, at + 11, end)
    return pos < 0 ? -1 : this.#finish(bytes, pos, end)
  }

  /** Seconds since 1970 with a fraction. */
  readEpoch(bytes: Uint8Array, at: number, end: number): number {
    let seconds = 0
    let pos = at
    for (; pos < end && isDigit(bytes[pos]); pos++) seconds = seconds * 10 + bytes[pos]! - 0x30
    const digits = pos - at
    if (digits < EPOCH_DIGITS_MIN || digits > EPOCH_DIGITS_MAX || bytes[pos] !== POINT) return -1
    pos = this.#readFraction(bytes, pos, end)
    if (pos < 0 || seconds >= EPOCH_MAX || (pos < end && bytes[pos] !== SPACE)) return -1
    this.#setTime(seconds * 1_000)
    return pos
  }

  /** `Nov 27 10:00:00 ` of the day that was read last, without a year or a zone behind. Hot. */
  #readUsual(bytes: Uint8Array, at: number, end: number): number {
    if (this.#dateYear === 0 || end - at < USUAL_BYTES + 2) return -1
    if (wordAt(bytes, at) !== this.#dateStart || wordAt(bytes, at + 3) !== this.#dateEnd) return -1
    const clock = at + USUAL_BYTES - CLOCK_BYTES
    const pos = at + USUAL_BYTES
    if (bytes[clock - 1] !== SPACE || bytes[pos] !== SPACE) return -1
    // What begins otherwise may be a year or a zone.
    if (bytes[pos + 1]! < 0x61 || bytes[clock + 2] !== COLON || bytes[clock + 5] !== COLON)
      return -1
    const hour = twoDigits(bytes, clock)
    const minute = twoDigits(bytes, clock + 3)
    const second = twoDigits(bytes, clock + 6)
    if (hour < 0 || minute < 0 || second < 0) return -1
    if (hour > 23 || minute > 59 || second > 60) return -1
    const localMs = this.#dateMs + ((hour * 60 + minute) * 60 + second) * 1_000
    this.ms = this.#isUtc ? localMs : this.#zone.toUtc(localMs, this.#receivedAtMs)
    this.nanos = 0
    this.isFound = true
    this.assumedYear = this.#dateYear
    this.assumedZone = this.#zone.name
    return pos
  }

  /** Keeps the date of a time as `readUsual` reads it, if the year is right all day long. */
  #keepDate(bytes: Uint8Array, at: number): void {
    const midnight = daysFromCivil(this.assumedYear, this.#month, this.#day) * DAY_MS
    const passed = this.#receivedAtMs + this.#receivedOffset - midnight
    if (passed < HOUR_MS || passed > DATE_DAYS_MAX * DAY_MS) return
    this.#dateStart = wordAt(bytes, at)
    this.#dateEnd = wordAt(bytes, at + 3)
    this.#dateMs = midnight
    this.#dateYear = this.assumedYear
  }

  /** One that begins with the name of a month or of a weekday. */
  #readNamed(bytes: Uint8Array, at: number, end: number): number {
    let pos = at
    if (monthAt(bytes, at, end) === 0 && isWeekdayAt(bytes, at, end)) {
      pos += 3
      if (bytes[pos] === COMMA) pos++
      if (pos >= end || bytes[pos] !== SPACE) return -1
      pos++
      if (pos < end && isDigit(bytes[pos])) return this.#readDayFirst(bytes, pos, end)
    }
    this.#year = 0
    return this.#readMonthFirst(bytes, pos, end)
  }

  #readDigits(bytes: Uint8Array, at: number, end: number): number {
    const fifth = at + 4 < end ? bytes[at + 4] : 0
    if (fifth === DASH || fifth === SLASH) return this.readIso(bytes, at, end)
    if (fifth === SPACE && isDigit(bytes[at + 3])) {
      const year = yearAt(bytes, at, end)
      if (year === 0) return -1
      this.#year = year
      return this.#readMonthFirst(bytes, at + 5, end)
    }
    if (isDigit(fifth)) return this.readEpoch(bytes, at, end)
    return this.#readDayFirst(bytes, at, end)
  }

  /** `27 Nov 2026 10:00:00` */
  #readDayFirst(bytes: Uint8Array, at: number, end: number): number {
    let pos = this.#readDay(bytes, at, end)
    if (pos < 0 || pos >= end || (bytes[pos] !== SPACE && bytes[pos] !== DASH)) return -1
    const separator = bytes[pos++]
    this.#month = monthAt(bytes, pos, end)
    pos += 3
    if (this.#month === 0 || pos >= end || bytes[pos] !== separator) return -1
    this.#year = yearAt(bytes, ++pos, end)
    pos += 4
    if (this.#year === 0 || pos >= end || bytes[pos] !== SPACE) return -1
    pos = this.#readClock(bytes, pos + 1, end)
    return pos < 0 ? -1 : this.#finish(bytes, pos, end)
  }

  /** `Nov 27 10:00:00`, with a year behind the day or the time. */
  #readMonthFirst(bytes: Uint8Array, at: number, end: number): number {
    this.#month = monthAt(bytes, at, end)
    let pos = at + 3
    if (this.#month === 0 || pos >= end || bytes[pos] !== SPACE) return -1
    while (pos < end && bytes[pos] === SPACE) pos++
    pos = this.#readDay(bytes, pos, end)
    if (pos < 0 || pos >= end || bytes[pos] !== SPACE) return -1
    pos++
    if (this.#year === 0) {
      const year = yearAt(bytes, pos, end)
      if (year > 0 && bytes[pos + 4] === SPACE) {
        this.#year = year
        pos += 5
      }
    }
    pos = this.#readClock(bytes, pos, end)
    if (pos < 0) return -1
    if (this.#year === 0 && pos < end && bytes[pos] === SPACE) {
      const year = yearAt(bytes, pos + 1, end)
      if (year > 0 && isYearEnd(bytes, pos + 5, end)) {
        this.#year = year
        pos += 5
      }
    }
    const found = this.#finish(bytes, pos, end)
    const isUsual = found === at + USUAL_BYTES && bytes[at + 6] === SPACE && this.#fraction === 0
    if (isUsual && this.assumedYear !== 0 && this.assumedZone !== undefined) {
      this.#keepDate(bytes, at)
    }
    return found
  }

  #readDay(bytes: Uint8Array, at: number, end: number): number {
    if (at >= end || !isDigit(bytes[at])) return -1
    this.#day = bytes[at]! - 0x30
    if (at + 1 >= end || !isDigit(bytes[at + 1])) return at + 1
    this.#day = this.#day * 10 + bytes[at + 1]! - 0x30
    return at + 2
  }

  /** `10:00:00`, with a fraction or without. */
  #readClock(bytes: Uint8Array, at: number, end: number): number {
    if (end - at < CLOCK_BYTES || bytes[at + 2] !== COLON || bytes[at + 5] !== COLON) return -1
    const hour = twoDigits(bytes, at)
    const minute = twoDigits(bytes, at + 3)
    const second = twoDigits(bytes, at + 6)
    if (hour < 0 || minute < 0 || second < 0) return -1
    // Second 60 is the next minute's first (leap seconds).
    if (hour > 23 || minute > 59 || second > 60) return -1
    this.#secondOfDay = (hour * 60 + minute) * 60 + second
    this.#fraction = 0
    const pos = at + CLOCK_BYTES
    if (pos >= end || (bytes[pos] !== POINT && bytes[pos] !== COMMA)) return pos
    const found = this.#readFraction(bytes, pos, end)
    return found < 0 ? pos : found
  }

  /** Reads nanoseconds behind a point; further digits are cut. */
  #readFraction(bytes: Uint8Array, at: number, end: number): number {
    let pos = at + 1
    let fraction = 0
    for (let digits = 0; digits < NANO_DIGITS; digits++) {
      const isThere = pos < end && isDigit(bytes[pos])
      fraction = fraction * 10 + (isThere ? bytes[pos]! - 0x30 : 0)
      if (isThere) pos++
    }
    while (pos < end && isDigit(bytes[pos])) pos++
    this.#fraction = fraction
    return pos === at + 1 ? -1 : pos
  }

  /** Reads what may follow a clock time, and decides on all of it. */
  #finish(bytes: Uint8Array, at: number, end: number): number {
    const { assumedYear, assumedZone } = this
    const pos = this.#readZone(bytes, at, end)
    const isThere = this.#year === 0 ? this.#tryLatestYear() : this.#tryYear(this.#year)
    if (isThere) return pos
    this.assumedYear = assumedYear
    this.assumedZone = assumedZone
    return -1
  }

  /** `Z`, `+01:00`, `-0500`, ` +0100`, ` CET`, ` UTC+2`; or nothing. */
  #readZone(bytes: Uint8Array, at: number, end: number): number {
    this.#offset = NO_OFFSET
    if (at >= end) return at
    const first = bytes[at]!
    if ((first | SMALL) === LETTER_Z) {
      if (at + 1 < end && bytes[at + 1]! > SPACE && bytes[at + 1] !== COLON) return at
      this.#offset = 0
      return at + 1
    }
    if (first === PLUS || first === DASH) return this.#readOffset(bytes, at, end)
    if (first !== SPACE || at + 1 >= end) return at
    const second = bytes[at + 1]!
    if (second === PLUS || (second === DASH && isDigit(bytes[at + 2]))) {
      const pos = this.#readOffset(bytes, at + 1, end)
      return this.#offset === NO_OFFSET ? at : pos
    }
    return (second - 0x41) >>> 0 < 26 ? this.#readZoneName(bytes, at, end) : at
  }

  /** A zone's name behind the space at `at`. One that is not known only before Cisco's `: %`. */
  #readZoneName(bytes: Uint8Array, at: number, end: number): number {
    const nameEnd = zoneNameEnd(bytes, at + 1, end)
    if (nameEnd === at + 1) return at
    const next = nameEnd < end ? bytes[nameEnd] : SPACE
    const minutes = zoneMinutes(bytes, at + 1, nameEnd)
    if (minutes === 0 && (next === PLUS || next === DASH) && isDigit(bytes[nameEnd + 1])) {
      const pos = this.#readOffset(bytes, nameEnd, end)
      return this.#offset === NO_OFFSET ? at : pos
    }
    if (minutes !== undefined && (next === SPACE || next === COLON)) {
      this.#offset = minutes
      return nameEnd
    }
    const isCisco = next === COLON && bytes[nameEnd + 1] === SPACE && bytes[nameEnd + 2] === 0x25
    return isCisco && nameEnd + 2 < end ? nameEnd : at
  }

  /** `+01:00`, `+0100`, `+01` or `+1` at `at`, which is left alone where it is none of these. */
  #readOffset(bytes: Uint8Array, at: number, end: number): number {
    let pos = at + 1
    let hours = 0
    while (pos < end && pos < at + 3 && isDigit(bytes[pos]))
      hours = hours * 10 + bytes[pos++]! - 0x30
    if (pos === at + 1 || hours > 23) return at
    let minutes = 0
    const colon = bytes[pos] === COLON ? 1 : 0
    if (pos + colon + 2 <= end) {
      const found = twoDigits(bytes, pos + colon)
      if (found >= 0) {
        if (found > 59) return at
        minutes += found
        pos += colon + 2
      }
    }
    if (pos < end && bytes[pos]! > SPACE && bytes[pos] !== COLON) return at
    const size = hours * 60 + minutes
    this.#offset = bytes[at] === DASH ? -size : size
    return pos
  }

  /** The latest year that does not make the time more than a day later than the receipt. */
  #tryLatestYear(): boolean {
    const latest = this.#receivedYear + 1
    for (let year = latest; year > latest - YEARS_BACK; year--) {
      if (!this.#tryYear(year) || this.ms > this.#receivedAtMs + DAY_MS) continue
      this.assumedYear = year
      return true
    }
    this.isFound = false
    return false
  }

  #tryYear(year: number): boolean {
    const month = this.#month
    const day = this.#day
    if (year < YEAR_MIN || year > YEAR_MAX || month < 1 || month > 12 || day < 1) return false
    const date = (year * 16 + month) * 32 + day
    if (date !== this.#lastDate) {
      if (day > daysIn(year, month)) return false
      this.#lastDate = date
      this.#lastDateMs = daysFromCivil(year, month, day) * DAY_MS
    }
    const localMs = this.#lastDateMs + this.#secondOfDay * 1_000
    if (this.#offset !== NO_OFFSET) this.#setTime(localMs - this.#offset * 60_000)
    else {
      this.assumedZone = this.#zone.name
      this.#setTime(this.#isUtc ? localMs : this.#zone.toUtc(localMs, this.#receivedAtMs))
    }
    return true
  }

  #setTime(ms: number): void {
    const fractionMs = Math.floor(this.#fraction / 1_000_000)
    this.ms = ms + fractionMs
    this.nanos = this.#fraction - fractionMs * 1_000_000
    this.isFound = true
  }
}

/** Whether a year may end at `at`, which an IPv6 address is not. */
function isYearEnd(bytes: Uint8Array, at: number, end: number): boolean {
  if (at >= end || bytes[at] === SPACE) return true
  return bytes[at] === COLON && (at + 1 >= end || bytes[at + 1] === SPACE)
}
