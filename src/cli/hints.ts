/** Why nothing was found, as far as it can be found out: on stderr, for people. */
import { format } from '../language/format.ts'
import { nearest, widerClause } from '../language/near-words.ts'
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
/** Clauses that are asked for once more, among what is not counted yet. */
const LOOKED_FOR_MAX = 4
/** Fields are learned a second or so after their first event, by another node a minute later. */
const LEARNED_WITHIN = { from: '-10m', time_basis: 'ingested_at' } as const
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
  const { total, empty, lag } = await countClauses(invocation, nothing)
  // Counts follow ingest by some seconds, searches do not: what they find is there.
  const isThere = async (text: string) => {
    return (await findOne(invocation, nothing, text, 'newest', range)) !== undefined
  }
  if (total > 0 || (await isThere(''))) {
    const missing: string[] = []
    for (const clause of empty.slice(0, LOOKED_FOR_MAX)) {
      if (!(await isThere(clause))) missing.push(clause)
    }
    const told = missing.length === 0 ? '' : `; none has ${missing.join(', nor ')}`
    const wider = missing.map(widerClause).find((one) => one !== undefined)
    const longer = wider !== undefined && (await isThere(wider)) ? [wider] : []
    const head = total > 0 ? `${total} events are` : `events that came just now (${lag}) are`
    return [
      `${head} in the range${told}`,
      ...longer.map((one) => `words and values are matched whole: ${one} finds some`),
    ]
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
    ...{ order, limit: 1, time_basis: clock.basis, timeout_ms: TIMEOUT_MS },
    ...range,
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
  const { rows, lag_ms } = await client.json<{
    readonly rows: readonly Readonly<Record<string, number>>[]
    readonly lag_ms: number
  }>(streams.pathOf('query'), { body })
  const row = rows[0] ?? {}
  const empty = texts.filter((_, index) => row[`c${index}`] === 0)
  const lag = `counts are ${Math.max(1, Math.ceil(lag_ms / 1_000))} s behind`
  return { total: row.all ?? 0, empty, lag }
}

/** Fields that the query names and none of the streams ever had. */
async function unknownFields(
  invocation: Invocation,
  nothing: Nothing,
  query: Query,
): Promise<string[]> {
  const { client } = invocation
  const { streams } = nothing
  const asked = new Map(fieldsOf(query))
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
  const hints: string[] = []
  for (const [path, exists] of asked) {
    if (known.has(path)) continue
    // A field that came just now is not learned yet.
    if ((await findOne(invocation, nothing, exists, 'newest', LEARNED_WITHIN)) !== undefined)
      continue
    const near = nearest(path, known, (one) => one)
    const told = near.length > 0 ? `; perhaps ${near.join(', ')}` : ': sluice schema lists them'
    hints.push(`there is no field ${path}${told}`)
  }
  return hints
}

/** Each path, and the query for whether it is there. */
function* fieldsOf(query: Query): Generator<readonly [path: string, exists: string]> {
  if (query.kind === 'and' || query.kind === 'or') {
    for (const clause of query.clauses) yield* fieldsOf(clause)
  } else if (query.kind === 'field') yield* fieldOf(query)
}

/** What is in arrays is left alone: the catalog has it under other names. */
function* fieldOf(clause: FieldClause): Generator<readonly [path: string, exists: string]> {
  const { field, start, end } = clause
  if (field.kind !== 'path' || field.parts.length !== 1) return
  yield [field.parts[0]!, format({ ...clause, test: { kind: 'exists', start, end } })]
}
