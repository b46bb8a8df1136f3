/** Buckets of time as Elasticsearch asks for them. */
import { ELASTIC_BUCKETS_MAX } from '../../limits.ts'
import type { Buckets } from '../../model/aggregates.ts'
import { formatTimeMs } from '../../model/rfc3339.ts'
import { bucketTime, planBuckets } from '../../read/aggregate/buckets.ts'
import { clockOf, TIMESTAMP } from '../meant-fields.ts'
import { readInteger, readMembers, readOnly, readText, refused, shown } from '../members.ts'
import { readMomentMs } from '../read-moments.ts'
import type { AggsAbout, DateHistogramAgg } from './agg-tree.ts'

const MEMBERS = [
  'field',
  'fixed_interval',
  'calendar_interval',
  'interval',
  'min_doc_count',
  'extended_bounds',
  'format',
  'time_zone',
  'offset',
  'missing',
  'order',
  'keyed',
]

const CALENDAR: Readonly<Record<string, string>> = {
  second: '1s',
  minute: '1m',
  hour: '1h',
  day: '1d',
  week: '1w',
  month: '1M',
  quarter: '3M',
  year: '12M',
  '1q': '3M',
  '1y': '12M',
}
const FIXED = /^([0-9]{1,9})(ms|s|m|h|d|w|M|y|q)$/
const OFFSET = /^([+-]?)([0-9]{1,9})(ms|s|m|h|d)$/
const OFFSET_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const NS_PER_MS = 1_000_000n
const BUCKETS_MAX = {
  max: ELASTIC_BUCKETS_MAX,
  name: 'ELASTIC_BUCKETS_MAX',
  repair: 'take a longer interval',
} as const

export function readDateHistogram(
  value: unknown,
  where: string,
  { nowMs, range }: AggsAbout,
): Omit<DateHistogramAgg, 'name' | 'children'> {
  const members = readMembers(value, where, MEMBERS)
  const field = readText(members.field, `${where}.field`)
  const clock = clockOf(field)
  if (clock === undefined) {
    throw refused(`${where}: buckets of time are of ${TIMESTAMP} or _ingested_at`)
  }
  if (range?.fromMs === undefined || range.clock !== clock) {
    throw refused(`${where}: the query needs a range of ${shown(field)} around it`)
  }
  if (members.keyed === true) throw refused(`${where}.keyed is not supported`)
  const { bounds, extent } = readExtent(members.extended_bounds, where, {
    fromMs: range.fromMs,
    untilMs: Math.max(range.fromMs + 1, range.untilMs ?? nowMs + 1),
    nowMs,
    format: members.format,
  })
  const offsetMs = readOffset(members.offset, `${where}.offset`)
  const step = readStep(members, where)
  const zone = zoneName(members.time_zone, `${where}.time_zone`)
  const shifted = {
    fromNs: BigInt(extent.fromMs - offsetMs) * NS_PER_MS,
    toNs: BigInt(extent.untilMs - offsetMs) * NS_PER_MS,
  }
  const planned = planBuckets(where, step, shifted, zone, BUCKETS_MAX)
  const buckets = moved(planned, offsetMs)
  return {
    kind: 'date_histogram',
    buckets,
    bounds,
    eventsMin: readInteger(members.min_doc_count ?? 0, `${where}.min_doc_count`, {
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
    }),
    isDescending: readDirection(members.order, `${where}.order`),
    keyText: keyTextOf(members.format, `${where}.format`, buckets),
  }
}

/** The range, and what is filled with empty buckets beyond it. */
function readExtent(
  value: unknown,
  where: string,
  about: {
    readonly fromMs: number
    readonly untilMs: number
    readonly nowMs: number
    readonly format: unknown
  },
) {
  const at = `${where}.extended_bounds`
  const { fromMs, untilMs, nowMs } = about
  const given = value === undefined ? {} : readMembers(value, at, ['min', 'max'])
  const read = (one: unknown, name: string, roundsUp: boolean) => {
    if (one === undefined || one === '') return undefined
    const format = typeof about.format === 'string' ? about.format : undefined
    return readMomentMs(one, `${at}.${name}`, { nowMs, format, roundsUp })
  }
  const [min, max] = [read(given.min, 'min', false), read(given.max, 'max', true)]
  if (min !== undefined && max !== undefined && min > max) throw refused(`${at}: min is over max`)
  const extent = {
    fromMs: Math.min(fromMs, min ?? fromMs, max ?? fromMs),
    untilMs: Math.max(untilMs, (max ?? untilMs - 1) + 1, (min ?? untilMs - 1) + 1),
  }
  return { bounds: { min, max }, extent }
}

