/**
 * Asks for what windows have, by the code that answers queries: the number that a rule judges is
 * the one that the query gives. Windows that follow one another are asked for together, by buckets,
 * where that gives the same.
 */
import { IngestError } from '../../errors.ts'
import { ALERT_GROUPS_MAX, QUERY_BUCKETS_MAX, QUERY_CELLS_MAX } from '../../limits.ts'
import { GROUP_VALUE_CHARS_MAX } from '../../model/alerts/alert-rule.ts'
import { segmentIdAt, segmentIdMs } from '../../model/segment-id.ts'
import type { Stream } from '../../model/stream.ts'
import type { AggregateDeps } from '../../read/aggregate/aggregate.ts'
import type { AggregateRequest } from '../../read/aggregate/aggregate-request.ts'
import { groupJson } from '../../read/aggregate/group-json.ts'
import { countedFor, missesPaths } from '../../read/depends-on-catalog.ts'
import type { RuleSettings } from '../../store/alerts/rule.ts'
import type { AggregateResult } from '../../store/projection/reads/aggregate-store.ts'
import { isOfSmall } from '../condition.ts'
import type { SeenGroup, SeenWindow } from '../decide-window.ts'
import { beforeMsOf, comparedWith, ratio } from '../relative-to.ts'
import { isOfCounts, taskOf } from '../rule-settings.ts'
import { askedNames, jointRequest, type Places } from './joint-request.ts'

export type AskDeps = Pick<AggregateDeps, 'openStreams' | 'runAggregate'>

/** Of rules whose `questionOf` is the same. */
export interface WindowQuestion {
  readonly rules: readonly RuleSettings[]
  readonly streams: readonly Stream[]
  /** Of windows, one `every` after another. */
  readonly ends: readonly number[]
  /** How long one query may take. */
  readonly timeoutMs: number
}

/** So few groups are hoped for at first: the fewer, the more windows are asked for together. */
const FEW_GROUPS = 100

/** A window of which not everything is in the projection yet. */
export class NotYetError extends Error {
  readonly asOfMs: number

  constructor(asOfMs: number) {
    super('the projection is behind')
    this.asOfMs = asOfMs
  }
}

/** Rules about several searches have to be asked search by search. */
export class ApartError extends Error {
  constructor() {
    super('what is asked of all at once is not what is asked of each')
  }
}

/** Some of a window's events are removed by retention. */
export class RemovedError extends Error {
  /** All that were received before it are gone. */
  readonly beforeMs: number

  constructor(beforeMs: number) {
    super('retention has removed events of the window')
    this.beforeMs = beforeMs
  }
}

/**
 * Hands over windows in their order, as they are known: as each of the rules sees them. Throws
 * `NotYetError`, `RemovedError` and `ApartError` for the next window, and the errors of queries.
 */
export async function* askWindows(
  deps: AskDeps,
  question: WindowQuestion,
  signal: AbortSignal,
): AsyncGenerator<readonly SeenWindow[]> {
  const kinds = new Map(question.rules.map((settings) => [kindOf(settings), settings]))
  const places = new Map([...kinds.keys()].map((kind, place) => [kind, place]))
  const placeOf = question.rules.map((settings) => places.get(kindOf(settings))!)
  const ofKinds = { ...question, rules: [...kinds.values()] }
  for await (const windows of askKinds(deps, ofKinds, signal)) {
    yield placeOf.map((place) => windows[place]!)
  }
}

/** Rules of which it is the same see the same: only the bound that they judge by differs. */
function kindOf(settings: RuleSettings): string {
  return JSON.stringify([askedNames(settings), isOfSmall(settings.condition)])
}

async function* askKinds(
  deps: AskDeps,
  question: WindowQuestion,
  signal: AbortSignal,
): AsyncGenerator<readonly SeenWindow[]> {
  const { rules, ends } = question
  const { windowMs, everyMs, isGrouped } = taskOf(rules[0]!)
  const asked = new Set(rules.flatMap(askedNames)).size
  const mostOf = (groups: number) => {
    if (windowMs !== everyMs) return 1
    const cells = Math.floor(QUERY_CELLS_MAX / ((isGrouped ? groups : 1) * asked))
    return Math.max(1, Math.min(QUERY_BUCKETS_MAX, cells))
  }
  const asking = { signal, groupsMax: ALERT_GROUPS_MAX }
  const most = mostOf(ALERT_GROUPS_MAX)
  let groupsMax = isGrouped && most > 1 && ends.length > most ? FEW_GROUPS : ALERT_GROUPS_MAX
  for (let at = 0; at < ends.length; ) {
    const some = ends.slice(at, at + mostOf(groupsMax))
    const found = await askTogether(deps, question, some, { signal, groupsMax })
    if (found === undefined && groupsMax === FEW_GROUPS) {
      // There are more, or it is for another reason: then fewer windows go together.
      groupsMax = ALERT_GROUPS_MAX
      continue
    }
    if (found !== undefined) yield* found
    else if (some.length === 1) yield await askAlone(deps, question, some, asking)
    else for (const end of some) yield await askOne(deps, question, [end], asking)
    at += some.length
  }
}

/** How a statement is asked. */
interface Asking {
  readonly signal: AbortSignal
  /** Of more groups than these nothing is answered together. */
  readonly groupsMax: number
}

/** One window. */
async function askOne(
  deps: AskDeps,
  question: WindowQuestion,
  end: readonly number[],
  asking: Asking,
): Promise<readonly SeenWindow[]> {
  const [together] = (await askTogether(deps, question, end, asking)) ?? []
  return together ?? (await askAlone(deps, question, end, asking))
}

