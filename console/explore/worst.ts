/** Where in a histogram it is worst: what a person would draw over who looks for an incident. */
import { type Bucket, totalOf } from './counts.ts'

/** Bars that belong to it have this share of the errors of the highest. */
const SHARE = 1 / 3
/** So many bars in a row may have fewer, as one between two that are high. */
const GAP_MAX = 1

/**
 * The bars around that with the most errors, of all events where none is one, and a bar before
 * them: it begins in the middle of one, which then has few.
 */
export function worstOf(buckets: readonly Bucket[]): { from: number; to: number } | undefined {
  const errors = buckets.map(({ counts }) => (counts.error ?? 0) + (counts.fatal ?? 0))
  const counts = errors.some((count) => count > 0) ? errors : buckets.map(totalOf)
  const most = Math.max(0, ...counts)
  if (most === 0) return undefined
  const isHigh = (at: number) => (counts[at] ?? 0) >= most * SHARE
  const edge = (step: 1 | -1) => {
    let last = counts.indexOf(most)
    for (let at = last + step; Math.abs(at - last) <= GAP_MAX + 1; at += step) {
      if (isHigh(at)) last = at
    }
    return last
  }
  return { from: Math.max(0, edge(-1) - 1), to: edge(1) }
}
