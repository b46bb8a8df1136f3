/** Date-times between two moments, as `tryReadTime` reads them. */
import type { Bound } from '../../src/language/query-tree.ts'
import { MomentReader } from './moment-reader.ts'
import type { StringTest } from './string-test.ts'

/** Nanoseconds since 1970 in two numbers, as doubles do not have that many digits. */
export interface Moment {
  /** Whole milliseconds. */
  readonly ms: number
  /** Nanoseconds beyond them, 0 to 999,999. */
  readonly nanos: number
}

const NS_PER_MS = 1_000_000n

export function momentOf(ns: bigint): Moment {
  const nanos = ((ns % NS_PER_MS) + NS_PER_MS) % NS_PER_MS
  return { ms: Number((ns - nanos) / NS_PER_MS), nanos: Number(nanos) }
}

/** Whether a moment is between two bounds. */
export type MomentTest = (ms: number, nanos: number) => boolean

export function makeMomentTest(low: Bound | undefined, high: Bound | undefined): MomentTest {
  const first = low && momentOf(low.value.timeNs! + (low.isInclusive ? 0n : 1n))
  const last = high && momentOf(high.value.timeNs! - (high.isInclusive ? 0n : 1n))
  return (ms, nanos) => {
    if (first !== undefined && isBefore(ms, nanos, first.ms, first.nanos)) return false
    return last === undefined || !isBefore(last.ms, last.nanos, ms, nanos)
  }
}

export function isBefore(ms: number, nanos: number, otherMs: number, otherNanos: number): boolean {
  return ms < otherMs || (ms === otherMs && nanos < otherNanos)
}

export function makeTimeTest(low: Bound | undefined, high: Bound | undefined): StringTest {
  const isBetween = makeMomentTest(low, high)
  const moment = new MomentReader()
  return (bytes, start, end) =>
    moment.tryRead(bytes, start, end) && isBetween(moment.ms, moment.nanos)
}
