/** Buckets of time: of which step, from where, how many. */
import { IngestError } from '../../errors.ts'
import { AUTO_BUCKETS_MAX, QUERY_BUCKETS_MAX } from '../../limits.ts'
import type { Buckets } from '../../model/aggregates.ts'
import { clampNs } from '../../model/int64.ts'
import { formatTimeMs } from '../../model/rfc3339.ts'
import type { TimeRange } from '../answer-coverage.ts'

const UNITS = [
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
] as const
const STEP_MS_MAX = 366 * 86_400_000

/** Steps that people read easily, smallest first: 1, 2 and 5, and those that divide a day. */
const AUTO_STEPS_MS: readonly number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600_000),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000].map((days) => days * 86_400_000),
]

/** `bucket` is `auto` or a step such as `5m`. Throws `malformed`. */
export function planBuckets(name: string, bucket: string, range: TimeRange): Buckets {
  if (bucket === 'auto') return autoBuckets(range)
  const [, digits, unit] = /^([1-9][0-9]{0,9})(ms|[smhdw])$/.exec(bucket) ?? []
  const unitMs = UNITS.find(([one]) => one === unit)?.[1]
  const stepMs = Number(digits) * (unitMs ?? Number.NaN)
  if (!(stepMs <= STEP_MS_MAX)) {
    const rule = 'must be "auto" or a step such as "5m" (ms, s, m, h, d, w), at most 366 days'
    throw new IngestError('malformed', `"${name}" ${rule}`)
  }
  const buckets = bucketsOf(range, stepMs)
  if (buckets.count <= QUERY_BUCKETS_MAX) return buckets
  const limit = `${QUERY_BUCKETS_MAX} (QUERY_BUCKETS_MAX)`
  const repair = `write "auto", or "${formatStep(autoBuckets(range).stepMs)}"`
  throw new IngestError(
    'malformed',
    `"${name}" makes ${buckets.count} buckets, over ${limit}; ${repair}`,
  )
}

/** The smallest step with at most `AUTO_BUCKETS_MAX` buckets. */
function autoBuckets(range: TimeRange): Buckets {
  const all = AUTO_STEPS_MS.map((stepMs) => bucketsOf(range, stepMs))
  return all.find(({ count }) => count <= AUTO_BUCKETS_MAX) ?? all.at(-1)!
}

function bucketsOf({ fromNs, toNs }: TimeRange, stepMs: number): Buckets {
  const [from, to] = [clampNs(fromNs), clampNs(toNs)]
  const stepNs = BigInt(stepMs) * 1_000_000n
  const first = floorDiv(from, stepNs)
  return {
    stepMs,
    startMs: Number(first) * stepMs,
    // The last one holds `to` less a nanosecond.
    count: Math.max(1, Number(floorDiv(to - 1n, stepNs) - first) + 1),
  }
}

function floorDiv(value: bigint, by: bigint): bigint {
  const quotient = value / by
  return value % by < 0n ? quotient - 1n : quotient
}

/** The start of a bucket. */
export function bucketTime({ startMs, stepMs }: Buckets, index: number): string {
  return formatTimeMs(startMs + index * stepMs)
}

/** How much of a bucket is in the range, in seconds. */
export function bucketSeconds(
  buckets: Buckets,
  index: number,
  { fromNs, toNs }: TimeRange,
): number {
  const start = BigInt(buckets.startMs + index * buckets.stepMs) * 1_000_000n
  const end = start + BigInt(buckets.stepMs) * 1_000_000n
  const covered = (end < toNs ? end : toNs) - (start > fromNs ? start : fromNs)
  return Number(covered) / 1e9
}

/** `5m`, in the largest unit that divides. */
export function formatStep(stepMs: number): string {
  const [name, unitMs] = UNITS.findLast(([one, ms]) => one !== 'w' && stepMs % ms === 0)!
  return `${stepMs / unitMs}${name}`
}
