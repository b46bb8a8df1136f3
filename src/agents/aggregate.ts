import { readElementTexts, readMemberTexts } from '../api/json-text.ts'
import { MCP_CELLS_MAX } from '../limits.ts'
import type { Stream } from '../model/stream.ts'
import { type AggregateDeps, aggregateText } from '../read/aggregate/aggregate.ts'
import {
  AGGREGATE_PROPERTIES,
  type AggregateRequest,
  bucketsOf,
  readAggregateRequest,
} from '../read/aggregate/aggregate-request.ts'
import type { StreamFinder, StreamSource } from '../read/find-streams.ts'
import type { Lane } from '../read/lane.ts'
import { type AgentTool, findCallersStreams, namesOf, STREAMS_ARG } from './agent-tool.ts'
import { cutStrings, fitRows } from './fit-text.ts'
import { seriesOf, stepsOf } from './tell-series.ts'

export interface AggregateToolDeps extends AggregateDeps {
  readonly streams: StreamFinder & StreamSource
  readonly queries: Lane
}

const { timeout_ms: _, ...PROPERTIES } = AGGREGATE_PROPERTIES
const OTHERS_CHARS_MAX = 2_000

/** Counts and measures, as `POST …/query`. */
export function aggregateTool(deps: AggregateToolDeps): AgentTool {
  return {
    name: 'aggregate',
    title: 'Count and measure events',
    description:
      'Counts, rates, sums, averages, quantiles and distinct values of the events that match a ' +
      'query, grouped by fields and by time. Example: aggregates=[{"fn":"count"},{"fn":"p99",' +
      '"field":"duration_ms"}], group_by=["_service",{"bucket":"auto"}]. A query inside an ' +
      'aggregate counts only what it matches: two counts make an error rate. Groups over time ' +
      'are series from "start" in steps. Counts may lag behind ingest: "lag_s", seconds.',
    scope: 'events:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: { stream: STREAMS_ARG, ...PROPERTIES },
      required: ['stream'],
    },
    run: async ({ principal, args, signal }) => {
      const found = await findCallersStreams(deps.streams, principal, args.stream)
      const { stream, ...members } = args
      const request = readAggregateRequest(members, deps.nowMs())
      const text = await deps.queries.run(principal.tokenId, signal, () => {
        return aggregateText(deps, request, found, signal)
      })
      return tellAnswer(text, request, streamNames(request, found, namesOf(principal, found)))
    },
  }
}

const TOLD = ['total', 'groups', 'estimated', 'missed_max', 'complete', 'as_of'] as const

function tellAnswer(text: string, request: AggregateRequest, names: string | undefined): string {
  const answer = readMemberTexts(text)
  const rows = readElementTexts(answer.get('rows') ?? '[]')
  const others = readElementTexts(answer.get('others') ?? '[]')
  const buckets = bucketsOf(request)
  const columns = request.keys.length + request.aggregates.length
  const told = buckets
    ? seriesOf(rows, buckets, request)
    : rows.slice(0, Math.max(1, Math.floor(MCP_CELLS_MAX / columns)))
  const shown = fitRows(told.map((row) => cutStrings(row)))
  const rest = fitRows(
    (buckets ? seriesOf(others, buckets, request) : others).map((row) => cutStrings(row)),
    OTHERS_CHARS_MAX,
  )
  const left = (buckets ? told.length : rows.length) - shown.count
  const parts = buckets ? [...stepsOf(buckets)] : []
  parts.push(`"${buckets ? 'series' : 'rows'}":[${shown.json}]`)
  if (rest.count > 0) parts.push(`"others":[${rest.json}]`)
  if (names !== undefined) parts.push(`"streams":${names}`)
  for (const name of TOLD) parts.push(`"${name}":${answer.get(name) ?? 'null'}`)
  parts.push(`"lag_s":${lagSeconds(answer)}`, `"truncated":${left > 0}`)
  if (left > 0) {
    const what = buckets ? 'more groups' : 'more rows'
    const hint = `${left} ${what}: lower "limit", or take a longer bucket`
    parts.push(`"hint":${JSON.stringify(hint)}`)
  }
  return `{${parts.join(',')}}`
}

/** How far the counts of an answer are behind ingest. */
export function lagSeconds(answer: ReadonlyMap<string, string>): number {
  return Math.ceil(Number(answer.get('lag_ms') ?? 0) / 1_000)
}

/** Groups of `_stream` are ids: what these are called. */
function streamNames(
  { keys }: AggregateRequest,
  streams: readonly Stream[],
  names: ReadonlyMap<string, string>,
): string | undefined {
  if (!keys.some(({ name }) => name === '_stream')) return undefined
  const told = streams.slice(0, MCP_CELLS_MAX / 10).map(({ streamId }) => {
    return [String(streamId), names.get(String(streamId))]
  })
  return cutStrings(JSON.stringify(Object.fromEntries(told)))
}
