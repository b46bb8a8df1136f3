/** Names of months and weekdays, numbers in dates, and the days from 1970 on. */

const MONTHS = namesOf('jan feb mar apr may jun jul aug sep oct nov dec')
const WEEKDAYS = namesOf('mon tue wed thu fri sat sun')

/** The number of the month whose name is at `at`, in any case; 0 where there is none. */
export function monthAt(bytes: Uint8Array, at: number, end: number): number {
  return nameAt(MONTHS, bytes, at, end)
}

export function isWeekdayAt(bytes: Uint8Array, at: number, end: number): boolean {
  return nameAt(WEEKDAYS, bytes, at, end) > 0
}

function namesOf(names: string): ReadonlyMap<number, number> {
  const numbers = names.split(' ').map((name, i) => {
    const [a, b, c] = Buffer.from(name) as unknown as [number, number, number]
    return [(a << 16) | (b << 8) | c, i + 1] as const
  })
  return new Map(numbers)
}

/** The number of the name at `at`, from 1 on. */
function nameAt(
  names: ReadonlyMap<number, number>,
  bytes: Uint8Array,
  at: number,
  end: number,
): number {
  if (end - at < 3) return 0
  const letters = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
  return names.get(letters | 0x202020) ?? 0
}

/** The year of this or the last century at `at`; 0 where there is none. */
export function yearAt(bytes: Uint8Array, at: number, end: number): number {
  if (end - at < 4) return 0
  const century = twoDigits(bytes, at)
  const year = twoDigits(bytes, at + 2)
  return (century === 19 || century === 20) && year >= 0 ? century * 100 + year : 0
}

/** The number at `at`; -1 where it is none. */
export function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = bytes[at]! - 0x30
  const ones = bytes[at + 1]! - 0x30
  return tens >>> 0 < 10 && ones >>> 0 < 10 ? tens * 10 + ones : -1
}

/** Four bytes as an integer. */
export function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
}

/** Days since 1970-01-01 of a Gregorian date (Howard Hinnant, days_from_civil). */
export function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = (y / 400) | 0
  const yearOfEra = y - era * 400
  const dayOfYear = (((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) | 0) + day - 1
  const leapDays = (yearOfEra >> 2) - ((yearOfEra / 100) | 0)
  return era * 146_097 + yearOfEra * 365 + leapDays + dayOfYear - 719_468
}

/** Days of a month. */
export function daysIn(year: number, month: number): number {
  if (month !== 2) return 30 + ((month + (month >> 3)) & 1)
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}
