/** Why nothing was found, as far as it can be found out: on stderr, for people. */
import { format } from '../language/format.ts'
import { nearest } from '../language/near-words.ts'
import { parse } from '../language/parse.ts'
import type { FieldClause, Query } from '../language/query-tree.ts'
import type { ChosenStreams } from './chosen-streams.ts'
import { ApiFailure } from './client.ts'
import { type Clock, rangeOf } from './clock.ts'
import type { Invocation } from './command.ts'
import { isCsv } from './events/csv.ts'
import type { EventRecord } from './events/event-values.ts'

export interface Nothing {
  readonly streams: ChosenStreams
  readonly clock: Clock
  readonly query: string
  /** It was counted, which follows ingest by some seconds, not searched for. */
  readonly isCounted?: boolean
}

/** Below the time that a search may take by itself. */
const TIMEOUT_MS = 10_000
const CLAUSES_MAX = 12
const FIELDS_MAX = 10_000
const STREAMS_MAX = 8
/** All times that an event may have. */
const EVER = { from: '0000-01-01T00:00:00Z', to: '9999-12-31T23:59:59Z' } as const

/** Programs get the first line only. Hints that cannot be had are left out. */
export async function tellWhyNothing(invocation: Invocation, nothing: Nothing): Promise<void> {
  const { terminal, values, signal } = invocation
  terminal.note('no event matches')
  if (values.json === true || isCsv(values)) return
  try {
    for (const hint of await hintsOf(invocation, nothing)) terminal.note(hint)
  } catch (cause) {
    if (signal.aborted || !(cause instanceof ApiFailure)) throw cause
  }
}

async function hintsOf(invocation: Invocation, nothing: Nothing): Promise<string[]> {
  const { clock, query, isCounted = false } = nothing
  const range = rangeOf(invocation.values)
  if (isCounted && (await findOne(invocation, nothing, query, 'newest', range)) !== undefined) {
    return ['some that match came just now, and are not counted yet: ask again']
  }
  const elsewhere = await findOne(invocation, nothing, query, 'newest')
  if (elsewhere !== undefined) {
    const time = elsewhere[clock.basis]
    return [`the newest match is of ${time}, outside of the range: --from ${beginOf(time)}`]
  }
  const unknown = await unknownFields(invocation, nothing, parse(query))
  if (unknown.length > 0) return unknown
  const { total, empty } = await countClauses(invocation, nothing)
  if (total > 0) {
    const told = empty.length === 0 ? '' : `; none has ${empty.join(', nor ')}`
    return [`${total} events are in the range${told}`]
  }
  const newest = await findOne(invocation, nothing, '', 'newest')
  if (newest === undefined) return ['there is no event at all']
  const oldest = await findOne(invocation, nothing, '', 'oldest')
  const [from, to] = [oldest?.[clock.basis] ?? '', newest[clock.basis]]
  return [`no event is in the range; there are some from ${from} to ${to}`]
}

/** An event at one end of the range, else of all time. */
async function findOne(
  { client }: Invocation,
  { streams, clock }: Nothing,
  query: string,
  order: 'newest' | 'oldest',
  range: object = EVER,
): Promise<EventRecord | undefined> {
  const asked = {
    query,
    ...range,
    order,
    limit: 1,
    time_basis: clock.basis,
    timeout_ms: TIMEOUT_MS,
  }
  const body = { ...streams.members, ...asked }
  const path = streams.pathOf('search')
  const { events, complete } = await client.json<{
    readonly events: readonly EventRecord[]
    readonly complete: boolean
  }>(path, { body })
  // What was not looked at cannot be denied.
  if (events.length === 0 && !complete) throw new ApiFailure('it was not searched to its end')
  return events[0]
}

/** The minute in which it lies: the range begins there. */
function beginOf(time: string): string {
  return `${time.slice(0, 'YYYY-MM-DDThh:mm'.length)}:00Z`
}

async function countClauses({ client, values }: Invocation, nothing: Nothing) {
  const { streams, clock, query } = nothing
  const tree = parse(query)
  const clauses = tree.kind === 'and' ? tree.clauses : tree.kind === 'all' ? [] : [tree]
  const texts = clauses.slice(0, CLAUSES_MAX).map(format)
  const body = {
    ...streams.members,
    ...rangeOf(values),
    time_basis: clock.basis,
    timeout_ms: TIMEOUT_MS,
    aggregates: [
      { fn: 'count', as: 'all' },
      ...texts.map((text, index) => ({ fn: 'count', query: text, as: `c${index}` })),
    ],
  }
  const { rows } = await client.json<{
    readonly rows: readonly Readonly<Record<string, number>>[]
  }>(streams.pathOf('query'), { body })
  const row = rows[0] ?? {}
  return { total: row.all ?? 0, empty: texts.filter((_, index) => row[`c${index}`] === 0) }
}

/** Fields that the query names and none of the streams ever had. */
async function unknownFields(
  { client }: Invocation,
  { streams }: Nothing,
  query: Query,
): Promise<string[]> {
  const asked = new Set(pathsOf(query))
  if (asked.size === 0 || streams.streams.length === 0) return []
  const known = new Set<string>()
  for (const { id } of streams.streams.slice(0, STREAMS_MAX)) {
    const page = await client.json<{
      readonly fields: readonly { readonly path: string }[]
      readonly next: string | null
    }>(`streams/${id}/fields`, { query: { limit: String(FIELDS_MAX) } })
    if (page.next !== null) return [] // What is not seen cannot be denied.
    for (const { path } of page.fields) known.add(path)
  }
  if (streams.streams.length > STREAMS_MAX) return []
  return [...asked]
    .filter((path) => !known.has(path))
    .map((path) => {
      const near = nearest(path, known, (one) => one)
      const told = near.length > 0 ? `; perhaps ${near.join(', ')}` : ': sluice schema lists them'
      return `there is no field ${path}${told}`
    })
}

function* pathsOf(query: Query): Generator<string> {
  if (query.kind === 'and' || query.kind === 'or') {
    for (const clause of query.clauses) yield* pathsOf(clause)
  } else if (query.kind === 'field') yield* pathOf(query)
}

/** What is in arrays is left alone: the catalog has it under other names. */
function* pathOf({ field }: FieldClause): Generator<string> {
  if (field.kind === 'path' && field.parts.length === 1) yield field.parts[0]!
}
