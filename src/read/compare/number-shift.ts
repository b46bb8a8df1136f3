/**
 * Whether a field's numbers are larger or smaller than before. They are counted by steps; of all
 * numbers that the events can be cut at, that one counts at which most changed. So a shift of a few
 * per cent of the events, which no median shows, is found as one of all.
 */
import type { Query } from '../../language/query-tree.ts'
import { makeRange, makeScalar } from '../../language/scalar.ts'
import type { FieldRef } from '../../model/aggregates.ts'
import { stepOrder, stepStart } from '../../model/number-steps.ts'
import type { BothCounts, ValueCount } from '../../store/projection/reads/compare-task.ts'
import { fieldOfRef } from '../value-clause.ts'
import { type Change, factorOf, judgeChange, type Scale } from './judge-change.ts'

/** To within a sixteenth. */
export interface SideNumbers {
  /** Events that have a number. */
  readonly count: number
  readonly p50: number | null
  readonly p95: number | null
}

export interface NumberShift {
  /** The events beyond the cut. */
  readonly query: Query
  readonly isHigher: boolean
  /** Those above the baseline's median: where their share varies, numbers only ever rise. */
  readonly above: Query
  /** The factor of the other numbers. */
  readonly others: number | undefined
  readonly window: SideNumbers
  readonly baseline: SideNumbers
}

interface FoundShift {
  readonly shift: NumberShift
  readonly counts: BothCounts
  readonly change: Change
}

interface Step extends BothCounts {
  readonly start: number
}

const NOWHERE = { start: 0, end: 0 }

/** Undefined where they are as before. */
export function findShift(
  field: FieldRef,
  counts: readonly ValueCount[],
  scale: Scale,
): FoundShift | undefined {
  const steps = toSteps(counts)
  const events = sumOf(steps)
  const median = quantileOf(steps, 'baseline', 0.5)
  if (median === null || events.window === 0) return undefined
  // Each cut is a test of its own.
  const own = { ...scale, events, tests: scale.tests + 2 * steps.length }
  const best = cutsOf(steps, events)
    .flatMap(({ at, isAbove, counts: beyond }) => {
      const rest = minus(events, beyond)
      const others = factorOf(rest, own.spans)
      const change = judgeChange(beyond, own, { others })
      return change === undefined ? [] : [{ at, isAbove, beyond, others, change }]
    })
    // What came is told rather than what went.
    .sort((a, b) => Number(b.change.isMore) - Number(a.change.isMore) || byScore(a, b))[0]
  if (best === undefined) return undefined
  const side = (name: keyof BothCounts): SideNumbers => ({
    count: events[name],
    p50: quantileOf(steps, name, 0.5),
    p95: quantileOf(steps, name, 0.95),
  })
  const shift = {
    query: beyondClause(field, best.at, best.isAbove),
    isHigher: best.isAbove === best.change.isMore,
    above: beyondClause(field, median, true),
    others: best.others,
    window: side('window'),
    baseline: side('baseline'),
  }
  return { shift, counts: best.beyond, change: best.change }
}

function byScore(a: { readonly change: Change }, b: { readonly change: Change }): number {
  return b.change.score - a.change.score
}

function toSteps(counts: readonly ValueCount[]): Step[] {
  return counts
    .map(({ text, window, baseline }) => ({ step: Number(text), window, baseline }))
    .filter(({ step }) => Number.isFinite(stepStart(step)))
    .sort((a, b) => stepOrder(a.step) - stepOrder(b.step))
    .map(({ step, window, baseline }) => ({ start: stepStart(step), window, baseline }))
}

/** From each step on, and up to it. */
function cutsOf(steps: readonly Step[], events: BothCounts) {
  const cuts: { at: number; isAbove: boolean; counts: BothCounts }[] = []
  let below: BothCounts = { window: 0, baseline: 0 }
  for (const [index, step] of steps.entries()) {
    // A negative step begins at its far end: numbers of it lie on both sides.
    const isClean = index > 0 && step.start >= 0
    if (isClean) {
      const counts = below
      cuts.push({ at: step.start, isAbove: true, counts: minus(events, counts) })
      cuts.push({ at: step.start, isAbove: false, counts })
    }
    below = {
      window: below.window + step.window,
      baseline: below.baseline + step.baseline,
    }
  }
  return cuts
}

function sumOf(counts: readonly BothCounts[]): BothCounts {
  return counts.reduce<BothCounts>(
    (sum, { window, baseline }) => {
      return { window: sum.window + window, baseline: sum.baseline + baseline }
    },
    { window: 0, baseline: 0 },
  )
}

function minus(all: BothCounts, some: BothCounts): BothCounts {
  return { window: all.window - some.window, baseline: all.baseline - some.baseline }
}

function quantileOf(steps: readonly Step[], side: keyof BothCounts, level: number): number | null {
  const all = steps.reduce((sum, step) => sum + step[side], 0)
  let passed = 0
  for (const step of steps) {
    passed += step[side]
    if (step[side] > 0 && passed >= level * all) return step.start
  }
  return null
}

function beyondClause(field: FieldRef, at: number, isAbove: boolean): Query {
  const value = makeScalar(NOWHERE, String(at === 0 ? 0 : at), false)
  const bound = { value, isInclusive: isAbove }
  const test = isAbove ? makeRange(NOWHERE, bound, undefined) : makeRange(NOWHERE, undefined, bound)
  return { kind: 'field', field: fieldOfRef(field), test, ...NOWHERE }
}
