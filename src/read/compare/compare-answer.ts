/** A comparison as JSON, and its findings in plain words. */
import { conjoin } from '../../language/combine.ts'
import { format, writeField } from '../../language/format.ts'
import type { Query } from '../../language/query-tree.ts'
import type { FieldRef } from '../../model/aggregates.ts'
import { formatEventId } from '../../model/event-id.ts'
import type { BothCounts } from '../../store/projection/reads/compare-task.ts'
import { formatTimeNs, type Honesty, honestMembers } from '../answer-coverage.ts'
import { fieldOfRef } from '../value-clause.ts'
import { conditionText, queryOf } from './candidate.ts'
import type { Finding } from './choose-findings.ts'
import type { CompareRequest } from './compare-request.ts'
import { factorOf } from './judge-change.ts'
import type { NumberShift } from './number-shift.ts'

export interface Comparison {
  readonly findings: readonly Finding[]
  /** All of both sides. */
  readonly events: BothCounts
  readonly seconds: BothCounts
  /** Events whose values were counted. */
  readonly lookedAt: BothCounts
  readonly fields: readonly FieldRef[]
  /** How many of them, on both sides together. */
  readonly values: number
  readonly leftOut: readonly FieldRef[]
  /** Fields that were not even looked into. */
  readonly more: number
}

/** A change of all events by less is not told. */
const UNCHANGED_MAX = 0.05
const OTHERS_TOLD_MAX = 5
const WITHIN_TOLD_MAX = 3
const FIELDS_TOLD_MAX = 40

export function compareJson(
  request: CompareRequest,
  comparison: Comparison,
  honesty: Honesty,
  elapsedMs: number,
): string {
  const { findings, events, lookedAt, fields, leftOut, values, seconds } = comparison
  const { baseline } = request
  const isEstimated = lookedAt.window + lookedAt.baseline < events.window + events.baseline
  const isSampled = isEstimated && fields.length > 0
  return JSON.stringify({
    findings: findings.map((finding) => findingJson(finding, request, comparison)),
    whole: {
      text: wholeText(comparison, request),
      window: rated(events.window, seconds.window),
      baseline: rated(events.baseline, seconds.baseline),
      factor: tellFactor(factorOf(events, seconds)),
    },
    window: rangeOf(request),
    baseline: { ...rangeOf(baseline), query: format(baseline.query) },
    looked_at: {
      events: lookedAt.window + lookedAt.baseline,
      values,
      fields: fields.slice(0, FIELDS_TOLD_MAX).map(nameOf),
    },
    left_out: {
      fields: leftOut.length + comparison.more,
      names: leftOut.slice(0, FIELDS_TOLD_MAX).map(nameOf),
    },
    estimated: isSampled,
    ...honestMembers({ ...honesty, isSampled }),
    stats: { elapsed_ms: Math.round(elapsedMs * 10) / 10 },
  })
}

function findingJson(finding: Finding, request: CompareRequest, comparison: Comparison) {
  const { candidate, counts, change, same, also, examples } = finding
  const { kind, condition, shift } = candidate
  const { events, seconds } = comparison
  const own = queryOf(condition)
  const side = (name: keyof BothCounts) => ({
    ...rated(counts[name], seconds[name]),
    share: rounded(counts[name] / events[name]),
  })
  const isShift = kind === 'numbers' && shift !== undefined
  return {
    text: findingText(finding, request, comparison),
    kind,
    direction: change.isMore ? 'more' : 'fewer',
    query: own === undefined ? format(request.query) : format(both(request.query, own)),
    stream: condition.kind === 'stream' ? String(condition.streamId) : null,
    window: side('window'),
    baseline: side('baseline'),
    factor: tellFactor(change.factor),
    score: rounded(change.score),
    numbers: isShift ? { window: shift.window, baseline: shift.baseline } : null,
    same: same.slice(0, OTHERS_TOLD_MAX).map((one) => conditionText(one.condition)),
    also: also.slice(0, OTHERS_TOLD_MAX).map((one) => conditionText(one.condition)),
    within: finding.within.slice(0, OTHERS_TOLD_MAX).map(conditionText),
    examples: examples.map((key) => ({ stream: String(key.streamId), id: formatEventId(key) })),
  }
}

