/** The body of a search: which events, in which order, what is computed of them. */
import { ELASTIC_HITS_MAX, FIELD_PATH_BYTES_MAX, QUERY_MS_MAX } from '../limits.ts'
import type { TimeBasis } from '../model/aggregates.ts'
import { tryParseEventId, tryParseTimedId } from '../model/event-id.ts'
import type { AggTree } from './aggregations/agg-tree.ts'
import { readAggs } from './aggregations/read-aggs.ts'
import { clockOf } from './meant-fields.ts'
import {
  asList,
  isEmpty,
  type Members,
  readFlag,
  readInteger,
  readMembers,
  readNumber,
  readObject,
  readText,
  refused,
  shown,
} from './members.ts'
import { type ClockRange, type MeantQuery, readQuery } from './read-query.ts'

export interface SearchBody extends MeantQuery {
  readonly clock: TimeBasis
  /** Hits that are left out, and those that are shown. */
  readonly from: number
  readonly size: number
  readonly isDescending: boolean
  /** A cursor of ours: only hits behind it. */
  readonly searchAfter: string | undefined
  readonly aggs: AggTree
  readonly hasAggs: boolean
  readonly hasSource: boolean
  readonly fields: readonly FieldAsked[]
  readonly highlight: Highlight | undefined
  /** Undefined where nothing was said. */
  readonly countsAll: boolean | undefined
  readonly timeoutMs: number
}

export interface FieldAsked {
  readonly name: string
  readonly format: string | undefined
}

export interface Highlight {
  readonly before: string
  readonly after: string
}

const KNOWN = [
  'query',
  'size',
  'from',
  'sort',
  'search_after',
  'aggs',
  'aggregations',
  '_source',
  'fields',
  'docvalue_fields',
  'stored_fields',
  'script_fields',
  'highlight',
  'track_total_hits',
  'track_scores',
  'timeout',
  'version',
  'seq_no_primary_term',
  'explain',
  'runtime_mappings',
  'post_filter',
  'min_score',
  'collapse',
  'rescore',
  'suggest',
  'knn',
  'pit',
  'slice',
  'profile',
]
/** What is refused with what to do instead; elsewhere an empty object, or `false`. */
const REFUSED: Readonly<Record<string, string>> = {
  script_fields: 'scripts are not run',
  runtime_mappings: 'scripts are not run',
  post_filter: 'put the filter into the query',
  min_score: 'events have no scores',
  collapse: 'use a terms aggregation',
  rescore: 'events have no scores',
  suggest: 'use a terms aggregation',
  knn: 'there are no vectors',
  pit: 'search_after pages exactly without one',
  slice: 'search_after pages exactly without one',
  explain: 'events have no scores',
  profile: 'see the metrics of the service',
}
const SIZE_DEFAULT = 10
const TIE_FIELDS = ['_doc', '_id', '_shard_doc', '_seq_no']

export function readSearch(body: unknown, nowMs: number): SearchBody {
  const members = readMembers(body, 'search', KNOWN)
  for (const [name, instead] of Object.entries(REFUSED)) {
    const value = members[name]
    const isNothing = value === undefined || value === false || isEmpty(value)
    if (!isNothing) throw refused(`${name} is not supported: ${instead}`)
  }
  const query = readQuery(members.query, nowMs)
  const sort = readSort(members.sort)
  const clock = query.range?.clock ?? sort?.clock ?? 'ingested_at'
  if (sort?.clock !== undefined && sort.clock !== clock) {
    throw refused('sort: the range of time and the order must be of one clock')
  }
  const range = query.range ?? { clock, fromMs: undefined, untilMs: undefined }
  assertRange(range)
  const aggs = members.aggs ?? members.aggregations
  const max = ELASTIC_HITS_MAX
  const limit = 'ELASTIC_HITS_MAX'
  const size = readInteger(members.size ?? SIZE_DEFAULT, 'size', { min: 0, max, limit })
  const from = readInteger(members.from ?? 0, 'from', { min: 0, max, limit })
  if (from + size > max) throw refused(`from + size is over ${max} (${limit}): use search_after`)
  return {
    ...query,
    range,
    clock,
    from,
    size,
    isDescending: sort?.isDescending ?? true,
    searchAfter: readSearchAfter(members.search_after, clock, sort?.isDescending ?? true),
    aggs: readAggs(aggs, { nowMs, range: query.range }),
    hasAggs: aggs !== undefined,
    hasSource: readSource(members._source),
    fields: [
      ...readFields(members.fields, 'fields'),
      ...readFields(members.docvalue_fields, 'docvalue_fields'),
    ],
    highlight: readHighlight(members.highlight),
    countsAll: readCountsAll(members.track_total_hits),
    timeoutMs: readTimeout(members.timeout),
  }
}

function assertRange({ fromMs, untilMs }: ClockRange): void {
  if (fromMs === undefined || untilMs === undefined || fromMs < untilMs) return
  if (fromMs - untilMs > 0) throw refused('query: the range of time ends before it begins')
}

