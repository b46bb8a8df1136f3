/** Moments as Elasticsearch takes them: epoch numbers, dates, and date math: `now-1h/h`. */
import { floorMs, RFC3339_MS_MAX, RFC3339_MS_MIN, tryParseRfc3339 } from '../model/rfc3339.ts'
import { refused } from './members.ts'

export interface MomentOptions {
  readonly nowMs: number
  /** As in the request: names with `||` between them. */
  readonly format?: string | undefined
  /** What is left out counts as its end: the whole day of a date. */
  readonly roundsUp: boolean
}

const MATH = /([+\-/])([0-9]{0,9})([yMwdhHms])/g
const MATH_CHARS_MAX = 64
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, H: 3_600_000, d: 86_400_000 } as const
const DAY_MS = 86_400_000
const PARTIAL = /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d)(?::(\d\d))?)?)?)?$/
const WITHOUT_ZONE = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)$/

/** In whole milliseconds since 1970. */
export function readMomentMs(value: unknown, where: string, options: MomentOptions): number {
  const ms = tryReadMs(value, options)
  if (ms !== undefined && ms >= RFC3339_MS_MIN && ms <= RFC3339_MS_MAX) return ms
  throw refused(
    `${where} must be a time: milliseconds since 1970, a date-time, or date math such as now-1h`,
    'parse_exception',
  )
}

function tryReadMs(value: unknown, options: MomentOptions): number | undefined {
  const { format = '' } = options
  const formats = format.split('||')
  const isEpoch = formats.some((one) => one.startsWith('epoch_'))
  const unitMs = formats[0] === 'epoch_second' ? 1_000 : 1
  if (typeof value === 'number') return Math.floor(value * unitMs)
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  if (/^-?[0-9]{1,16}(?:\.[0-9]{1,9})?$/.test(text) && (isEpoch || text.length > 4)) {
    return Math.floor(Number(text) * unitMs)
  }
  const [anchor, math] = splitMath(text)
  const startMs = anchor === 'now' ? options.nowMs : readDate(anchor, options.roundsUp && !math)
  return startMs === undefined ? undefined : applyMath(startMs, math, options.roundsUp)
}

function splitMath(text: string): readonly [anchor: string, math: string] {
  if (text.startsWith('now')) return ['now', text.slice(3)]
  const at = text.indexOf('||')
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 2)]
}

function readDate(text: string, roundsUp: boolean): number | undefined {
  const whole = tryParseRfc3339(text.replace(WITHOUT_ZONE, '$1T$2Z'))
  if (whole !== undefined) return Number(floorMs(whole))
  const parts = PARTIAL.exec(text)
  if (parts === null) return undefined
  const [year = 0, month, day, hour, minute] = parts.slice(1).map((part) => {
    return part === undefined ? undefined : Number(part)
  })
  const at = (more: readonly number[]) => {
    const [y = 0, mo = 0, d = 0, h = 0, mi = 0] = more
    return Date.UTC(
      year + y,
      (month ?? 1) - 1 + mo,
      (day ?? 1) + d,
      (hour ?? 0) + h,
      (minute ?? 0) + mi,
    )
  }
  const startMs = at([])
  // The 31st of February silently becomes one of March, the year 26 becomes 1926.
  if (!new Date(startMs).toISOString().startsWith(text.replace(' ', 'T'))) return undefined
  if (!roundsUp) return startMs
  // The last part that is there, one further.
  const last = [year, month, day, hour, minute].findLastIndex((part) => part !== undefined)
  return at(Array.from({ length: 5 }, (_, index) => (index === last ? 1 : 0))) - 1
}

function applyMath(startMs: number, math: string, roundsUp: boolean): number | undefined {
  if (math.length > MATH_CHARS_MAX || math.replace(MATH, '') !== '') return undefined
  let ms = startMs
  for (const [, operator, digits, unit = 's'] of math.matchAll(MATH)) {
    if (operator === '/') {
      if (digits !== '') return undefined
      ms = roundsUp ? add(floorTo(ms, unit), 1, unit) - 1 : floorTo(ms, unit)
    } else {
      ms = add(ms, Number(digits || 1) * (operator === '-' ? -1 : 1), unit)
    }
    if (!Number.isFinite(ms)) return undefined
  }
  return ms
}

function add(ms: number, count: number, unit: string): number {
  const date = new Date(ms)
  if (unit === 'y' || unit === 'M') return addMonths(date, unit === 'y' ? count * 12 : count)
  if (unit === 'w') return ms + count * 7 * DAY_MS
  return ms + count * UNIT_MS[unit as keyof typeof UNIT_MS]
}

/** A day that the month does not have is its last one. */
function addMonths(date: Date, count: number): number {
  const day = date.getUTCDate()
  const ms = date.setUTCMonth(date.getUTCMonth() + count)
  return date.getUTCDate() === day ? ms : date.setUTCDate(0)
}

function floorTo(ms: number, unit: string): number {
  const date = new Date(ms)
  if (unit === 'y') return Date.UTC(date.getUTCFullYear(), 0)
  if (unit === 'M') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
  if (unit !== 'w') {
    const step = UNIT_MS[unit as keyof typeof UNIT_MS]
    return Math.floor(ms / step) * step
  }
  // 1970 began on a Thursday, weeks begin on Mondays.
  return Math.floor((ms + 3 * DAY_MS) / (7 * DAY_MS)) * 7 * DAY_MS - 3 * DAY_MS
}
