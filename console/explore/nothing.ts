/**
 * Why a search found nothing: whether the range has events at all, which clause excludes all of
 * them, and what it may have been meant to be. Uses the public API.
 */
import { conjoin } from '../../src/language/combine.ts'
import { format } from '../../src/language/format.ts'
import { nearest } from '../../src/language/near-words.ts'
import { parse } from '../../src/language/parse.ts'
import type { Query } from '../../src/language/query-tree.ts'
import { visibleLine } from '../../src/language/visible-text.ts'
import { callJson, callText } from '../base/api.ts'
import { findUnknown } from '../base/catalog.ts'
import { otherClock } from '../base/clock.ts'
import { apiField, type EventField, fieldText, readFieldText } from '../base/field.ts'
import type { Usage } from '../base/stream.ts'
import { type Ask, readMembers, readPath } from './ask.ts'
import { clauseOfValue, type Facet, type FacetValue, readFacets } from './facet.ts'

/** What to do about it: a query in place of the one that found nothing. */
export interface Instead {
  readonly label: string
  readonly query: string
  /** Events that it finds; undefined: not counted. */
  readonly count: number | undefined
}

export interface NothingFound {
  /** Events in the range, whatever the query. */
  readonly total: number
  /** Clauses that no event of the range matches. */
  readonly empty: readonly string[]
  readonly without: readonly Instead[]
  /** Values that are near what a clause asks for, or the most frequent ones. */
  readonly near: readonly { readonly field: string; readonly values: readonly Instead[] }[]
  /** When the newest event came, where the range has none: milliseconds since 1970. */
  readonly newestMs: number | undefined
  /** Events that match and that the range has by the other clock, where it has none by this one. */
  readonly byOtherClock: number
}

const CLAUSES_MAX = 8
const VALUES_LOOKED_AT = 100
const VALUES_SHOWN = 6

/** Rejects when the service does not answer. */
export async function explainNothing(ask: Ask, signal: AbortSignal): Promise<NothingFound> {
  const clauses = clausesOf(parse(ask.query))
  const counted = await countEach(ask, clauses, signal)
  const { total, alone, without } = await withWaiting(ask, clauses, counted, signal)
  if (total === 0) {
    const [newestMs, byOtherClock] = await Promise.all([
      newestOf(ask, signal),
      countByOtherClock(ask, signal),
    ])
    return { total, empty: [], without: [], near: [], newestMs, byOtherClock }
  }
  const excluding = clauses.filter((_, index) => alone[index] === 0)
  const near = await Promise.all(
    excluding.slice(0, 2).map((clause) => nearOf(ask, clauses, clause, signal)),
  )
  return {
    total,
    empty: excluding.map(format),
    without: clauses.length < 2 ? [] : without.filter(({ count }) => count !== 0),
    near: near.flat(),
    newestMs: undefined,
    byOtherClock: 0,
  }
}

async function countByOtherClock(ask: Ask, signal: AbortSignal): Promise<number> {
  const clock = otherClock(ask.clock)
  const body = { ...readMembers({ ...ask, clock }), aggregates: [{ fn: 'count' }] }
  const call = { method: 'POST', body, signal } as const
  return (await callJson<{ readonly total: number }>(readPath(ask, 'query'), call)).total
}

function clausesOf(query: Query): readonly Query[] {
  if (query.kind === 'all') return []
  return query.kind === 'and' ? query.clauses.slice(0, CLAUSES_MAX) : [query]
}

/** Counts the range, each clause alone, and all but each, in one request. */
async function countEach(ask: Ask, clauses: readonly Query[], signal: AbortSignal) {
  const rest = clauses.map((_, index) => replaced(clauses, index, undefined))
  const counted = [
    ...clauses.map((clause, index) => ({ fn: 'count', query: format(clause), as: `a${index}` })),
    ...rest.map((query, index) => ({ fn: 'count', query, as: `r${index}` })),
  ]
  const answer = await callJson<{
    readonly total: number
    readonly as_of: string
    readonly rows: readonly Readonly<Record<string, number>>[]
  }>(readPath(ask, 'query'), {
    method: 'POST',
    body: {
      ...readMembers(ask),
      query: '',
      aggregates: [{ fn: 'count', as: 'all' }, ...counted],
    },
    signal,
  })
  const [row = {}] = answer.rows
  const without: Instead[] = clauses.map((clause, index) => {
    const label = format(clause)
    return { label, query: rest[index]!, count: row[`r${index}`] ?? 0 }
  })
  const { total, as_of: asOf } = answer
  return { total, asOf, alone: clauses.map((_, index) => row[`a${index}`] ?? 0), without }
}

/** The clock that an answer's `as_of` is from may be ahead of the service's. */
const EVER = '2100-01-01T00:00:00Z'

