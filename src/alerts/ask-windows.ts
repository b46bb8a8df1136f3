/**
 * Asks for what windows have, by the code that answers queries: the number that a rule judges is
 * the one that the query gives. Windows that follow one another are asked for together, by buckets,
 * where that gives the same.
 */
import { IngestError } from '../errors.ts'
import {
  ALERT_GROUPS_MAX,
  QUERY_AGGREGATES_MAX,
  QUERY_BUCKETS_MAX,
  QUERY_CELLS_MAX,
} from '../limits.ts'
import { GROUP_VALUE_CHARS_MAX } from '../model/alert-rule.ts'
import { segmentIdAt, segmentIdMs } from '../model/segment-id.ts'
import type { Stream } from '../model/stream.ts'
import type { AggregateDeps } from '../read/aggregate/aggregate.ts'
import { type AggregateRequest, readAggregateRequest } from '../read/aggregate/aggregate-request.ts'
import { groupJson } from '../read/aggregate/group-json.ts'
import { countedFor, missesPaths } from '../read/depends-on-catalog.ts'
import type { RuleSettings } from '../store/alerts/rule.ts'
import type { AggregateResult } from '../store/projection/reads/aggregate-store.ts'
import { isOfSmall } from './condition.ts'
import type { SeenGroup, SeenWindow } from './decide-window.ts'
import { beforeMsOf, comparedWith, ratio } from './relative-to.ts'
import { isOfCounts, taskOf, windowMembers } from './rule-settings.ts'

export type AskDeps = Pick<AggregateDeps, 'openStreams' | 'runAggregate'>

/** Of rules that ask the same but for what is judged: `questionOf` of them is the same. */
export interface WindowQuestion {
  /** At most ASKED_TOGETHER_MAX. */
  readonly rules: readonly RuleSettings[]
  readonly streams: readonly Stream[]
  /** Of windows, one `every` after another. */
  readonly ends: readonly number[]
  /** How long one query may take. */
  readonly timeoutMs: number
}

/** Each rule has an aggregate; all of them count events, and may have a common divisor. */
export const ASKED_TOGETHER_MAX = QUERY_AGGREGATES_MAX - 2

/** Not what anybody calls a field. */
const [VALUE, EVENTS] = ['value of the window', 'events of the window']

/** A window of which not everything is in the projection yet. */
export class NotYetError extends Error {
  readonly asOfMs: number

