/** Times of requests: RFC 3339, `now`, and so long before it: `-15m`, `now-15m`. */
import { IngestError } from '../errors.ts'
import { RFC3339_MS_MAX, RFC3339_MS_MIN, tryParseRfc3339 } from '../model/rfc3339.ts'

const NS_PER_MS = 1_000_000n
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const
const BEFORE_NOW = /^(?:now)?-([0-9]{1,9})([smhdw])$/

/** The first nanosecond that RFC 3339 can write, and the first that it cannot. */
export const MOMENT_NS_MIN = BigInt(RFC3339_MS_MIN) * NS_PER_MS
const MOMENT_NS_END = BigInt(RFC3339_MS_MAX + 1) * NS_PER_MS

/**
 * Nanoseconds since 1970 of a member `name`. An epoch number is refused: seconds, milliseconds and
 * nanoseconds look alike; the message says which time it would be. So is a time that no answer
 * could tell: so long before now, or in a zone, that its year has no four digits. Throws
 * `malformed`.
 */
export function readMoment(name: string, value: unknown, nowMs: number): bigint {
  const ns = typeof value === 'string' ? tryReadMoment(value, nowMs) : undefined
  if (ns !== undefined && ns >= MOMENT_NS_MIN && ns < MOMENT_NS_END) return ns
  if (ns !== undefined) {
    throw new IngestError('malformed', `"${name}" must lie in the years 0000 to 9999, in UTC`)
  }
  throw new IngestError('malformed', `"${name}" must be ${momentWords(value)}`)
}

function tryReadMoment(text: string, nowMs: number): bigint | undefined {
  if (text === 'now') return BigInt(nowMs) * NS_PER_MS
  const [, count, unit] = BEFORE_NOW.exec(text) ?? []
  if (unit === undefined) return tryParseRfc3339(text)
  const agoMs = BigInt(count ?? 0) * BigInt(UNIT_MS[unit as keyof typeof UNIT_MS])
  return (BigInt(nowMs) - agoMs) * NS_PER_MS
}

/** Completes "must be …" for a value that is not a time. */
export function momentWords(value: unknown): string {
  const words = 'an RFC 3339 time such as "2026-01-31T12:00:00Z", "now", or a time before it such '
  const repair = tryRepair(value)
  const hint = repair === undefined ? '' : `; write ${JSON.stringify(repair)}`
  return `${words}as "-15m" (s, m, h, d, w)${hint}`
}

/** What was meant, as it is to be written: of epoch numbers, dates, times without a zone. */
function tryRepair(value: unknown): string | undefined {
  const isEpoch = typeof value === 'string' && /^-?[0-9]+(?:\.[0-9]+)?$/.test(value)
  if (typeof value === 'number' || isEpoch) return tryFormatEpoch(Number(value))
  if (typeof value !== 'string') return undefined
  const withTime = /^\d{4}-\d\d-\d\d$/.test(value) ? `${value}T00:00:00Z` : `${value}Z`
  return tryParseRfc3339(withTime) === undefined ? undefined : withTime
}

/** Of epoch numbers from 1973 on the unit shows in their size. */
function tryFormatEpoch(epoch: number): string | undefined {
  const size = Math.abs(epoch)
  const perMs = size < 1e11 ? 1e-3 : size < 1e14 ? 1 : size < 1e17 ? 1e3 : 1e6
  const ms = Math.round(epoch / perMs)
  return Math.abs(ms) <= RFC3339_MS_MAX ? new Date(ms).toISOString() : undefined
}
