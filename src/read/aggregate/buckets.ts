/** Buckets of time: of which step, from where, how many, by the clocks of a time zone. */
import { IngestError } from '../../errors.ts'
import { AUTO_BUCKETS_MAX, QUERY_BUCKETS_MAX } from '../../limits.ts'
import type { Buckets } from '../../model/aggregates.ts'
import { clampNs } from '../../model/int64.ts'
import { formatTimeMs } from '../../model/rfc3339.ts'
import type { TimeRange } from '../answer-coverage.ts'
import { momentOf, TimeZone, UTC } from './time-zone.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const UNITS = [
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', HOUR_MS],
  ['d', DAY_MS],
  ['w', 7 * DAY_MS],
  // As long as a month may be: it is only there to count them.
  ['M', 31 * DAY_MS],
] as const
type UnitName = (typeof UNITS)[number][0]
/** 1970 began on a Thursday, weeks begin on Mondays. */
const FIRST_MONDAY_MS = 4 * DAY_MS
const STEP_MS_MAX = 366 * DAY_MS
const MONTHS_MAX = 12
/** Local times are at most this far from UTC. */
const OFFSET_MS_MAX = 2 * DAY_MS

export interface Step {
  readonly count: number
  readonly unit: UnitName
}

/** Steps that people read easily, smallest first: 1, 2 and 5, and those that divide a day. */
const AUTO_STEPS: readonly Step[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map(stepsOf('ms')),
  ...[1, 2, 5, 10, 15, 30].map(stepsOf('s')),
  ...[1, 2, 5, 10, 15, 30].map(stepsOf('m')),
  ...[1, 2, 3, 6, 12].map(stepsOf('h')),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000].map(stepsOf('d')),
]

function stepsOf(unit: UnitName) {
  return (count: number): Step => ({ count, unit })
}

function stepMsOf({ count, unit }: Step): number {
  return count * UNITS.find(([name]) => name === unit)![1]
}

/** How many buckets there may be, and the name of that limit. */
export interface BucketsMax {
  readonly max: number
  readonly name: string
  /** What to do about it; a step that fits when left out. */
  readonly repair?: string
}

const OUR_MAX: BucketsMax = { max: QUERY_BUCKETS_MAX, name: 'QUERY_BUCKETS_MAX' }

/**
 * `bucket` is `auto` or a step such as `5m`; `timeZone` a name of IANA's list. Throws `malformed`.
 */
export function planBuckets(
  name: string,
  bucket: string,
  range: TimeRange,
  timeZone: string = UTC,
  bucketsMax: BucketsMax = OUR_MAX,
): Buckets {
  const zone = new TimeZone('time_zone', timeZone)
  if (bucket === 'auto') return bucketsOf(range, autoStep(range), zone)
  const [, digits, unit] = /^([1-9][0-9]{0,9})(ms|[smhdwM])$/.exec(bucket) ?? []
  const step = { count: Number(digits), unit: (unit ?? 'ms') as UnitName }
  const isLong = unit === 'M' ? step.count > MONTHS_MAX : stepMsOf(step) > STEP_MS_MAX
  if (unit === undefined || isLong) {
    const rule = 'must be "auto" or a step such as "5m" (ms, s, m, h, d, w, M for months)'
    throw new IngestError('malformed', `"${name}" ${rule}, at most a year`)
  }
  // Months are shorter than they are counted as, so the buckets themselves count as well.
  const { max } = bucketsMax
  const buckets = countOf(range, step) <= max && bucketsOf(range, step, zone)
  if (buckets && buckets.count <= max) return buckets
  const count = buckets ? buckets.count : countOf(range, step)
  const limit = `${max} (${bucketsMax.name})`
  const { repair = `write "auto", or "${formatStep(autoStep(range))}"` } = bucketsMax
  throw new IngestError('malformed', `"${name}" makes ${count} buckets, over ${limit}; ${repair}`)
}

/** The smallest step with at most `AUTO_BUCKETS_MAX` buckets. */
function autoStep(range: TimeRange): Step {
  return AUTO_STEPS.find((step) => countOf(range, step) <= AUTO_BUCKETS_MAX) ?? AUTO_STEPS.at(-1)!
}

/** By UTC. */
function countOf({ fromNs, toNs }: TimeRange, step: Step): number {
  const stepNs = BigInt(stepMsOf(step)) * 1_000_000n
  const first = floorDiv(clampNs(fromNs), stepNs)
  // The last one holds `to` less a nanosecond.
  return Math.max(1, Number(floorDiv(clampNs(toNs) - 1n, stepNs) - first) + 1)
}

function bucketsOf(range: TimeRange, step: Step, zone: TimeZone): Buckets {
  const fromMs = Number(floorDiv(clampNs(range.fromNs), 1_000_000n))
  const untilMs = Math.max(fromMs, Number(floorDiv(clampNs(range.toNs) - 1n, 1_000_000n)))
  const offsets = zone.name === UTC ? [] : zone.offsetsBetween(fromMs - OFFSET_MS_MAX, untilMs)
  const stepMs = stepMsOf(step)
  const named = { step: formatStep(step), timeZone: zone.name }
  const isEven = step.unit !== 'M' && (offsets.length <= 1 || stepMs < HOUR_MS)
  if (isEven) {
    const offsetMs = offsets.at(-1)?.offsetMs ?? 0
    const startMs = floorLocal(fromMs + offsetMs, step) - offsetMs
    const count = Math.floor((untilMs - startMs) / stepMs) + 1
    return { ...named, stepMs, startMs, count }
  }
  const starts = unevenStarts(fromMs, untilMs, step, offsets)
  return { ...named, stepMs, startMs: starts[0]!, count: starts.length - 1, starts }
}

