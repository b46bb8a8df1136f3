/** What an answer says of itself: how much of the question it covers, and how fresh it is. */
import { floorMs, formatTimeMs } from '../model/rfc3339.ts'

/** Nanoseconds since 1970, half-open. */
export interface TimeRange {
  readonly fromNs: bigint
  readonly toNs: bigint
}

/** Of what is counted in streams with fields that were never learned (`missesPaths`). */
export const UNLEARNED = { reason: 'unlearned_fields', covered: undefined } as const

export interface Honesty {
  /** Why less is covered than was asked for, and what; undefined when all is. */
  readonly shortfall?: { readonly reason: string; readonly covered: TimeRange | undefined }
  /** Every event that was acknowledged before is in the answer. */
  readonly asOfMs: number
  readonly nowMs: number
  /** Some of the events represent all of them. */
  readonly isSampled?: boolean
}

/** The members of `HONEST_PROPERTIES`. */
export function honestMembers({ shortfall, asOfMs, nowMs, isSampled = false }: Honesty) {
  const covered = shortfall?.covered
  return {
    complete: shortfall === undefined,
    reason: shortfall?.reason ?? null,
    covered: covered
      ? { from: formatTimeNs(covered.fromNs), to: formatTimeNs(covered.toNs) }
      : null,
    as_of: formatTimeMs(asOfMs),
    lag_ms: Math.max(0, Math.round(nowMs - asOfMs)),
    sampled: isSampled,
  }
}

const NS_PER_MS = 1_000_000n

/** RFC 3339 with milliseconds, or with all nine digits where there is more. */
export function formatTimeNs(ns: bigint): string {
  const ms = floorMs(ns)
  const rest = ns - ms * NS_PER_MS
  const text = formatTimeMs(Number(ms))
  return rest === 0n ? text : `${text.slice(0, -1)}${String(rest).padStart(6, '0')}Z`
}
