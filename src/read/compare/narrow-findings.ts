/**
 * Where the events of a finding are: the value that all that is new of it has in common. A route
 * that has become slow gets no more events than before, and a pod whose events are errors now has
 * as many as others: no value of a field shows either. Among the events of a finding it does.
 */
import { conjoin } from '../../language/combine.ts'
import type { FieldRef, GroupValue } from '../../model/aggregates.ts'
import type {
  BothCounts,
  CompareCondition,
  CompareKey,
  ValueCount,
} from '../../store/projection/reads/compare-task.ts'
import { queryOf } from './candidate.ts'
import type { Finding } from './choose-findings.ts'
import { conditionOf } from './find-candidates.ts'
import type { Scale } from './judge-change.ts'

/** Findings that are looked into: the first. */
export const NARROWED_MAX = 3
/** What is new of a finding has the value, but for the rest. */
const EXCESS_MIN = 0.8
/** Of all events so few have the value, else it says nothing. */
const COMMON_MAX = 0.5
/** A narrower finding leaves out so many events of the finding, on the one side or the other. */
const LEFT_OUT_MIN = 0.05
const LEFT_OUT_BEFORE_MIN = 0.3

/** What is counted to look into a finding: its events by the values of other fields. */
export function keysWithin({ candidate }: Finding, keys: readonly CompareKey[]): CompareKey[] {
  return keys.filter(({ by, field }) => {
    const isStream = field.kind === 'system' && field.label === '_stream'
    return by === 'values' && !isStream && !isSameField(field, candidate.field)
  })
}

export interface Narrowed {
  /** The values, the rarest first. */
  readonly within: readonly CompareCondition[]
  /** The finding and the rarest of those that leave out some of its events. */
  readonly pair: CompareCondition | undefined
}

/** `shares`: what share of all events has a value, by `valueKey`, on the side that has more. */
export function narrow(
  finding: Finding,
  {
    keys,
    values,
  }: { readonly keys: readonly CompareKey[]; readonly values: readonly ValueCount[] },
  shares: ReadonlyMap<string, number>,
  { spans, mayBeString }: Pick<Scale, 'spans'> & { mayBeString: (path: string) => boolean },
): Narrowed {
  const { isMore } = finding.change
  const excess = (counts: BothCounts) => {
    const expected = (counts.baseline * spans.window) / spans.baseline
    return isMore ? counts.window - expected : expected - counts.window
  }
  // Of the finding's events as they were counted by the same statement.
  const all = totalOf(values)
  const found = values.flatMap((value) => {
    const { field } = keys[value.key]!
    const share = shares.get(valueKey(field, value)) ?? 0
    const isTelling = value.kind !== 'null' && share <= COMMON_MAX
    const isWhole = excess(value) >= EXCESS_MIN * excess(all)
    const condition = conditionOf(field, value, mayBeString)
    if (!isTelling || !isWhole || condition === undefined) return []
    return [{ condition, share, isNarrower: isNarrower(value, all, isMore) }]
  })
  found.sort((a, b) => a.share - b.share)
  const own = queryOf(finding.candidate.condition)
  const narrower = found.find((one) => one.isNarrower)
  const more = narrower && queryOf(narrower.condition)
  const within = found.map(({ condition }) => condition)
  if (own === undefined || more === undefined) return { within, pair: undefined }
  return { within, pair: { kind: 'query', query: conjoin('and', [own, more]) } }
}

/** Values of any key add up to all events: one key's are enough. */
function totalOf(values: readonly ValueCount[]): BothCounts {
  const sums = new Map<number, { window: number; baseline: number }>()
  for (const { key, window, baseline } of values) {
    const sum = sums.get(key) ?? { window: 0, baseline: 0 }
    sums.set(key, { window: sum.window + window, baseline: sum.baseline + baseline })
  }
  const totals = [...sums.values()]
  return {
    window: Math.max(0, ...totals.map(({ window }) => window)),
    baseline: Math.max(0, ...totals.map(({ baseline }) => baseline)),
  }
}

function isNarrower(value: BothCounts, all: BothCounts, isMore: boolean): boolean {
  const [most, least] = isMore
    ? ([(of: BothCounts) => of.window, (of: BothCounts) => of.baseline] as const)
    : ([(of: BothCounts) => of.baseline, (of: BothCounts) => of.window] as const)
  return (
    most(all) - most(value) > most(all) * LEFT_OUT_MIN ||
    least(all) - least(value) > Math.max(1, least(all) * LEFT_OUT_BEFORE_MIN)
  )
}

export function valueKey(field: FieldRef, { kind, text }: GroupValue): string {
  return JSON.stringify([field, kind, text])
}

function isSameField(a: FieldRef, b: FieldRef): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