type Offsets = ReturnType<TimeZone['offsetsBetween']>

/** Of each bucket, and of the one after the last. */
function unevenStarts(fromMs: number, untilMs: number, step: Step, offsets: Offsets): number[] {
  const starts =
    step.unit === 'h'
      ? hourStarts(untilMs, step, offsets)
      : dayStarts(fromMs, untilMs, step, offsets)
  return starts.slice(starts.findLastIndex((start) => start <= fromMs))
}

/** Where clocks show a multiple of the step. Hours that come twice are two buckets. */
function hourStarts(untilMs: number, step: Step, offsets: Offsets): number[] {
  const stepMs = stepMsOf(step)
  return offsets.flatMap(({ fromMs, offsetMs }, index) => {
    // The last one has the end of the bucket of `untilMs` as well.
    const endMs = offsets[index + 1]?.fromMs ?? untilMs + stepMs + 1
    const firstMs = floorLocal(fromMs + offsetMs - 1, step) + stepMs - offsetMs
    const count = Math.max(0, Math.ceil((endMs - firstMs) / stepMs))
    return Array.from({ length: count }, (_, at) => firstMs + at * stepMs)
  })
}

/** Days, weeks and months begin once, whatever clocks do. */
function dayStarts(fromMs: number, untilMs: number, step: Step, offsets: Offsets): number[] {
  const fromOffset = offsets.findLast((offset) => offset.fromMs <= fromMs)?.offsetMs ?? 0
  const starts: number[] = []
  // From one step earlier: where clocks are put back, what they show now began before.
  let localMs = floorLocal(floorLocal(fromMs + fromOffset, step) - 1, step)
  for (let last = Number.NEGATIVE_INFINITY; last <= untilMs; ) {
    last = momentOf(localMs, offsets)
    starts.push(last)
    localMs = nextLocal(localMs, step)
  }
  return starts
}

/** The start of the step that a local time is in. */
function floorLocal(localMs: number, step: Step): number {
  const { count, unit } = step
  if (unit === 'M') return monthStart(Math.floor(monthOf(localMs) / count) * count)
  const stepMs = stepMsOf(step)
  const origin = unit === 'w' ? FIRST_MONDAY_MS : 0
  return Math.floor((localMs - origin) / stepMs) * stepMs + origin
}

function nextLocal(localMs: number, step: Step): number {
  if (step.unit === 'M') return monthStart(monthOf(localMs) + step.count)
  return localMs + stepMsOf(step)
}

/** Months since the year 0. */
function monthOf(localMs: number): number {
  const date = new Date(localMs)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

function monthStart(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12)
}

function floorDiv(value: bigint, by: bigint): bigint {
  const quotient = value / by
  return value % by < 0n ? quotient - 1n : quotient
}

/** When a bucket begins, in milliseconds since 1970; that after the last one is where it ends. */
export function bucketStartMs({ startMs, stepMs, starts }: Buckets, index: number): number {
  return starts === undefined ? startMs + index * stepMs : starts[index]!
}

/** The start of a bucket: in UTC, or with the offset of its time zone. */
export function bucketTime(buckets: Buckets, index: number): string {
  const ms = bucketStartMs(buckets, index)
  if (buckets.timeZone === UTC) return formatTimeMs(ms)
  const offsetMs = zoneOf(buckets).offsetMsAt(ms)
  const minutes = Math.abs(Math.round(offsetMs / 60_000))
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const offset = `${offsetMs < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`
  return `${formatTimeMs(ms + offsetMs).slice(0, -1)}${offset}`
}

let lastZone: TimeZone | undefined

/** Answers name the times of many buckets of one zone. */
function zoneOf({ timeZone }: Buckets): TimeZone {
  if (lastZone?.name !== timeZone) lastZone = new TimeZone('time_zone', timeZone)
  return lastZone
}

/** How much of a bucket is in the range, in seconds. */
export function bucketSeconds(
  buckets: Buckets,
  index: number,
  { fromNs, toNs }: TimeRange,
): number {
  const start = BigInt(bucketStartMs(buckets, index)) * 1_000_000n
  const end = BigInt(bucketStartMs(buckets, index + 1)) * 1_000_000n
  const covered = (end < toNs ? end : toNs) - (start > fromNs ? start : fromNs)
  return Number(covered) / 1e9
}

/** `5m`, in the largest unit that divides. */
function formatStep(step: Step): string {
  if (step.unit === 'M' || step.unit === 'w') return `${step.count}${step.unit}`
  const stepMs = stepMsOf(step)
  const [name, unitMs] = UNITS.findLast(([one, ms]) => !/[wM]/.test(one) && stepMs % ms === 0)!
  return `${stepMs / unitMs}${name}`
}

/** What answers say of the buckets; the milliseconds only where all have as many. */
export function bucketMembers(buckets: Buckets | undefined) {
  return {
    bucket: buckets?.step ?? null,
    bucket_ms: buckets === undefined || buckets.starts !== undefined ? null : buckets.stepMs,
    time_zone: buckets?.timeZone ?? null,
  }
}
