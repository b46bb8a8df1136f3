/**
 * What several rules ask in one statement: each an aggregate, all the same groups of the same time.
 * Rules about one search have it as the query. Of several searches the query is any of them, and
 * each aggregate is of the events that its own search means: the numbers are the same.
 */
import { conjoin } from '../../language/combine.ts'
import type { Query } from '../../language/query-tree.ts'
import {
  type AggregateRequest,
  readAggregateRequest,
} from '../../read/aggregate/aggregate-request.ts'
import { dependsOnCatalog } from '../../read/depends-on-catalog.ts'
import { readQueryText } from '../../read/read-request.ts'
import type { RuleSettings } from '../../store/alerts/rule.ts'
import { isOfSmall } from '../condition.ts'
import { windowMembers } from '../rule-settings.ts'

/** Where a rule's values are in a row of the answer. */
export interface Places {
  readonly value: number
  /** What the value is divided by. */
  readonly divisor: number | undefined
  /** How many events the group has. */
  readonly events: number
}

export interface JointRequest {
  readonly request: AggregateRequest
  /** Of each rule. */
  readonly places: readonly Places[]
}

export interface AskedRange {
  readonly fromMs: number
  readonly endMs: number
  readonly timeoutMs: number
  /** How long a bucket is; undefined: the range is one window. */
  readonly bucketMs: number | undefined
  /** Of more groups only the first are answered. */
  readonly groupsMax: number
}

/** Rules that have it in common can be asked together, whatever they judge, and of which events. */
export function questionOf(settings: RuleSettings): readonly unknown[] {
  const { query, aggregate, relative_to: relative, group_by: groupBy } = settings
  const { window, every, time_basis: basis, delay } = settings
  const texts = [query, aggregate.query ?? '', relative?.query ?? '']
  // How far the answer is may depend on the catalog, and then nobody else waits for it.
  const isOfCatalog = texts.some((text) => dependsOnCatalog(readQueryText('query', text)))
  return [groupBy, window, every, basis, delay, relative?.before, isOfCatalog]
}

interface AskedAggregate {
  readonly search: string
  readonly aggregate: RuleSettings['aggregate']
}

const EVENTS = { fn: 'count' }

/** Of a rule, in the order of `Places`. */
function aggregatesOf({ query, aggregate, relative_to: relative }: RuleSettings) {
  const { fn, before: _, ...rest } = relative ?? {}
  const divisor = fn === undefined ? undefined : { fn, ...rest }
  return {
    value: { search: query, aggregate },
    divisor: divisor && { search: query, aggregate: divisor },
    events: { search: query, aggregate: EVENTS },
  }
}

/** Names of what a rule asks for: what rules have in common is asked once. */
export function askedNames(settings: RuleSettings): string[] {
  const { value, divisor, events } = aggregatesOf(settings)
  return [value, events, ...(divisor === undefined ? [] : [divisor])].map(nameOf)
}

function nameOf({ search, aggregate: { fn, field, query } }: AskedAggregate): string {
  return JSON.stringify([search, fn, field, query])
}

/** `rules` have the same question. Throws `malformed`. */
export function jointRequest(rules: readonly RuleSettings[], range: AskedRange): JointRequest {
  const asked = new Map<string, { readonly at: number; readonly of: AskedAggregate }>()
  const place = (of: AskedAggregate): number => {
    const name = nameOf(of)
    const known = asked.get(name) ?? { at: asked.size, of }
    asked.set(name, known)
    return known.at
  }
  const places = rules.map((settings): Places => {
    const { value, divisor, events } = aggregatesOf(settings)
    return {
      value: place(value),
      divisor: divisor && place(divisor),
      events: place(events),
    }
  })
  const all = [...asked.values()].map(({ of }) => of)
  const request = requestOf(rules[0]!, all, range)
  const searches = new Set(all.map(({ search }) => search))
  return { request: searches.size === 1 ? request : ofSearches(request, all), places }
}

function requestOf(
  settings: RuleSettings,
  asked: readonly AskedAggregate[],
  { bucketMs, groupsMax, ...range }: AskedRange,
): AggregateRequest {
  const isGrouped = settings.group_by.length > 0
  const bucket = bucketMs === undefined ? [] : [{ bucket: `${bucketMs}ms` }]
  return readAggregateRequest(
    {
      ...windowMembers(settings, range),
      aggregates: asked.map(({ aggregate }, at) => ({ ...aggregate, as: `value ${at}` })),
      group_by: [...settings.group_by, ...bucket],
      order_by: { by: 'value 0', order: isOfSmall(settings.condition) ? 'asc' : 'desc' },
      limit: isGrouped ? groupsMax : 1,
      timeout_ms: range.timeoutMs,
    },
    range.endMs,
  )
}

/** Of any of the searches, and each aggregate of its own. */
function ofSearches(request: AggregateRequest, asked: readonly AskedAggregate[]): AggregateRequest {
  const searches = new Map<string, Query>()
  for (const { search } of asked) {
    if (!searches.has(search)) searches.set(search, readQueryText('query', search))
  }
  const any = [...searches.values()]
  const aggregates = request.aggregates.map((aggregate, at) => {
    const search = searches.get(asked[at]!.search)!
    if (search.kind === 'all') return aggregate
    const { query } = aggregate
    return { ...aggregate, query: query === undefined ? search : conjoin('and', [search, query]) }
  })
  const query = any.find(({ kind }) => kind === 'all') ?? conjoin('or', any)
  return { ...request, query, aggregates }
}
