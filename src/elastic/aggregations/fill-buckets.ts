/** Which buckets of a histogram are in an answer: those with events, and empty ones between. */
import { ELASTIC_BUCKETS_MAX } from '../../limits.ts'
import { bucketStartMs } from '../../read/aggregate/buckets.ts'
import type { AggregateRow } from '../../store/projection/reads/aggregate-store.ts'
import { refused } from '../members.ts'
import type { DateHistogramAgg, HistogramAgg } from './agg-tree.ts'

type Rows = ReadonlyMap<number, AggregateRow>

/** The numbers of buckets of time, in their order. */
export function fillTimes({ buckets, bounds, eventsMin }: DateHistogramAgg, rows: Rows): number[] {
  if (eventsMin > 0) return withAtLeast(rows, eventsMin)
  const indexOf = (ms: number | undefined) => {
    if (ms === undefined) return []
    const { startMs, stepMs, starts, count } = buckets
    const index = starts
      ? starts.findLastIndex((start) => start <= ms)
      : Math.floor((ms - startMs) / stepMs)
    return index < 0 || index >= count || bucketStartMs(buckets, index) > ms ? [] : [index]
  }
  return between([...rows.keys(), ...indexOf(bounds.min), ...indexOf(bounds.max)])
}

/** The numbers of steps, in their order. */
export function fillSteps(agg: HistogramAgg, rows: Rows): number[] {
  const { step, offset, bounds, eventsMin } = agg
  if (eventsMin > 0) return withAtLeast(rows, eventsMin)
  const indexOf = (value: number | undefined) => {
    return value === undefined ? [] : [Math.floor((value - offset) / step)]
  }
  return between([...rows.keys(), ...indexOf(bounds.min), ...indexOf(bounds.max)])
}

function withAtLeast(rows: Rows, least: number): number[] {
  const some = [...rows].filter(([, row]) => Number(row.values[0]) >= least)
  return some.map(([index]) => index).sort((a, b) => a - b)
}

function between(indexes: readonly number[]): number[] {
  if (indexes.length === 0) return []
  const first = indexes.reduce((a, b) => Math.min(a, b))
  const count = indexes.reduce((a, b) => Math.max(a, b)) - first + 1
  if (count <= ELASTIC_BUCKETS_MAX) return Array.from({ length: count }, (_, at) => first + at)
  throw tooManyBuckets(count)
}

/** Past `ELASTIC_BUCKETS_MAX`. */
export function tooManyBuckets(count: number): Error {
  const limit = `${ELASTIC_BUCKETS_MAX} (ELASTIC_BUCKETS_MAX)`
  const repair = 'take a longer interval, fewer terms, or a shorter range'
  const reason = `the aggregations make up to ${count} buckets, over ${limit}; ${repair}`
  return refused(reason, 'too_many_buckets_exception')
}
