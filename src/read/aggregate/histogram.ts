/**
 * Histogram: counts by time and level. When there is no time for the whole range, the answer covers
 * its newest part and says so.
 */

import type { Schema } from '../../api/schema.ts'
import { IngestError } from '../../errors.ts'
import type { Buckets } from '../../model/aggregates.ts'
import type { AggregateResult } from '../../store/projection/reads/aggregate-store.ts'
import { type Honesty, honestMembers, type TimeRange, UNLEARNED } from '../answer-coverage.ts'
import { countedFor, missesPaths } from '../depends-on-catalog.ts'
import type { AskedStreams } from '../read-deps.ts'
import { type ReadMembers, type ReadRequest, readRequest } from '../read-request.ts'
import { READ_PROPERTIES, TIME_ZONE } from '../schemas.ts'
import type { AggregateDeps } from './aggregate.ts'
import { bucketMembers, bucketStartMs, bucketTime, planBuckets } from './buckets.ts'

export const HISTOGRAM_PROPERTIES = {
  ...READ_PROPERTIES,
  bucket: { type: 'string', default: 'auto', description: '`auto` or a step such as `5m`' },
  time_zone: TIME_ZONE,
} as const satisfies Readonly<Record<string, Schema>>

export interface HistogramRequest extends ReadRequest {
  readonly buckets: Buckets
}

/** `members` are as `HISTOGRAM_PROPERTIES` say. Throws `malformed`. */
export function readHistogramRequest(members: ReadMembers, nowMs: number): HistogramRequest {
  const read = readRequest(members, nowMs)
  const { bucket = 'auto', time_zone: zone } = members
  return {
    ...read,
    buckets: planBuckets('bucket', bucket as string, read, zone as string | undefined),
  }
}

/** The level of events that have none. */
const NONE = 'none'
/** How much of the time the whole range may take before its parts are tried. */
const WHOLE_SHARE = 0.6
/** The newest one of this many parts is read first; each further part has twice as many buckets. */
const FIRST_PART = 16
const NS_PER_MS = 1_000_000n

/** Counts by level of each bucket that has any, and what of the range they cover. */
interface Counted {
  readonly buckets: ReadonlyMap<number, ReadonlyMap<string, bigint>>
  readonly covered: TimeRange | undefined
}

/** The answer as JSON. `signal` ends it. Throws `malformed`, `unavailable`. */
export async function histogram(
  deps: AggregateDeps,
  request: HistogramRequest,
  streams: AskedStreams,
  signal: AbortSignal,
): Promise<string> {
  const startMs = performance.now()
  const opened = await deps.openStreams(streams)
  const { sources } = opened
  const part = countedFor([request.query], opened)
  const run = (range: TimeRange, timeoutMs: number) =>
    deps.runAggregate(
      {
        ...request,
        ...range,
        timeoutMs: Math.max(1, Math.round(timeoutMs)),
        streams: sources,
        ...part,
        aggregates: [{ fn: 'count', field: undefined, query: undefined, name: 'count' }],
        keys: [
          { kind: 'bucket', name: '_bucket', buckets: request.buckets },
          { kind: 'system', label: '_level', name: '_level' },
        ],
        order: { of: 'aggregate', index: 0, isDescending: true },
        limit: LEVELS_MAX,
        hasOthers: false,
        isUnordered: true,
      },
      signal,
    )
  const deadlineMs = startMs + request.timeoutMs
  const counted = await countNewest(request, run, () => deadlineMs - performance.now())
  const { covered } = counted
  const unlearned = missesPaths([request.query], sources) ? UNLEARNED : undefined
  const shortfall = covered ? { reason: 'timeout', covered } : unlearned
  const honesty = { asOfMs: part.asOfMs, nowMs: deps.nowMs(), ...(shortfall && { shortfall }) }
  return histogramJson(request, counted, honesty, performance.now() - startMs)
}

/** Six levels, and none. */
const LEVELS_MAX = 16

type Run = (range: TimeRange, timeoutMs: number) => Promise<AggregateResult>

async function countNewest(
  request: HistogramRequest,
  run: Run,
  leftMs: () => number,
): Promise<Counted> {
  try {
    const whole = await run(request, leftMs() * WHOLE_SHARE)
    return { buckets: addCounts([whole]), covered: undefined }
  } catch (cause) {
    if (!isTimeout(cause)) throw cause
    const results = await countParts(request, run, leftMs)
    const [oldest] = results.slice(-1)
    if (oldest === undefined) throw cause
    const isWhole = oldest.range.fromNs === request.fromNs
    return {
      buckets: addCounts(results.map(({ result }) => result)),
      covered: isWhole ? undefined : { fromNs: oldest.range.fromNs, toNs: request.toNs },
    }
  }
}

/** Parts of the range, newest first, while there is time. They meet where buckets do. */
async function countParts(
  { buckets, fromNs, toNs }: HistogramRequest,
  run: Run,
  leftMs: () => number,
) {
  const results: { readonly range: TimeRange; readonly result: AggregateResult }[] = []
  let end = toNs
  let count = Math.ceil(buckets.count / FIRST_PART)
  let index = buckets.count
  while (end > fromNs && leftMs() > 0) {
    index = Math.max(0, index - count)
    const start = BigInt(bucketStartMs(buckets, index)) * NS_PER_MS
    const range = { fromNs: start > fromNs ? start : fromNs, toNs: end }
    try {
      results.push({ range, result: await run(range, leftMs()) })
    } catch (cause) {
      if (isTimeout(cause)) break
      throw cause
    }
    end = range.fromNs
    count *= 2
  }
  return results
}

function isTimeout(cause: unknown): boolean {
  return cause instanceof IngestError && cause.members?.reason === 'timeout'
}

function addCounts(results: readonly AggregateResult[]): Map<number, Map<string, bigint>> {
  const buckets = new Map<number, Map<string, bigint>>()
  for (const { bucket = 0, group, values } of results.flatMap(({ rows }) => rows)) {
    const levels = buckets.get(bucket) ?? new Map<string, bigint>()
    buckets.set(bucket, levels)
    const level = group[0]?.kind === 'string' ? group[0].text : NONE
    levels.set(level, (levels.get(level) ?? 0n) + BigInt(values[0] ?? '0'))
  }
  return buckets
}

function histogramJson(
  { buckets }: HistogramRequest,
  { buckets: counted }: Counted,
  honesty: Honesty,
  elapsedMs: number,
): string {
  const levels = [...new Set([...counted.values()].flatMap((one) => [...one.keys()]))].sort()
  let total = 0n
  const rows = Array.from({ length: buckets.count }, (_, index) => {
    const counts = levels.map((level) => counted.get(index)?.get(level) ?? 0n)
    const count = counts.reduce((sum, one) => sum + one, 0n)
    total += count
    const named = levels.map((level, at) => `${JSON.stringify(level)}:${counts[at]}`)
    const time = bucketTime(buckets, index)
    return `{"_bucket":"${time}","count":${count},"levels":{${named.join(',')}}}`
  })
  const tail = {
    ...bucketMembers(buckets),
    ...honestMembers(honesty),
    stats: { elapsed_ms: Math.round(elapsedMs * 10) / 10 },
  }
  return `{"buckets":[${rows.join(',')}],"total":${total},${JSON.stringify(tail).slice(1)}`
}
