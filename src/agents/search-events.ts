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
import {
  type AgentTool,
  findCallersStreams,
  namesOf,
  STREAMS_ARG,
  type ToolCall,
} from './agent-tool.ts'
import { lagSeconds } from './aggregate.ts'
import { explainNothing, type NothingDeps } from './explain-nothing.ts'
import { CUT_HINT, CUT_MARK, cutStrings, cutText, fitRows } from './fit-text.ts'

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
      'Events of a stream, or with stream="*" of all, that match a query, newest first, with ' +
      'those acknowledged a moment ago. Without a query: the newest events. Name "fields" to see ' +
      'only those. "matched" counts all, and lags behind ingest by "matched_lag_s" seconds.',
    scope: 'events:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: {
        stream: STREAMS_ARG,
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
      const { principal, signal } = call
      const streams = await findCallersStreams(deps.streams, principal, call.args.stream)
      const {
        cursor,
        stream: wanted,
        ...members
      }: ToolCall['args'] = {
        limit: LIMIT_DEFAULT,
        ...call.args,
      }
      const at = members.order === 'oldest' ? 'after' : 'before'
      const asked = { ...members, ...(cursor !== undefined && { [at]: cursor }) }
      const request = readSearchRequest(asked, deps.nowMs())
      const names = wanted === '*' ? namesOf(principal, streams) : undefined
      const task = { request, streams, includesStreamId: names !== undefined }
      return deps.queries.run(principal.tokenId, signal, async () => {
        const [found, matched] = await Promise.all([
          search(deps.search, task, signal),
          cursor === undefined ? countMatches(deps, call, streams, members) : undefined,
        ])
        const answer = readMemberTexts(Buffer.from(found).toString())
        const records = readElementTexts(answer.get('events') ?? '[]')
        const told = tellEvents(records, { answer, matched, names })
        if (records.length > 0 || cursor !== undefined) return told
        const hints = await explainNothing(deps, { request, streams, signal })
        return `${told.slice(0, -1)},"hints":${JSON.stringify(hints)}}`
      })
    },
  }
}

interface Matched {
  readonly total: number
  readonly lagSeconds: number
}

/** How many events match in all; undefined when that takes too long. */
async function countMatches(
  deps: AggregateDeps,
  { signal }: ToolCall,
  streams: readonly Stream[],
  { query: text, from: start, to: end, time_basis: basis }: Readonly<Record<string, unknown>>,
): Promise<Matched | undefined> {
  const given = { query: text, from: start, to: end, time_basis: basis, timeout_ms: COUNT_MS_MAX }
  const members = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  )
  try {
    const request = readAggregateRequest(members, deps.nowMs())
    const answer = readMemberTexts(await aggregateText(deps, request, streams, signal))
    return { total: Number(answer.get('total')), lagSeconds: lagSeconds(answer) }
  } catch {
    return undefined // The answer has the events it found without the count.
  }
}

interface FoundPage {
  readonly answer: ReadonlyMap<string, string>
  readonly matched: Matched | undefined
  /** Of several streams: what each is called. */
  readonly names: ReadonlyMap<string, string> | undefined
}

function tellEvents(records: readonly string[], { answer, matched, names }: FoundPage): string {
  const rows = records.map((record) => tellRecord(record, { names }))
  const shown = fitRows(rows)
  const last = shown.isCut ? records[shown.count - 1] : undefined
  const lastId = last === undefined ? undefined : readMemberTexts(last).get('id')
  const next = (shown.isCut ? lastId : answer.get('next')) ?? 'null'
  const parts = [
    `"events":[${shown.json}]`,
    `"shown":${shown.count}`,
    `"matched":${matched === undefined ? null : Math.max(matched.total, shown.count)}`,
    // What came within this time may be missing in it, and is not among the events.
    ...(matched === undefined ? [] : [`"matched_lag_s":${matched.lagSeconds}`]),
    `"truncated":${shown.isCut}`,
    `"next":${next}`,
    `"complete":${answer.get('complete') ?? 'true'}`,
  ]
  const reason = answer.get('reason')
  if (reason !== undefined && reason !== 'null') parts.push(`"reason":${reason}`)
  if (answer.has('damaged')) parts.push('"damaged":true')
  const hints = [
    ...(shown.isCut ? ['the rest did not fit: go on with next as cursor, or name fields'] : []),
    ...(shown.json.includes(CUT_MARK) ? [CUT_HINT] : []),
  ]
  if (hints.length > 0) parts.push(`"hint":${JSON.stringify(hints.join('; '))}`)
  return `{${parts.join(',')}}`
}

export interface RecordForm {
  /** What streams are called, by id; events then say theirs. */
  readonly names?: ReadonlyMap<string, string> | undefined
  /** Where strings are cut. */
  readonly stringCharsMax?: number | undefined
  /** Past this only the beginning of an event is shown. */
  readonly eventCharsMax?: number | undefined
}

/** A record in short form. What is cut says by how much. */
export function tellRecord(record: string, form: RecordForm = {}): string {
  const { names, stringCharsMax, eventCharsMax = ROW_CHARS_MAX } = form
  const members = readMemberTexts(record)
  const what = members.get('fields') ?? members.get('payload') ?? '{}'
  const id = JSON.parse(members.get('_stream') ?? '""') as string
  const stream = names === undefined ? '' : `,"stream":${JSON.stringify(names.get(id) ?? id)}`
  const head = `"id":${members.get('id')},"time":${members.get('event_time')}${stream}`
  const cut = cutStrings(what, stringCharsMax)
  if (cut.length <= eventCharsMax) return `{${head},"event":${cut}}`
  const start = cutText(cut, Math.floor(Math.min(eventCharsMax, ROW_CHARS_MAX / 4)))
  return `{${head},"event_cut":${JSON.stringify(start)}}`
}
