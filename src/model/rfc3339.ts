/** RFC 3339 date-times of requests, as nanoseconds since 1970. A zone is required. */

const FORMAT =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/
const NS_PER_MS = 1_000_000n
/** The first millisecond of the year 0000. */
export const RFC3339_MS_MIN = -62_167_219_200_000
/** The last millisecond of the year 9999. */
export const RFC3339_MS_MAX = 253_402_300_799_999
/** What Prometheus and Alertmanager write for "never" and "not yet". */
export const NO_TIME = '0001-01-01T00:00:00Z'

/** Nanoseconds since 1970 (negative before), or undefined when `text` is not an RFC 3339 time. */
export function tryParseRfc3339(text: string): bigint | undefined {
  const match = FORMAT.exec(text)
  if (match === null) return undefined
  const field = (index: number) => Number(match[index] ?? 0)
  const [year, month, day] = [field(1), field(2), field(3)]
  const [hour, minute, second] = [field(4), field(5), field(6)]
  if (hour > 23 || minute > 59 || second > 60 || field(9) > 23 || field(10) > 59) return undefined
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day) // Not Date.UTC, which takes year 26 for 1926.
  // A day that the month does not have would silently become one of the next month.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  // A leap second is the first moment of the next minute, as everywhere in Unix time.
  const ms = date.getTime() + ((hour * 60 + minute) * 60 + second) * 1_000
  const zoneMs = (field(9) * 60 + field(10)) * 60_000 * (match[8] === '-' ? -1 : 1)
  return BigInt(ms - zoneMs) * NS_PER_MS + BigInt((match[7] ?? '').padEnd(9, '0'))
}

/** The last whole millisecond not after `ns`: also before 1970. */
export function floorMs(ns: bigint): bigint {
  const quotient = ns / NS_PER_MS // Rounds towards zero, which for negatives is up.
  return ns < 0n && ns % NS_PER_MS !== 0n ? quotient - 1n : quotient
}

/** The first whole millisecond not before `ns`: `t >= ns` is `tMs >= ceilMs(ns)`, same for `<`. */
export function ceilMs(ns: bigint): bigint {
  const quotient = ns / NS_PER_MS // Rounds towards zero, which for negatives is up already.
  return ns > 0n && ns % NS_PER_MS !== 0n ? quotient + 1n : quotient
}

/** `2026-01-02T03:04:05.678Z`. */
export function formatTimeMs(ms: number): string {
  return new Date(ms).toISOString()
}
