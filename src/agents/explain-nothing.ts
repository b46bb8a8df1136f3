/** Why a search found nothing: which clause excludes every event, and what may have been meant. */
import { format } from '../language/format.ts'
import { nearest, widerClause } from '../language/near-words.ts'
import { parse } from '../language/parse.ts'
import type { FieldClause, Query } from '../language/query-tree.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { Stream, StreamId } from '../model/stream.ts'
import { type AggregateDeps, aggregateText } from '../read/aggregate/aggregate.ts'
import { readAggregateRequest } from '../read/aggregate/aggregate-request.ts'
import { type FacetsDeps, facets, readFacetsRequest } from '../read/aggregate/facets.ts'
import { formatTimeNs } from '../read/answer-coverage.ts'
import type { SearchDeps } from '../read/search/search.ts'
import type { SearchRequest } from '../read/search/search-request.ts'
import type { FieldPage, FieldRecord } from '../store/catalog/schema-store.ts'
import type { StreamSummary } from '../store/raw/usage-store.ts'
import { anyMatch } from './any-match.ts'
import { cutText } from './fit-text.ts'

export interface NothingDeps extends AggregateDeps, FacetsDeps {
  readonly search: SearchDeps
  readonly listFields: (streamId: StreamId, page: FieldPage) => Promise<readonly FieldRecord[]>
  readonly readSummaries: (streamIds: readonly StreamId[]) => Promise<readonly StreamSummary[]>
}

interface Asked {
  readonly request: SearchRequest
  readonly streams: readonly Stream[]
  readonly signal: AbortSignal
}

interface Explained extends Asked {
  /** Some of the events may be stored and not counted yet. */
  readonly waits: boolean
  /** By how much counts lag behind, in words. */
  readonly lag: string
}

const CLAUSES_MAX = 12
/** Searched for among the events that wait, too. */
const LOOKED_FOR_MAX = 4
/** Whose fields are looked through for a similar name. */
const STREAMS_LOOKED_AT = 8
const VALUES_LOOKED_AT = 100
const FIELDS_LOOKED_AT = 1_000
const HINT_CHARS_MAX = 400
const HINTS_MAX = 6
const EXPLAIN_MS_MAX = 5_000
const NS_PER_MS = 1_000_000n

/** At most `HINTS_MAX` short sentences for the model. Throws only when it is aborted. */
export async function explainNothing(deps: NothingDeps, asked: Asked): Promise<string[]> {
  try {
    const hints = await explain(deps, asked)
    return hints.slice(0, HINTS_MAX).map((hint) => cutText(hint, HINT_CHARS_MAX))
  } catch (cause) {
    if (asked.signal.aborted) throw cause
    return ['the reason cannot be found now; try a wider range or fewer clauses']
  }
}

/**
 * Subtle: events are counted in the projection, and the search that found nothing looked at those
 * that wait for it as well. So a count of 0 proves nothing while some wait: then it is asked again
 * by a search, which looks into the raw store, and only what that does not find is denied.
 */
async function explain(deps: NothingDeps, given: Asked): Promise<string[]> {
  const { request, streams, signal } = given
  const clauses = clausesOf(request.query).slice(0, CLAUSES_MAX)
  const counts = await countEach(deps, given, clauses)
  const newestMs = await newestOf(deps, streams)
  const waits = newestMs !== undefined && newestMs >= counts.asOfMs
  const asked = { ...given, waits, lag: lagOf(deps, counts.asOfMs) }
  const isThere = (query?: Query) => anyMatch(deps.search, request, streams, query, signal)
  if (counts.total === 0) {
    const isInRange = waits ? await isThere() : false
    if (isInRange === false) return [explainRange(asked, newestMs)]
    if (isInRange === undefined) return [`${asked.lag}, and newer events were not looked through`]
  }
  const zero = clauses.filter((_, index) => counts.each[index] === 0)
  const empty = waits ? await onlyEmpty(zero, isThere) : zero
  const head = headOf(counts.total, asked)
  if (empty.length === 0) {
    const told = clauses.map((clause, index) => {
      return `${format(clause)} (${counts.each[index] || 'not counted yet'})`
    })
    return [`${head}; each clause alone matches some, but no event matches all: ${told.join(', ')}`]
  }
  const hints = empty.map((clause) => `${head}; none matches the clause: ${format(clause)}`)
  const near = await Promise.all(empty.slice(0, 2).map((clause) => nearValues(deps, asked, clause)))
  return [...hints.slice(0, 3), ...near.flat()]
}

async function newestOf(
  deps: NothingDeps,
  streams: readonly Stream[],
): Promise<number | undefined> {
  const summaries = await deps.readSummaries(streams.map(({ streamId }) => streamId))
  const times = summaries.flatMap(({ newestMs }) => (newestMs === null ? [] : [newestMs]))
  return times.length === 0 ? undefined : Math.max(...times)
}

function lagOf({ nowMs }: NothingDeps, asOfMs: number): string {
  return `counts are ${Math.max(1, Math.ceil((nowMs() - asOfMs) / 1_000))} s behind`
}

function headOf(total: number, { waits, lag }: Explained): string {
  if (!waits) return `the range holds ${total} events`
  if (total === 0) return `the range holds events that came just now (${lag})`
  return `the range holds ${total} events and what came just now (${lag})`
}

/** Those clauses that no event matches at all; of some that is not looked up. */
async function onlyEmpty(
  clauses: readonly Query[],
  isThere: (query: Query) => Promise<boolean | undefined>,
): Promise<readonly Query[]> {
  const empty: Query[] = []
  for (const clause of clauses.slice(0, LOOKED_FOR_MAX)) {
    if ((await isThere(clause)) === false) empty.push(clause)
  }
  return empty
}