function both(asked: Query, own: Query): Query {
  return asked.kind === 'all' ? own : conjoin('and', [asked, own])
}

function findingText(
  { candidate, counts, change, within }: Finding,
  { isByQuery }: CompareRequest,
  { events, seconds }: Comparison,
): string {
  const name = conditionText(candidate.condition)
  const side = (of: keyof BothCounts) => {
    return isByQuery
      ? `${percent(counts[of] / events[of])} of the events`
      : `${figure(counts[of] / seconds[of])}/s`
  }
  const numbers = `${count(counts.window)} events, ${count(counts.baseline)} before`
  const of = isByQuery ? numbers.replace('before', 'in the baseline') : numbers
  const common = within.slice(0, WITHIN_TOLD_MAX).map(conditionText)
  const where = common.length === 0 ? '' : `; nearly all of it: ${common.join(', ')}`
  if (candidate.kind === 'numbers' && candidate.shift !== undefined) {
    return `${shiftText(candidate.field, candidate.shift)}; ${name}: ${of}${where}`
  }
  if (change.factor === Infinity) return `${name} is new: ${of}${where}`
  if (change.factor === 0) return `${name} is gone: ${of}${where}`
  const times = `${tellTimes(change.factor)} as frequent`
  const rates = `${side('window')} instead of ${side('baseline')}`
  return `${name} is ${times}: ${rates} (${of})${where}`
}

function shiftText(field: FieldRef, { window, baseline, isHigher }: NumberShift): string {
  const quantile = (name: 'p50' | 'p95') => {
    const [now, before] = [window[name], baseline[name]]
    const tell = (value: number | null) => (value === null ? 'none' : figure(value))
    return `${name} ${tell(now)} instead of ${tell(before)}`
  }
  const quantiles = `${quantile('p50')}, ${quantile('p95')}`
  return `${nameOf(field)} is ${isHigher ? 'higher' : 'lower'}: ${quantiles}`
}

function wholeText({ events, seconds }: Comparison, { isByQuery }: CompareRequest): string {
  const { window, baseline } = events
  if (window === 0) return 'there are no events in the window'
  if (baseline === 0) return 'there are no events in the baseline to compare to'
  const counts = `${count(window)} events, ${count(baseline)} in the baseline`
  if (isByQuery) return counts
  const [now, before] = [window / seconds.window, baseline / seconds.baseline]
  const rates = `${figure(now)}/s instead of ${figure(before)}/s`
  const factor = factorOf(events, seconds) ?? 1
  if (Math.abs(factor - 1) < UNCHANGED_MAX)
    return `about as many events as before: ${rates} (${counts})`
  return `all events are ${tellTimes(factor)} as frequent: ${rates} (${counts})`
}

function rated(events: number, seconds: number) {
  return { count: events, rate: rounded(events / seconds) }
}

function rangeOf({ fromNs, toNs }: { readonly fromNs: bigint; readonly toNs: bigint }) {
  return { from: formatTimeNs(fromNs), to: formatTimeNs(toNs) }
}

/** As queries and requests name it. */
function nameOf(field: FieldRef): string {
  return field.kind === 'system' ? field.label : writeField(fieldOfRef(field))
}

/** Null where there was none before, which JSON has no number for. */
function tellFactor(factor: number | undefined): number | null {
  return factor === undefined || factor === Infinity ? null : rounded(factor)
}

function tellTimes(factor: number): string {
  return `${figure(factor)} times`
}

function percent(share: number): string {
  return `${figure(share * 100)} %`
}

/** To four digits. */
function rounded(value: number): number {
  return Number(value.toPrecision(4))
}

function figure(value: number): string {
  const short = Number(value.toPrecision(3))
  return Math.abs(short) >= 1_000 ? count(short) : String(short)
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}