/** One window, rule by rule. */
async function askAlone(
  deps: AskDeps,
  question: WindowQuestion,
  end: readonly number[],
  asking: Asking,
): Promise<readonly SeenWindow[]> {
  if (new Set(question.rules.map(({ query }) => query)).size > 1) throw new ApartError()
  const alone: SeenWindow[] = []
  for (const settings of question.rules) {
    const found = await askTogether(deps, { ...question, rules: [settings] }, end, asking)
    alone.push(found![0]![0]!)
  }
  return alone
}

/** By window. Undefined where each window, or each rule, by itself would give something else. */
async function askTogether(
  deps: AskDeps,
  { rules, streams, timeoutMs }: WindowQuestion,
  ends: readonly number[],
  { signal, groupsMax: few }: Asking,
): Promise<SeenWindow[][] | undefined> {
  const { windowMs, delayMs } = taskOf(rules[0]!)
  const [fromMs, endMs] = [ends[0]! - windowMs, ends.at(-1)!]
  const isMany = ends.length > 1
  const bucketMs = isMany ? windowMs : undefined
  // Of one window the first are known, however many there are.
  const groupsMax = isMany ? few : ALERT_GROUPS_MAX
  const { request, places } = jointRequest(rules, { fromMs, endMs, timeoutMs, bucketMs, groupsMax })
  const opened = await deps.openStreams(streams)
  const { sources } = opened
  const queries = [request.query, ...request.aggregates.flatMap(({ query }) => query ?? [])]
  const counted = countedFor(queries, opened)
  if (counted.asOfMs < endMs + delayMs) {
    if (isMany && counted.asOfMs >= ends[0]! + delayMs) return undefined
    throw new NotYetError(counted.asOfMs)
  }
  const from = segmentIdAt(fromMs)
  const removed = sources.filter(({ removedBefore }) => removedBefore > from)
  if (removed.length > 0) {
    if (isMany) return undefined
    throw new RemovedError(
      Math.max(...removed.map(({ removedBefore }) => segmentIdMs(removedBefore) + 1)),
    )
  }
  if (missesPaths(queries, sources)) {
    const text = 'the query may mean fields that a stream has past its caps: it would miss events'
    throw new IngestError('unavailable', text)
  }
  const ask = async (asked: AggregateRequest) => {
    const task = { ...asked, ...counted, streams: sources, textCharsMax: GROUP_VALUE_CHARS_MAX }
    const result = await deps.runAggregate(task, signal)
    // Which groups are the first depends on the window, and on what is judged.
    const isOther = result.isEstimated || result.groups > groupsMax
    return (isMany || rules.length > 1) && isOther ? undefined : result
  }
  const windowsOf = (result: AggregateResult, end: number, index: number) => {
    const bucket = isMany ? index : undefined
    return rules.map((settings, at) => windowOf(settings, result, { end, bucket }, places[at]!))
  }
  const result = await ask(request)
  if (result === undefined) return undefined
  const seen = ends.map((end, index) => windowsOf(result, end, index))
  const beforeMs = beforeMsOf(rules[0]!)
  if (beforeMs === 0) return seen
  const range = {
    fromMs: fromMs - beforeMs,
    endMs: endMs - beforeMs,
    timeoutMs,
    bucketMs,
    groupsMax,
  }
  // What retention has removed is nothing to compare with, and part of it would be misleading.
  const isRemoved = sources.some(({ removedBefore }) => removedBefore > segmentIdAt(range.fromMs))
  if (isRemoved && isMany) return undefined
  const was = isRemoved ? undefined : await ask(jointRequest(rules, range).request)
  if (was === undefined && !isRemoved) return undefined
  return seen.map((windows, index) => {
    const earlier = was === undefined ? [] : windowsOf(was, ends[index]! - beforeMs, index)
    return windows.map((window, at) => {
      return comparedWith(window, earlier[at]?.groups ?? [], isOfCounts(rules[at]!))
    })
  })
}

function windowOf(
  settings: RuleSettings,
  result: AggregateResult,
  of: { readonly end: number; readonly bucket: number | undefined },
  places: Places,
): SeenWindow {
  const { windowMs } = taskOf(settings)
  const { aggregate, relative_to: relative } = settings
  const scaled = (json: string | undefined, fn: string | undefined) => {
    const number = json === undefined ? undefined : numberOf(json)
    return fn === 'rate' && number !== undefined ? number / (windowMs / 1_000) : number
  }
  const groups: SeenGroup[] = []
  for (const { bucket, group, values } of result.rows) {
    if (bucket !== of.bucket) continue
    const events = Number(values[places.events])
    // Without groups there is a row all the same, and with groups those of other searches.
    if (events === 0) continue
    const value = scaled(values[places.value], aggregate.fn)
    const { divisor } = places
    groups.push({
      groupJson: `[${group.map(groupJson).join(',')}]`,
      value: divisor === undefined ? value : ratio(value, scaled(values[divisor], relative?.fn)),
      events,
    })
  }
  // Not all groups are there only where a rule was asked alone.
  const isAll = result.groups <= ALERT_GROUPS_MAX
  const events = groups.reduce((sum, group) => sum + group.events, 0)
  return {
    fromMs: of.end - windowMs,
    endMs: of.end,
    groups,
    events: isAll ? events : Number(result.total),
    groupCount: isAll ? groups.length : result.groups,
  }
}

/** Undefined for null, and for what is no number of JSON. */
function numberOf(json: string): number | undefined {
  const number = json === 'null' ? Number.NaN : Number(json)
  return Number.isFinite(number) ? number : undefined
}
