import { readElementTexts, readMemberTexts } from '../api/json-text.ts'
import { MCP_CELLS_MAX } from '../limits.ts'
import { type AggregateDeps, aggregateText } from '../read/aggregate/aggregate.ts'
import { AGGREGATE_PROPERTIES, readAggregateRequest } from '../read/aggregate/aggregate-request.ts'
import type { StreamFinder, StreamSource } from '../read/find-streams.ts'
import type { Lane } from '../read/lane.ts'
import { type AgentTool, findCallersStream, STREAM_ARG } from './agent-tool.ts'
import { cutStrings, fitRows } from './fit-text.ts'

export interface AggregateToolDeps extends AggregateDeps {
  readonly streams: StreamFinder & StreamSource
  readonly queries: Lane
}

const { timeout_ms: _, ...PROPERTIES } = AGGREGATE_PROPERTIES

/** Counts and measures, as `POST …/query`. */
export function aggregateTool(deps: AggregateToolDeps): AgentTool {
  return {
    name: 'aggregate',
    title: 'Count and measure events',
    description:
      'Counts, rates, sums, averages, quantiles and distinct values of the events that match a ' +
      'query, grouped by fields and by time. Example: aggregates=[{"fn":"count"},{"fn":"p99",' +
      '"field":"duration_ms"}], group_by=["_service",{"bucket":"auto"}]. A query inside an ' +
      'aggregate counts only what it matches: two counts make an error rate.',
    scope: 'events:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: { stream: STREAM_ARG, ...PROPERTIES },
      required: ['stream'],
    },
    run: async ({ principal, args, signal }) => {
      const found = await findCallersStream(deps.streams, principal, args.stream)
      const { stream, ...members } = args
      const request = readAggregateRequest(members, deps.nowMs())
      const text = await deps.queries.run(principal.tokenId, signal, () => {
        return aggregateText(deps, request, [found], signal)
      })
      return tellRows(text, request.keys.length + request.aggregates.length)
    },
  }
}

/** `columns`: how many cells a row has. */
function tellRows(text: string, columns: number): string {
  const answer = readMemberTexts(text)
  const rows = readElementTexts(answer.get('rows') ?? '[]')
  const few = rows.slice(0, Math.max(1, Math.floor(MCP_CELLS_MAX / columns))).map(cutStrings)
  const shown = fitRows(few)
  const others = fitRows(readElementTexts(answer.get('others') ?? '[]').map(cutStrings), 2_000)
  const isCut = shown.count < rows.length
  const parts = [`"rows":[${shown.json}]`]
  if (others.count > 0) parts.push(`"others":[${others.json}]`)
  for (const name of [
    'total',
    'groups',
    'bucket',
    'estimated',
    'missed_max',
    'complete',
    'as_of',
  ]) {
    parts.push(`"${name}":${answer.get(name) ?? 'null'}`)
  }
  parts.push(`"truncated":${isCut}`)
  if (isCut) {
    const hint = `${rows.length - shown.count} more rows: lower "limit", or take a longer bucket`
    parts.push(`"hint":${JSON.stringify(hint)}`)
  }
  return `{${parts.join(',')}}`
}
