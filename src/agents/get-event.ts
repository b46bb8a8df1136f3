import { readElementTexts, readMemberTexts } from '../api/json-text.ts'
import { IngestError } from '../errors.ts'
import { MCP_RESULT_CHARS_MAX } from '../limits.ts'
import { tryParseEventId } from '../model/event-id.ts'
import type { StreamId } from '../model/stream.ts'
import { readPageQuery } from '../read/event-page.ts'
import { type EventReads, readEvent, readEventPage } from '../read/events.ts'
import type { StreamFinder, StreamSource } from '../read/find-streams.ts'
import type { Lane } from '../read/lane.ts'
import { type AgentTool, findCallersStream, STREAM_ARG } from './agent-tool.ts'
import { cutStrings, cutText, fitRows } from './fit-text.ts'
import { tellRecord } from './search-events.ts'

export interface GetEventDeps {
  readonly streams: StreamFinder & StreamSource
  readonly lists: Lane
  readonly events: EventReads
}

const AROUND_MAX = 20
/** How much of the result an event may take when its neighbours are wanted as well. */
const EVENT_CHARS_MAX = MCP_RESULT_CHARS_MAX / 2

/** One event as it is stored, and the events before and after it. */
export function getEventTool(deps: GetEventDeps): AgentTool {
  return {
    name: 'get_event',
    title: 'Read one event',
    description:
      'One event, its payload byte for byte as stored. "around" adds that many events of the ' +
      'stream before and after it.',
    scope: 'events:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: {
        stream: STREAM_ARG,
        id: { type: 'string', description: "The event's id, as search_events tells it" },
        around: { type: 'integer', minimum: 0, maximum: AROUND_MAX, default: 0 },
      },
      required: ['stream', 'id'],
    },
    run: async ({ principal, args, signal }) => {
      const { streamId } = await findCallersStream(deps.streams, principal, args.stream)
      const { id, around = 0 } = args as { readonly id: string; readonly around?: number }
      if (tryParseEventId(id) === undefined) {
        throw new IngestError(
          'malformed',
          '"id" must be the id of an event, as search_events tells',
        )
      }
      return deps.lists.run(principal.tokenId, signal, async () => {
        const record = Buffer.from(await readEvent(deps.events, streamId, id)).toString()
        if (around === 0) return tellEvent(record, MCP_RESULT_CHARS_MAX)
        const [before, after] = await Promise.all([
          readNeighbours(deps.events, streamId, { before: id, limit: around }),
          readNeighbours(deps.events, streamId, { after: id, limit: around }),
        ])
        const event = tellEvent(record, EVENT_CHARS_MAX)
        const charsMax = (MCP_RESULT_CHARS_MAX - event.length - 500) / 2
        // Nearest first, so that those that do not fit are the most distant.
        const [older, newer] = [fitRows(before, charsMax), fitRows(after.toReversed(), charsMax)]
        const isCut = older.isCut || newer.isCut
        const rest = `"before":[${older.json}],"after":[${newer.json}],"truncated":${isCut}`
        return `{"event":${event},${rest}}`
      })
    },
  }
}

/** Newest first, in short form. */
async function readNeighbours(
  events: EventReads,
  streamId: StreamId,
  query: Readonly<Record<string, unknown>>,
): Promise<string[]> {
  const page = await readEventPage(events, streamId, readPageQuery(query))
  const records = readMemberTexts(Buffer.from(page).toString()).get('events') ?? '[]'
  return readElementTexts(records).map(tellRecord)
}

/** The event as stored; if it is too long, what fits and how to see the rest. */
function tellEvent(record: string, charsMax: number): string {
  if (record.length <= charsMax) return record
  const hint = 'too long: search_events with "fields" shows the parts of it that you name'
  const { length } = record
  const cut = cutStrings(record)
  if (cut.length < charsMax - 300) {
    return `${cut.slice(0, -1)},"cut":true,"chars":${length},"hint":${JSON.stringify(hint)}}`
  }
  const start = cutText(cut, Math.floor(charsMax / 3))
  return JSON.stringify({ cut: true, chars: length, hint, start })
}