type CountedEach = Awaited<ReturnType<typeof countEach>>

/** Counts lack events of the last seconds, a search does not: what it finds is there. */
async function withWaiting(
  ask: Ask,
  clauses: readonly Query[],
  counted: CountedEach,
  signal: AbortSignal,
): Promise<CountedEach> {
  const { total, asOf, alone, without } = counted
  const since: Ask = { ...ask, clock: 'ingested_at', from: asOf, to: EVER }
  if (!(await isFound(since, '', signal))) return counted
  const atLeast = async (count: number, query: string) => {
    return count > 0 || !(await isFound(ask, query, signal)) ? count : 1
  }
  const [all, ...each] = await Promise.all([
    atLeast(total, ''),
    ...clauses.map((clause, index) => atLeast(alone[index]!, format(clause))),
  ])
  const others = without.map(async (instead) => {
    return { ...instead, count: await atLeast(instead.count ?? 0, instead.query) }
  })
  return { total: all, asOf, alone: each, without: await Promise.all(others) }
}

async function isFound(ask: Ask, query: string, signal: AbortSignal): Promise<boolean> {
  const body = { ...readMembers(ask), query, limit: 1 }
  const call = { method: 'POST', body, signal } as const
  const page = await callJson<{ readonly events: readonly unknown[] }>(
    readPath(ask, 'search'),
    call,
  )
  return page.events.length > 0
}

/** The query with another clause, or none, in place of that one. */
function replaced(clauses: readonly Query[], at: number, other: Query | undefined): string {
  const left = clauses.flatMap((clause, index) => {
    if (index !== at) return [clause]
    return other === undefined ? [] : [other]
  })
  return left.length === 0 ? '' : format(conjoin('and', left))
}

async function newestOf(ask: Ask, signal: AbortSignal): Promise<number | undefined> {
  if (ask.streamId === undefined) return undefined
  const usage = await callJson<Usage>(`streams/${ask.streamId}/usage`, { signal })
  return usage.newest_event_at === null ? undefined : Date.parse(usage.newest_event_at)
}

/** Values of the clause's field that are like what it asks for; without any, fields like it. */
async function nearOf(
  ask: Ask,
  clauses: readonly Query[],
  clause: Query,
  signal: AbortSignal,
): Promise<NothingFound['near']> {
  const field = fieldOf(clause)
  if (field === undefined) return []
  const at = clauses.indexOf(clause)
  const text = await callText(readPath(ask, 'facets'), {
    method: 'POST',
    body: { ...readMembers(ask), query: '', fields: [apiField(field)], limit: VALUES_LOOKED_AT },
    signal,
  })
  const [facet] = readFacets(text).facets
  const values = facet?.values.filter(({ json }) => json !== 'null') ?? []
  const name = fieldText(field)
  if (facet === undefined || values.length === 0) {
    return await nearFields(ask, clauses, at, name, signal)
  }
  const wanted = format(clause).slice(name.length + 1)
  const like = nearest(wanted, values, ({ text: value }) => value)
  const shown = like.length > 0 ? like : values.slice(0, VALUES_SHOWN)
  return [{ field: name, values: shown.flatMap((value) => insteadOf(clauses, at, facet, value)) }]
}

function insteadOf(
  clauses: readonly Query[],
  at: number,
  facet: Facet,
  value: FacetValue,
): Instead[] {
  const clause = clauseOfValue(facet, value)
  if (clause === undefined) return []
  return [{ label: value.text, query: replaced(clauses, at, clause), count: value.count }]
}

async function nearFields(
  ask: Ask,
  clauses: readonly Query[],
  at: number,
  name: string,
  signal: AbortSignal,
): Promise<NothingFound['near']> {
  const clause = clauses[at]!
  if (clause.kind !== 'field' || clause.field.kind !== 'path') return []
  const [unknown] = await findUnknown(ask.streamId, [clause.field], signal)
  const values = (unknown?.nearest ?? []).slice(0, VALUES_SHOWN).flatMap(({ name: like }) => {
    const field = readFieldText(like)
    if (field?.kind !== 'path' || like === name) return []
    const query = replaced(clauses, at, { ...clause, field })
    return [{ label: visibleLine(like), query, count: undefined }]
  })
  return values.length === 0 ? [] : [{ field: 'fields', values }]
}

/** Of a clause about a field whose values can be counted. */
function fieldOf(clause: Query): EventField | undefined {
  if (clause.kind !== 'field') return undefined
  const { field } = clause
  if (field.kind === 'system') {
    return ['_level', '_service'].includes(field.name) ? field : undefined
  }
  return field.kind === 'path' && field.parts.length === 1 ? field : undefined
}