function clausesOf(query: Query): readonly Query[] {
  if (query.kind === 'all') return []
  return query.kind === 'and' ? query.clauses : [query]
}

/** The request's range and basis, as members of a body. */
function rangeOf({ fromNs, toNs, timeBasis }: SearchRequest) {
  const range = { from: formatTimeNs(fromNs), to: formatTimeNs(toNs) }
  return { ...range, time_basis: timeBasis, timeout_ms: EXPLAIN_MS_MAX }
}

async function countEach(
  deps: NothingDeps,
  { request, streams, signal }: Asked,
  clauses: readonly Query[],
) {
  const named = clauses.map((clause, index) => {
    return { fn: 'count', query: format(clause), as: `c${index}` }
  })
  const members = { ...rangeOf(request), aggregates: [{ fn: 'count', as: 'total' }, ...named] }
  const asked = readAggregateRequest(members, deps.nowMs())
  const answer = JSON.parse(await aggregateText(deps, asked, streams, signal)) as {
    readonly total: number
    readonly as_of: string
    readonly rows: readonly Readonly<Record<string, number>>[]
  }
  const row = answer.rows[0] ?? {}
  const each = clauses.map((_, index) => Number(row[`c${index}`] ?? 0))
  return { total: answer.total, each, asOfMs: Date.parse(answer.as_of) }
}

function explainRange({ request, streams }: Asked, newestMs: number | undefined): string {
  const isOne = streams.length === 1
  const [whose, its] = isOne ? ['the stream has', 'its'] : ['these streams have', 'their']
  if (newestMs === undefined) return `${whose} no event at all`
  const newest = formatTimeMs(newestMs)
  const { fromNs, toNs, timeBasis, isOpen } = request
  const range = `from ${formatTimeNs(fromNs)} to ${formatTimeNs(toNs)}`
  if (timeBasis === 'event_time') {
    const what = `${whose} no event ${range} by the time of the event (time_basis)`
    return `${what}; ${its} newest was received at ${newest}: set "from", or time_basis=ingested_at`
  }
  const newestNs = BigInt(newestMs) * NS_PER_MS
  if (newestNs >= fromNs && (isOpen || newestNs < toNs)) {
    return `no event was found ${range}, but one came at ${newest}: search again`
  }
  return `${whose} no event ${range}; ${its} newest came at ${newest}: set "from"`
}

/** Longer words or values that begin so, else those that resemble the clause's. */
async function nearValues(deps: NothingDeps, asked: Explained, clause: Query): Promise<string[]> {
  const { search, request, streams, signal } = { ...deps, ...asked }
  const wider = widerClause(format(clause))
  if (wider && (await anyMatch(search, request, streams, parse(wider), signal)) === true) {
    return [`words and values are matched whole: ${wider} matches some events`]
  }
  return clause.kind === 'field' ? likeField(deps, asked, clause) : []
}

/** Values or fields that resemble those of the clause. */
async function likeField(
  deps: NothingDeps,
  asked: Explained,
  clause: FieldClause,
): Promise<string[]> {
  const path = pathOf(clause)
  if (path === undefined) return []
  const { request, streams, signal } = asked
  const members = { ...rangeOf(request), fields: [path], limit: VALUES_LOOKED_AT }
  const found = JSON.parse(
    await facets(deps, readFacetsRequest(members, deps.nowMs()), streams, signal),
  ) as { readonly facets: readonly FacetOf[] }
  const values = (found.facets[0]?.values ?? []).map(({ value }) => {
    return typeof value === 'object' ? JSON.stringify(value) : String(value)
  })
  if (values.length === 0) {
    const { start, end } = clause
    const some: Query = { ...clause, test: { kind: 'exists', start, end } }
    const isThere = asked.waits && (await anyMatch(deps.search, request, streams, some, signal))
    return isThere === false ? nearFields(deps, streams, path) : []
  }
  const wanted = clause.test.kind === 'value' ? format(clause).slice(path.length + 1) : ''
  const near = nearest(wanted, values, (value) => value)
  const told = (near.length > 0 ? near : values.slice(0, 8)).map((value) => cutText(value, 60))
  const what = near.length > 0 ? 'near values' : 'its most frequent values'
  return [`${what} of ${path}: ${told.map((value) => JSON.stringify(value)).join(', ')}`]
}

interface FacetOf {
  readonly values: readonly { readonly value: unknown }[]
}

function pathOf({ field }: FieldClause): string | undefined {
  if (field.kind === 'system')
    return ['_level', '_service'].includes(field.name) ? field.name : undefined
  return field.kind === 'path' && field.parts.length === 1 ? field.parts[0] : undefined
}

async function nearFields(
  deps: NothingDeps,
  streams: readonly Stream[],
  path: string,
): Promise<string[]> {
  if (streams.length > STREAMS_LOOKED_AT) return []
  const page = { after: undefined, prefix: undefined, type: undefined, conflict: undefined }
  const lists = await Promise.all(
    streams.map(({ streamId }) => {
      return deps.listFields(streamId, { ...page, limit: FIELDS_LOOKED_AT })
    }),
  )
  const known = [...new Set(lists.flat().map((field) => field.path))]
  if (known.includes(path)) return [`${path} has no value in this range`]
  const near = nearest(path, known, (one) => one)
  const told = near.length > 0 ? `; perhaps: ${near.join(', ')}` : '; describe_stream lists them'
  const whose = streams.length === 1 ? 'the stream has' : 'these streams have'
  return [`${whose} no field ${path}${told}`]
}
