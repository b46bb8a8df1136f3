/** Why a search found nothing: which clause excludes every event, and what may have been meant. */
import { format } from '../language/format.ts'
import { nearest } from '../language/near-words.ts'
import type { FieldClause, Query } from '../language/query-tree.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { Stream, StreamId } from '../model/stream.ts'
import { type AggregateDeps, aggregateText } from '../read/aggregate/aggregate.ts'
import { readAggregateRequest } from '../read/aggregate/aggregate-request.ts'
import { type FacetsDeps, facets, readFacetsRequest } from '../read/aggregate/facets.ts'
import { formatTimeNs } from '../read/honest-answer.ts'
import type { SearchRequest } from '../read/search/search-request.ts'
import type { FieldPage, FieldRecord } from '../store/catalog/schema-store.ts'
import type { StreamSummary } from '../store/raw/usage-store.ts'
import { cutText } from './fit-text.ts'

export interface NothingDeps extends AggregateDeps, FacetsDeps {
  readonly listFields: (streamId: StreamId, page: FieldPage) => Promise<readonly FieldRecord[]>
  readonly readSummaries: (streamIds: readonly StreamId[]) => Promise<readonly StreamSummary[]>
}

interface Asked {
  readonly request: SearchRequest
  readonly stream: Stream
  readonly signal: AbortSignal
}

const CLAUSES_MAX = 12
const VALUES_LOOKED_AT = 100
const FIELDS_LOOKED_AT = 1_000
const HINT_CHARS_MAX = 400
const HINTS_MAX = 6
const EXPLAIN_MS_MAX = 5_000

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

async function explain(deps: NothingDeps, asked: Asked): Promise<string[]> {
  const { request } = asked
  const clauses = clausesOf(request.query).slice(0, CLAUSES_MAX)
  const counts = await countEach(deps, asked, clauses)
  if (counts.total === 0) return [await explainRange(deps, asked)]
  const head = `the range holds ${counts.total} events`
  const empty = clauses.filter((_, index) => counts.each[index] === 0)
  if (empty.length === 0) {
    const told = clauses.map((clause, index) => `${format(clause)} (${counts.each[index]})`)
    return [`${head}; each clause alone matches some, but no event matches all: ${told.join(', ')}`]
  }
  const hints = empty.map((clause) => `${head}; none matches the clause: ${format(clause)}`)
  const near = await Promise.all(empty.slice(0, 2).map((clause) => nearValues(deps, asked, clause)))
  return [...hints.slice(0, 3), ...near.flat()]
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
  { request, stream, signal }: Asked,
  clauses: readonly Query[],
) {
  const named = clauses.map((clause, index) => {
    return { fn: 'count', query: format(clause), as: `c${index}` }
  })
  const members = { ...rangeOf(request), aggregates: [{ fn: 'count', as: 'total' }, ...named] }
  const asked = readAggregateRequest(members, deps.nowMs())
  const answer = JSON.parse(await aggregateText(deps, asked, [stream], signal)) as {
    readonly total: number
    readonly rows: readonly Readonly<Record<string, number>>[]
  }
  const row = answer.rows[0] ?? {}
  return { total: answer.total, each: clauses.map((_, index) => Number(row[`c${index}`] ?? 0)) }
}

async function explainRange(deps: NothingDeps, { request, stream }: Asked): Promise<string> {
  const [summary] = await deps.readSummaries([stream.streamId])
  const newest = summary?.newestMs ?? null
  if (newest === null) return 'the stream holds no event at all'
  const from = formatTimeNs(request.fromNs)
  const range = `from ${from} to ${formatTimeNs(request.toNs)}`
  return `the stream has no event ${range}; its newest came at ${formatTimeMs(newest)}: set "from"`
}

/** Values or fields that resemble those of the clause. */
async function nearValues(deps: NothingDeps, asked: Asked, clause: Query): Promise<string[]> {
  if (clause.kind !== 'field') return []
  const path = pathOf(clause)
  if (path === undefined) return []
  const { request, stream, signal } = asked
  const members = { ...rangeOf(request), fields: [path], limit: VALUES_LOOKED_AT }
  const found = JSON.parse(
    await facets(deps, readFacetsRequest(members, deps.nowMs()), [stream], signal),
  ) as { readonly facets: readonly FacetOf[] }
  const values = (found.facets[0]?.values ?? []).map(({ value }) => String(value))
  if (values.length === 0) return nearFields(deps, stream, path)
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

async function nearFields(deps: NothingDeps, stream: Stream, path: string): Promise<string[]> {
  const page = { after: undefined, prefix: undefined, type: undefined, conflict: undefined }
  const known = await deps.listFields(stream.streamId, { ...page, limit: FIELDS_LOOKED_AT })
  if (known.some((field) => field.path === path)) return [`${path} has no value in this range`]
  const near = nearest(path, known, (field) => field.path).map((field) => field.path)
  const told = near.length > 0 ? `; perhaps: ${near.join(', ')}` : '; describe_stream lists them'
  return [`the stream has no field ${path}${told}`]
}