function readStep(members: Readonly<Record<string, unknown>>, where: string): string {
  const { calendar_interval: calendar, fixed_interval: fixed, interval } = members
  const given = calendar ?? fixed ?? interval
  const text = readText(given ?? '', `${where}.fixed_interval`)
  if (text === '') throw refused(`${where} needs a fixed_interval or a calendar_interval`)
  if (calendar !== undefined || fixed === undefined) {
    const known = Object.hasOwn(CALENDAR, text) ? CALENDAR[text] : undefined
    if (known !== undefined) return known
    if (calendar !== undefined && !/^1[smhdwM]$/.test(text)) {
      throw refused(`${where}.calendar_interval must be one of 1m, 1h, 1d, 1w, 1M, 1q, 1y`)
    }
  }
  const [, count, unit] = FIXED.exec(text) ?? []
  if (unit === undefined) throw refused(`${where}: ${shown(text)} is no interval such as 30s`)
  if (unit === 'y') return `${Number(count) * 12}M`
  return unit === 'q' ? `${Number(count) * 3}M` : `${Number(count)}${unit}`
}

function readOffset(value: unknown, where: string): number {
  if (value === undefined || value === 0 || value === '' || value === '0') return 0
  const [, sign, count, unit = ''] = OFFSET.exec(String(value)) ?? []
  const unitMs = OFFSET_MS[unit]
  if (unitMs === undefined) throw refused(`${where} must be such as +6h`)
  const ms = Number(count) * unitMs * (sign === '-' ? -1 : 1)
  if (Math.abs(ms) > 366 * 86_400_000) throw refused(`${where} is over a year`)
  return ms
}

/** `+02:00` is a zone, too; IANA has those of whole hours, with the sign reversed. */
function zoneName(value: unknown, where: string): string | undefined {
  const zone = value === undefined ? '' : readText(value, where)
  if (zone === '' || zone === 'utc' || zone === 'Z') return undefined
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? []
  if (sign === undefined) return zone
  if (minutes !== '00') throw refused(`${where}: name the zone, such as Asia/Kolkata`)
  const whole = Number(hours)
  return whole === 0 ? undefined : `Etc/GMT${sign === '+' ? '-' : '+'}${whole}`
}

function moved(buckets: Buckets, offsetMs: number): Buckets {
  if (offsetMs === 0) return buckets
  const { starts } = buckets
  const startMs = buckets.startMs + offsetMs
  return { ...buckets, startMs, ...(starts && { starts: starts.map((ms) => ms + offsetMs) }) }
}

function readDirection(value: unknown, where: string): boolean {
  if (value === undefined) return false
  const [name, direction] = readOnly(Array.isArray(value) ? value[0] : value, where)
  if (name === '_key' && (direction === 'asc' || direction === 'desc')) return direction === 'desc'
  throw refused(`${where} can be {"_key": "asc"} or {"_key": "desc"}`)
}

function keyTextOf(value: unknown, where: string, { timeZone }: Buckets) {
  const format = value === undefined || value === '' ? 'iso' : readText(value, where)
  if (format === 'epoch_millis') return (ms: number) => String(ms)
  if (format === 'epoch_second') return (ms: number) => String(Math.floor(ms / 1_000))
  if (!/^(?:iso|strict_date_optional_time(?:_nanos)?|date_optional_time|date_time)$/.test(format)) {
    throw refused(`${where} must be epoch_millis or strict_date_optional_time`)
  }
  if (timeZone === 'UTC') return formatTimeMs
  // With the offset of the zone, as elsewhere.
  const one = { stepMs: 1, count: 1, step: '1ms', timeZone }
  return (ms: number) => bucketTime({ ...one, startMs: ms }, 0)
}