  constructor(asOfMs: number) {
    super('the projection is behind')
    this.asOfMs = asOfMs
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
 * `NotYetError` and `RemovedError` for the next window, and the errors of queries.
 */
export async function* askWindows(
  deps: AskDeps,
  question: WindowQuestion,
  signal: AbortSignal,
): AsyncGenerator<readonly SeenWindow[]> {
  const { rules, ends } = question
  const { windowMs, everyMs, isGrouped } = taskOf(rules[0]!)
  const cells = QUERY_CELLS_MAX / ((isGrouped ? ALERT_GROUPS_MAX : 1) * (rules.length + 1))
  const most = windowMs === everyMs ? Math.max(1, Math.min(QUERY_BUCKETS_MAX, cells)) : 1
  for (let at = 0; at < ends.length; ) {
    const some = ends.slice(at, at + Math.floor(most))
    const found = await askTogether(deps, question, some, signal)
    if (found !== undefined) yield* found
    else for (const end of some) yield await askOne(deps, question, end, signal)
    at += some.length
  }
}

async function askOne(
  deps: AskDeps,
  question: WindowQuestion,
  end: number,
  signal: AbortSignal,
): Promise<readonly SeenWindow[]> {
  const [together] = (await askTogether(deps, question, [end], signal)) ?? []
  if (together !== undefined) return together
  const alone: SeenWindow[] = []
  for (const settings of question.rules) {
    const found = await askTogether(deps, { ...question, rules: [settings] }, [end], signal)
    alone.push(found![0]![0]!)
  }
  return alone
}

/** By window. Undefined where each window, or each rule, by itself would give something else. */
async function askTogether(
  deps: AskDeps,
  { rules, streams, timeoutMs }: WindowQuestion,
  ends: readonly number[],
  signal: AbortSignal,
): Promise<SeenWindow[][] | undefined> {
  const { windowMs, delayMs } = taskOf(rules[0]!)
  const [fromMs, endMs] = [ends[0]! - windowMs, ends.at(-1)!]
  const isMany = ends.length > 1
  const request = requestOf(rules, { fromMs, endMs, timeoutMs }, isMany ? windowMs : undefined)
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
    const isOther = result.isEstimated || result.groups > ALERT_GROUPS_MAX
    return (isMany || rules.length > 1) && isOther ? undefined : result
  }
  const result = await ask(request)
  if (result === undefined) return undefined
  const seen = ends.map((end, index) => {
    const bucket = isMany ? index : undefined
    return rules.map((settings, place) => windowOf(settings, result, { end, bucket, place }))
  })
  const beforeMs = beforeMsOf(rules[0]!)
  if (beforeMs === 0) return seen
  const range = { fromMs: fromMs - beforeMs, endMs: endMs - beforeMs, timeoutMs }
  // What retention has removed is nothing to compare with, and part of it would be misleading.
  const isRemoved = sources.some(({ removedBefore }) => removedBefore > segmentIdAt(range.fromMs))
  if (isRemoved && isMany) return undefined
  const was = isRemoved
    ? undefined
    : await ask(requestOf(rules, range, isMany ? windowMs : undefined))
  if (was === undefined && !isRemoved) return undefined
  return seen.map((windows, index) => {
    const bucket = isMany ? index : undefined
    return windows.map((window, place) => {
      const settings = rules[place]!
      const of = { end: window.endMs - beforeMs, bucket, place }
      const earlier = was === undefined ? [] : windowOf(settings, was, of).groups
      return comparedWith(window, earlier, isOfCounts(settings))
    })
  })
}

function requestOf(
  rules: readonly RuleSettings[],
  range: { readonly fromMs: number; readonly endMs: number; readonly timeoutMs: number },
  bucketMs: number | undefined,
): AggregateRequest {
  const settings = rules[0]!
  const isGrouped = settings.group_by.length > 0
  const judged = rules.map(({ aggregate }, place) => ({ ...aggregate, as: `${VALUE} ${place}` }))
  const windowed = windowMembers(settings, range)
  const [, ...divisors] = windowed.aggregates as readonly object[]
  return readAggregateRequest(
    {
      ...windowed,
      aggregates: [...judged, ...divisors, { fn: 'count', as: EVENTS }],
      group_by: [
        ...settings.group_by,
        ...(bucketMs === undefined ? [] : [{ bucket: `${bucketMs}ms` }]),
      ],
      order_by: { by: `${VALUE} 0`, order: isOfSmall(settings.condition) ? 'asc' : 'desc' },
      limit: isGrouped ? ALERT_GROUPS_MAX : 1,
      timeout_ms: range.timeoutMs,
    },
    range.endMs,
  )
}

/** `bucket`: its place among windows that were asked for together; `place`: that of its rule. */
function windowOf(
  settings: RuleSettings,
  result: AggregateResult,
  of: { readonly end: number; readonly bucket: number | undefined; readonly place: number },
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
    const events = Number(values.at(-1))
    if (events === 0) continue // Without groups there is a row all the same.
    const value = scaled(values[of.place], aggregate.fn)
    const isShare = relative?.fn !== undefined
    groups.push({
      groupJson: `[${group.map(groupJson).join(',')}]`,
      value: isShare ? ratio(value, scaled(values.at(-2), relative.fn)) : value,
      events,
    })
  }
  const isWhole = of.bucket === undefined
  const events = groups.reduce((sum, group) => sum + group.events, 0)
  return {
    fromMs: of.end - windowMs,
    endMs: of.end,
    groups,
    events: isWhole ? Number(result.total) : events,
    groupCount: isWhole && settings.group_by.length > 0 ? result.groups : groups.length,
  }
}

/** Undefined for null, and for what is no number of JSON. */
function numberOf(json: string): number | undefined {
  const number = json === 'null' ? Number.NaN : Number(json)
  return Number.isFinite(number) ? number : undefined
}
