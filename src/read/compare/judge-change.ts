/**
 * Whether a value comes more or less often than before: not by chance, given how many values were
 * looked at and how much they vary anyway; by a factor that matters; and beyond what others do,
 * so that more traffic, or the night, changes nothing.
 */

import type { BothCounts } from '../../store/projection/reads/compare-task.ts'

/** A change by less is none. */
export const FACTOR_MIN = 1.5
/** Events that there must be, on the side that has more. */
export const EVENTS_MIN = 10
/** How likely it may be that any finding of a comparison is one by chance. */
const CHANCE_MAX = 0.001

/** What counts are compared to. */
export interface Scale {
  /** All events. */
  readonly events: BothCounts
  /** How long both sides are, in any unit; or how many events, where shares are compared. */
  readonly spans: BothCounts
  /** How many values are looked at in all. */
  readonly tests: number
  /** 1, or 10 where one event in ten was looked at. */
  readonly eventsMin?: number
}

export interface Change {
  readonly isMore: boolean
  /** Infinite where there was none before. */
  readonly factor: number
  /** The log-likelihood ratio G², divided by how much the value varies anyway. */
  readonly score: number
}

/**
 * `others`: the factor of what it is compared to; of all other events when left out. `spread`: how
 * many times as much as by chance it varies anyway.
 */
export function judgeChange(
  counts: BothCounts,
  { events, spans, tests, eventsMin = EVENTS_MIN }: Scale,
  { others, spread = 1 }: { readonly others?: number | undefined; readonly spread?: number } = {},
): Change | undefined {
  const { window, baseline } = counts
  const rest = { window: events.window - window, baseline: events.baseline - baseline }
  const factor = factorOf(counts, spans)
  const general = others ?? factorOf(rest, spans)
  if (factor === undefined || general === undefined) return undefined
  const isMore = factor > FACTOR_MIN * Math.max(1, general)
  const isFewer = factor < Math.min(1, general) / FACTOR_MIN
  const expected = (baseline * spans.window) / spans.baseline
  if (!(isMore && window >= eventsMin) && !(isFewer && expected >= eventsMin)) return undefined
  const score = gSquared(counts, events) / Math.max(1, spread)
  return chanceOf(score) * Math.max(1, tests) < CHANCE_MAX ? { isMore, factor, score } : undefined
}

/** How many times as frequent; undefined where there are none on either side. */
export function factorOf(counts: BothCounts, spans: BothCounts): number | undefined {
  if (counts.window === 0 && counts.baseline === 0) return undefined
  if (counts.baseline === 0) return Number.POSITIVE_INFINITY
  return counts.window / spans.window / (counts.baseline / spans.baseline)
}

/** The log-likelihood ratio of two shares (Dunning 1993). */
export function gSquared({ window: a, baseline: b }: BothCounts, events: BothCounts): number {
  const all = events.window + events.baseline
  const term = (count: number, row: number, column: number) => {
    return count === 0 ? 0 : count * Math.log((count * all) / (row * column))
  }
  const has = a + b
  const without = all - has
  const sum =
    term(a, has, events.window) +
    term(b, has, events.baseline) +
    term(events.window - a, without, events.window) +
    term(events.baseline - b, without, events.baseline)
  return Math.max(0, 2 * sum)
}

/** How likely G² is at least so large by chance: chi-squared of one degree of freedom. */
export function chanceOf(score: number): number {
  return erfc(Math.sqrt(score / 2))
}

/** To one part in ten million everywhere (Numerical Recipes, `erfcc`). */
function erfc(x: number): number {
  const t = 1 / (1 + x / 2)
  const terms = [
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398,
    1.48851587, -0.82215223, 0.17087277,
  ]
  const sum = terms.reduceRight((rest, term) => term + t * rest, 0)
  return t * Math.exp(-x * x + sum)
}

/** Of eight parts, one in a hundred values that vary by chance alone varies by more. */
const SPREAD_MIN = 2.6
/** All or nothing in most parts: no share of the parts together says what is usual. */
const UNSTEADY_MIN = 0.3

/**
 * How many times as much as by chance a value's share varies from part to part of the baseline:
 * Pearson's chi-squared by its degrees of freedom; infinite where it is not steady at all. `all`
 * are the events of each part.
 */
export function spreadOf(counts: readonly number[], all: readonly number[]): number {
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  const share = sum(counts) / sum(all)
  const parts = all.filter((events) => events > 0).length
  if (!(share > 0 && share < 1) || parts < 2) return 1
  const squares = all.map((events, at) => {
    const expected = events * share
    return events === 0 ? 0 : (counts[at]! - expected) ** 2 / (expected * (1 - share))
  })
  // Cramér's V, squared.
  if (sum(squares) > UNSTEADY_MIN * sum(all)) return Number.POSITIVE_INFINITY
  const spread = sum(squares) / (parts - 1)
  return spread < SPREAD_MIN ? 1 : spread
}
