/** Search, with rows that a model can read, and a reason when nothing was found. */
import { readElementTexts, readMemberTexts } from '../api/json-text.ts'
import { MCP_SEARCH_EVENTS_MAX } from '../limits.ts'
import type { Stream } from '../model/stream.ts'
import { type AggregateDeps, aggregateText } from '../read/aggregate/aggregate.ts'
import { readAggregateRequest } from '../read/aggregate/aggregate-request.ts'
import type { StreamFinder, StreamSource } from '../read/find-streams.ts'
import type { Lane } from '../read/lane.ts'
import { READ_PROPERTIES } from '../read/schemas.ts'
import { type SearchDeps, search } from '../read/search/search.ts'
import { readSearchRequest, SEARCH_PROPERTIES } from '../read/search/search-request.ts'
import { type AgentTool, findCallersStream, STREAM_ARG, type ToolCall } from './agent-tool.ts'
import { explainNothing, type NothingDeps } from './explain-nothing.ts'
import { cutStrings, cutText, fitRows } from './fit-text.ts'

export interface SearchToolDeps extends AggregateDeps, NothingDeps {
  readonly streams: StreamFinder & StreamSource
  readonly queries: Lane
  readonly search: SearchDeps
}

const LIMIT_DEFAULT = 20
/** A single event must not take the whole result. */
const ROW_CHARS_MAX = 12_000
const COUNT_MS_MAX = 5_000

const { query, from, to, time_basis } = READ_PROPERTIES
const { fields, order } = SEARCH_PROPERTIES

export function searchEventsTool(deps: SearchToolDeps): AgentTool {
  return {
    name: 'search_events',
    title: 'Search events',
    description:
      'Events of a stream that match a query, newest first, including those acknowledged a ' +
      'moment ago. Without a query: the newest events. Name "fields" to see only those.',
    scope: 'events:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: {
        stream: STREAM_ARG,
        query,
        from,
        to,
        time_basis,
        order,
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MCP_SEARCH_EVENTS_MAX,
          default: LIMIT_DEFAULT,
        },
        fields,
        cursor: { type: 'string', description: 'The `next` of the previous answer' },
      },
      required: ['stream'],
    },
    run: async (call) => {
      const stream = await findCallersStream(deps.streams, call.principal, call.args.stream)
      const {
        cursor,
        stream: _,
        ...members
      }: ToolCall['args'] = {
        limit: LIMIT_DEFAULT,
        ...call.args,
      }
      const at = members.order === 'oldest' ? 'after' : 'before'
      const asked = { ...members, ...(cursor !== undefined && { [at]: cursor }) }
      const request = readSearchRequest(asked, deps.nowMs())
      const task = { request, streams: [stream], includesStreamId: false }
      const { tokenId } = call.principal
      return deps.queries.run(tokenId, call.signal, async () => {
        const [found, matched] = await Promise.all([
          search(deps.search, task, call.signal),
          cursor === undefined ? countMatches(deps, call, stream, members) : null,
        ])
        const answer = readMemberTexts(Buffer.from(found).toString())
        const records = readElementTexts(answer.get('events') ?? '[]')
        const told = tellEvents(records, answer, matched)
        if (records.length > 0 || cursor !== undefined) return told
        const hints = await explainNothing(deps, { request, stream, signal: call.signal })
        return `${told.slice(0, -1)},"hints":${JSON.stringify(hints)}}`
      })
    },
  }
}

/** How many events match in all; null when that takes too long. */
async function countMatches(
  deps: AggregateDeps,
  { signal }: ToolCall,
  stream: Stream,
  { query: text, from: start, to: end, time_basis: basis }: Readonly<Record<string, unknown>>,
): Promise<number | null> {
  const given = { query: text, from: start, to: end, time_basis: basis, timeout_ms: COUNT_MS_MAX }
  const members = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  )
  try {
    const request = readAggregateRequest(members, deps.nowMs())
    const answer = JSON.parse(await aggregateText(deps, request, [stream], signal))
    return Number((answer as { readonly total: number }).total)
  } catch {
    return null // The answer has the events it found without the count.
  }
}

function tellEvents(
  records: readonly string[],
  answer: ReadonlyMap<string, string>,
  matched: number | null,
): string {
  const rows = records.map(tellRecord)
  const shown = fitRows(rows)
  const last = shown.isCut ? records[shown.count - 1] : undefined
  const lastId = last === undefined ? undefined : readMemberTexts(last).get('id')
  const next = (shown.isCut ? lastId : answer.get('next')) ?? 'null'
  const parts = [
    `"events":[${shown.json}]`,
    `"shown":${shown.count}`,
    // Counted in the projection, which may be a moment behind.
    `"matched":${matched === null ? null : Math.max(matched, shown.count)}`,
    `"truncated":${shown.isCut}`,
    `"next":${next}`,
    `"complete":${answer.get('complete') ?? 'true'}`,
  ]
  const reason = answer.get('reason')
  if (reason !== undefined && reason !== 'null') parts.push(`"reason":${reason}`)
  if (answer.has('damaged')) parts.push('"damaged":true')
  if (shown.isCut) {
    const hint = 'the rest did not fit: go on with next as cursor, or name fields'
    parts.push(`"hint":${JSON.stringify(hint)}`)
  }
  return `{${parts.join(',')}}`
}

/** A record in short form. */
export function tellRecord(record: string): string {
  const members = readMemberTexts(record)
  const what = members.get('fields') ?? members.get('payload') ?? '{}'
  const head = `"id":${members.get('id')},"time":${members.get('event_time')}`
  const cut = cutStrings(what)
  if (cut.length <= ROW_CHARS_MAX) return `{${head},"event":${cut}}`
  const start = JSON.stringify(cutText(cut, ROW_CHARS_MAX / 4))
  return `{${head},"event_cut":${start},"hint":"name fields to see some of it"}`
}
