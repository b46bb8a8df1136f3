/**
 * "Why did this fire": addresses in Explore of just the events that a window of a rule counted, of
 * one of its groups.
 */
import { parse } from '../../src/language/parse.ts'
import { labelValue } from '../../src/model/alerts/alert-matchers.ts'
import { GROUP_VALUE_CHARS_MAX } from '../../src/model/alerts/alert-rule.ts'
import { clockParam } from '../base/clock.ts'
import { type EventField, fieldOfApi } from '../base/field.ts'
import { href } from '../base/route.ts'
import { findStream } from '../base/stream.ts'
import { withClause } from '../explore/filters.ts'
import { clauseOfGroup } from '../explore/grouped.ts'
import type { GroupValues, Range, RuleSettings } from './rule.ts'

export interface WhyLink {
  /** Of which stream, where a rule is about several. */
  readonly label: string
  readonly address: string
}

type Asked = Pick<RuleSettings, 'streams' | 'query' | 'aggregate' | 'group_by' | 'time_basis'>

/**
 * None where no query asks for exactly these events, as for groups of arrays. `all`: the groups
 * that are known, as `200` and `"200"` are asked for more exactly where there are both.
 */
export function whyLinks(
  rule: Asked,
  { from, to }: Range,
  group: GroupValues = null,
  all: readonly GroupValues[] = [],
): readonly WhyLink[] {
  const query = queryOf(rule, group, all)
  if (query === undefined) return []
  const params = { q: query, from, to, basis: clockParam(rule.time_basis) }
  return streamsOf(rule, group).map((streamId) => ({
    label: streamId === undefined ? 'all streams' : (findStream(streamId)?.name ?? streamId),
    address: href('explore', streamId, params),
  }))
}

/** The address of what a rule looks at, over a range. */
export function rangeAddress(rule: Asked, range: Range): string | undefined {
  return whyLinks(rule, range)[0]?.address
}

function queryOf(
  { query, aggregate, group_by: names }: Asked,
  group: GroupValues,
  all: readonly GroupValues[],
): string | undefined {
  const own = aggregate.query === undefined ? query : conjoined(query, aggregate.query)
  if (own === undefined || group === null || names.length === 0) return own
  const places = names.flatMap((name, at) => (name === STREAM ? [] : [at]))
  if (places.length === 0) return own
  const by = places.map((at) => fieldOfApi(names[at]!))
  const known = by.filter((field): field is EventField => field !== undefined)
  if (known.length < by.length) return undefined
  const isCut = (at: number) => (group[at] ?? '').length >= GROUP_VALUE_CHARS_MAX
  if (places.some(isCut)) return undefined
  const valuesOf = (values: GroupValues) => ({
    values: places.map((at) => values?.[at] ?? 'null'),
    ...{ text: '', value: null },
  })
  // Which of the others look the same matters to numbers alone.
  const isOfNumbers = places.some((at) => /^[-\d]/.test(group[at] ?? ''))
  const clause = clauseOfGroup(known, valuesOf(group), isOfNumbers ? all.map(valuesOf) : [])
  return clause && withClause(own, clause, false)
}

function conjoined(query: string, more: string): string | undefined {
  try {
    return withClause(query, parse(more), false)
  } catch {
    return undefined // A later version of the language, perhaps.
  }
}

const STREAM = '_stream'

/** Undefined stands for all; of a group by stream it is the one. */
function streamsOf(
  { streams, group_by: names }: Asked,
  group: GroupValues,
): readonly (string | undefined)[] {
  const at = names.indexOf(STREAM)
  if (at >= 0 && group !== null) return [labelValue(group[at] ?? 'null')]
  return streams === '*' ? [undefined] : streams
}