/** By one clock; a second key is the tie, whatever order they come in. */
function readSort(value: unknown) {
  if (value === undefined) return undefined
  const keys = asList(value).flatMap((one): (readonly [string, unknown])[] => {
    if (typeof one !== 'string') return Object.entries(readObject(one, 'sort'))
    const [, name = one, order] = /^(.*):(asc|desc)$/.exec(one) ?? []
    return [[name, order ?? (name === '_score' ? 'desc' : 'asc')]]
  })
  const times = keys.filter(([name]) => clockOf(name) !== undefined)
  const others = keys.filter(([name]) => clockOf(name) === undefined)
  const wrong = others.find(([name]) => !TIE_FIELDS.includes(name) && name !== '_score')
  if (wrong !== undefined || times.length > 1) {
    const name = wrong?.[0] ?? times[1]![0]
    throw refused(`sort: events are sorted by @timestamp or by _ingested_at, not by ${shown(name)}`)
  }
  const [time] = times
  if (time === undefined) return undefined
  const [name, how] = time
  const order = typeof how === 'string' ? how : readObject(how, `sort.${shown(name)}`).order
  if (order !== undefined && order !== 'asc' && order !== 'desc') {
    throw refused('sort: an order is asc or desc')
  }
  return { clock: clockOf(name)!, isDescending: order === 'desc' }
}

/** `[ms, tie]` of a hit; with the time alone, what is beyond that millisecond. */
function readSearchAfter(
  value: unknown,
  clock: TimeBasis,
  isDescending: boolean,
): string | undefined {
  if (value === undefined) return undefined
  const texts = asList(value).map((one) => (typeof one === 'number' ? String(one) : one))
  const isTimed = clock === 'event_time'
  const cursor = texts.find((one) => {
    if (typeof one !== 'string') return false
    return (isTimed ? tryParseTimedId(one) : tryParseEventId(one)) !== undefined
  })
  if (typeof cursor === 'string') return cursor
  const direction = isDescending ? 'descending' : 'ascending'
  throw refused(`search_after must be the sort of a hit of the same ${direction} search`)
}

function readSource(value: unknown): boolean {
  if (value === undefined || value === true || value === '*') return true
  if (value === false) return false
  const all = Array.isArray(value) && value.every((one) => one === '*')
  if (all || isEmpty(value)) return true
  throw refused('_source must be true or false: an event is shown as a whole')
}

function readFields(value: unknown, where: string): FieldAsked[] {
  if (value === undefined) return []
  const list = asList(value)
  if (list.length > 100) throw refused(`${where}: over 100 fields`)
  return list.map((one) => {
    const members = typeof one === 'string' ? { field: one } : one
    const { field, format } = readMembers(members, where, ['field', 'format', 'include_unmapped'])
    const name = readText(field, `${where}.field`)
    if (name.length > FIELD_PATH_BYTES_MAX) {
      throw refused(`${where}: a name is over ${FIELD_PATH_BYTES_MAX} (FIELD_PATH_BYTES_MAX)`)
    }
    return { name, format: format === undefined ? undefined : readText(format, `${where}.format`) }
  })
}

function readHighlight(value: unknown): Highlight | undefined {
  if (value === undefined) return undefined
  const { pre_tags: pre, post_tags: post }: Members = readObject(value, 'highlight')
  const tag = (given: unknown, instead: string) => {
    const text = given === undefined ? instead : readText(asList(given)[0], 'highlight')
    if (text.length > 64) throw refused('highlight: a tag has over 64 characters')
    return text
  }
  return { before: tag(pre, '<em>'), after: tag(post, '</em>') }
}

function readCountsAll(value: unknown): boolean | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'boolean' || value === 'true' || value === 'false') {
    return readFlag(value, 'track_total_hits')
  }
  return readNumber(value, 'track_total_hits') > 0
}

function readTimeout(value: unknown): number {
  if (value === undefined) return QUERY_MS_MAX
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 }
  const [, count, unit = ''] = /^([0-9]{1,7})(ms|s|m)$/.exec(String(value)) ?? []
  const ms = Number(count) * (units[unit] ?? Number.NaN)
  if (!(ms > 0)) throw refused('timeout must be such as 5s')
  return Math.min(ms, QUERY_MS_MAX)
}

/** The parameters of a URL as members of a body: `q`, `size`, `sort`, … */
export function membersOfUrl(params: URLSearchParams): Members {
  const q = params.get('q')
  const members: Record<string, unknown> = {}
  if (q !== null) members.query = { bool: { filter: { query_string: { query: q } } } }
  for (const name of ['size', 'from', 'timeout', 'track_total_hits']) {
    const value = params.get(name)
    if (value !== null) members[name] = value
  }
  const sort = params.get('sort')
  if (sort !== null) members.sort = sort.split(',')
  const source = params.get('_source')
  if (source === 'false' || source === 'true') members._source = source === 'true'
  else if (source !== null) members._source = source.split(',')
  const others = ['_source_includes', '_source_excludes', 'docvalue_fields', 'stored_fields']
  if (others.some((name) => params.has(name) && params.get(name) !== '*')) {
    throw refused(`${others.join(', ')} are not supported in the URL`)
  }
  if (params.has('scroll')) throw refused('scroll is not supported: search_after pages exactly')
  return members
}
