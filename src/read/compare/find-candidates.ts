/** Candidates among the counts of values and numbers. */
import { FACET_VALUE_CHARS_MAX } from '../../limits.ts'
import type { FieldRef } from '../../model/aggregates.ts'
import type { StreamId } from '../../model/stream.ts'
import type {
  BothCounts,
  CompareCondition,
  CompareKey,
  ValueCount,
} from '../../store/projection/reads/compare-task.ts'
import { existsClause, fieldOfRef, valueClause } from '../value-clause.ts'
import type { Candidate } from './candidate.ts'
import { factorOf, judgeChange, type Scale } from './judge-change.ts'
import { findShift } from './number-shift.ts'

/** Values are ever new, as times and ids are, where so many events of each side have such. */
const NEW_SHARE_MAX = 0.5
const NEW_VALUES_MIN = 5
const APART_MIN = 0.98

export interface FoundCandidates {
  /** The most likely first. */
  readonly candidates: readonly Candidate[]
  /** Fields with ever new values, of which none became a candidate. */
  readonly everNew: readonly FieldRef[]
}

/** The counts of one key. */
interface Counted {
  readonly field: FieldRef
  readonly values: readonly ValueCount[]
  /** Events without a value. */
  readonly none: BothCounts
}

export function findCandidates(
  keys: readonly CompareKey[],
  counts: readonly ValueCount[],
  scale: Scale,
  mayBeString: (path: string) => boolean,
): FoundCandidates {
  const byKey = keys.map((): ValueCount[] => [])
  for (const count of counts) byKey[count.key]?.push(count)
  const candidates: Candidate[] = []
  const everNew: FieldRef[] = []
  for (const [at, { by, field }] of keys.entries()) {
    const own = byKey[at]!
    const values = own.filter(({ kind }) => kind !== 'null')
    const none = own.find(({ kind }) => kind === 'null') ?? { window: 0, baseline: 0 }
    if (by === 'numbers') candidates.push(...shifted(field, values, scale))
    else if (isEverNew(values, scale.events)) everNew.push(field)
    else candidates.push(...changedValues({ field, values, none }, scale, mayBeString))
  }
  candidates.sort((a, b) => b.change.score - a.change.score)
  return { candidates, everNew }
}

/** That both sides were chosen by it: nearly all events of the one have it, hardly any others. */
export function tellsSidesApart({ counts }: Candidate, events: BothCounts): boolean {
  const window = counts.window / events.window
  const baseline = counts.baseline / events.baseline
  return Math.abs(window - baseline) > APART_MIN
}

function isEverNew(values: readonly ValueCount[], events: BothCounts): boolean {
  const fresh = values.filter(({ baseline }) => baseline === 0)
  const gone = values.filter(({ window }) => window === 0)
  const sum = (list: readonly ValueCount[], side: keyof BothCounts) => {
    return list.reduce((total, value) => total + value[side], 0)
  }
  return (
    Math.min(fresh.length, gone.length) >= NEW_VALUES_MIN &&
    sum(fresh, 'window') > events.window * NEW_SHARE_MAX &&
    sum(gone, 'baseline') > events.baseline * NEW_SHARE_MAX
  )
}

function changedValues(
  { field, values, none }: Counted,
  scale: Scale,
  mayBeString: (path: string) => boolean,
): Candidate[] {
  const others = othersOf([...values, none], scale.spans)
  const found = values.flatMap((value): Candidate[] => {
    const compared = { others: others(value) }
    const change = judgeChange(value, scale, compared)
    const condition = change && conditionOf(field, value, mayBeString)
    if (condition === undefined || change === undefined) return []
    const counts = { window: value.window, baseline: value.baseline }
    return [{ kind: 'value', field, condition, counts, change, ...compared }]
  })
  return [...found, ...existence({ field, values, none }, scale)]
}

/** That more or fewer events have the field at all. */
function existence({ field, none }: Counted, scale: Scale): Candidate[] {
  if (field.kind === 'system') return []
  const { events } = scale
  const counts = {
    window: events.window - none.window,
    baseline: events.baseline - none.baseline,
  }
  const change = judgeChange(counts, scale)
  if (change === undefined) return []
  const condition = { kind: 'query', query: existsClause(fieldOfRef(field)) } as const
  return [{ kind: 'exists', field, condition, counts, change, others: undefined }]
}

/**
 * The factor of a field's other values: the one that half of their events in the baseline are
 * below. A value that floods or vanishes does not change it, as it does the factor of all events.
 */
function othersOf(values: readonly BothCounts[], spans: BothCounts) {
  const sorted = values
    .filter(({ baseline }) => baseline > 0)
    .map((counts) => ({ counts, factor: factorOf(counts, spans)! }))
    .sort((a, b) => a.factor - b.factor)
  const all = sorted.reduce((sum, { counts }) => sum + counts.baseline, 0)
  return (value: BothCounts): number | undefined => {
    const half = (all - value.baseline) / 2
    let passed = 0
    for (const { counts, factor } of sorted) {
      if (counts === value) continue
      passed += counts.baseline
      if (passed >= half) return factor
    }
    return undefined
  }
}

/** Undefined for values that no query finds alone: arrays, and long texts, which were cut. */
export function conditionOf(
  field: FieldRef,
  { kind, text }: ValueCount,
  mayBeString: (path: string) => boolean,
): CompareCondition | undefined {
  if (field.kind === 'system' && field.label === '_stream') {
    return { kind: 'stream', streamId: Number(text) as StreamId }
  }
  if ([...text].length >= FACET_VALUE_CHARS_MAX) return undefined
  const isMixed = field.kind === 'path' && mayBeString(field.path)
  const query = valueClause(fieldOfRef(field), { kind, text }, isMixed)
  return query && { kind: 'query', query }
}

function shifted(field: FieldRef, steps: readonly ValueCount[], scale: Scale): Candidate[] {
  const found = findShift(field, steps, scale)
  if (found === undefined) return []
  const { shift, counts, change } = found
  const condition = { kind: 'query', query: shift.query } as const
  return [{ kind: 'numbers', field, condition, shift, counts, change, others: shift.others }]
}
