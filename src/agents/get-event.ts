import { readElementTexts, readMemberTexts } from '../api/json-text.ts'
import { IngestError } from '../errors.ts'
import { MCP_AROUND_CHARS_MAX, MCP_RESULT_CHARS_MAX, MCP_STRING_CHARS_MAX } from '../limits.ts'
import { tryParseEventId } from '../model/event-id.ts'
import type { StreamId } from '../model/stream.ts'
import { readPageQuery } from '../read/event-page.ts'
import { type EventReads, readEvent, readEventPage } from '../read/events.ts'
import type { StreamFinder, StreamSource } from '../read/find-streams.ts'
import type { Lane } from '../read/lane.ts'
import { type AgentTool, findCallersStream, STREAM_ARG } from './agent-tool.ts'
import { CUT_HINT, CUT_MARK, cutStrings, cutText, fitRows } from './fit-text.ts'
import { tellRecord } from './search-events.ts'
import { tellValue } from './tell-value.ts'

export interface GetEventDeps {
  readonly streams: StreamFinder & StreamSource
  readonly lists: Lane
  readonly events: EventReads
}

const AROUND_MAX = 20
/** How much of the result an event may take when its neighbours are wanted as well. */
const EVENT_SHARE = 0.4
/** Where strings are cut, the first that makes all fit; then events, at an equal share each. */
const STRING_CUTS = [MCP_STRING_CHARS_MAX, 200, 100, 50]
const EVENT_CHARS_MIN = 60
/** Of a row beside its event: its id, its time, what was cut. */
const ROW_FRAME_CHARS = 130

/** One event as it is stored, and the events before and after it. */
export function getEventTool(deps: GetEventDeps): AgentTool {
  return {
    name: 'get_event',
    title: 'Read one event',
    description:
      'One event, its payload byte for byte as stored. "around" adds that many events of the ' +
      'stream before and after it, in short. "field" reads one value of it whole, however long.',
    scope: 'events:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: {
        stream: STREAM_ARG,
        id: { type: 'string', description: "The event's id, as search_events tells it" },
        around: { type: 'integer', minimum: 0, maximum: AROUND_MAX, default: 0 },
        field: { type: 'string', maxLength: 1_024, description: 'A dotted path of the event' },
        offset: {
          type: 'integer',
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          default: 0,
          description: 'With "field": from which character on, the "next_offset" before',
        },
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
        const { field, offset = 0 } = args
        if (field !== undefined) return tellValue(record, String(field), Number(offset))
        if (around === 0) return tellEvent(record, MCP_RESULT_CHARS_MAX)
        const [before, after] = await Promise.all([
          readNeighbours(deps.events, streamId, { before: id, limit: around }),
          readNeighbours(deps.events, streamId, { after: id, limit: around }),
        ])
        const event = tellEvent(record, MCP_AROUND_CHARS_MAX * EVENT_SHARE)
        return tellAround(event, before, after.toReversed())
      })
    },
  }
}

/** Records, newest first. */
async function readNeighbours(
  events: EventReads,
  streamId: StreamId,
  query: Readonly<Record<string, unknown>>,
): Promise<string[]> {
  const page = await readEventPage(events, streamId, readPageQuery(query))
  const records = readMemberTexts(Buffer.from(page).toString()).get('events') ?? '[]'
  return readElementTexts(records)
}

/** Both sides with the nearest first, so that those that do not fit are the most distant. */
function tellAround(event: string, before: readonly string[], after: readonly string[]): string {
  const frame = 400
  const charsMax = MCP_AROUND_CHARS_MAX - event.length - frame
  const records = [...before, ...after]
  const share = Math.floor(charsMax / Math.max(1, records.length)) - ROW_FRAME_CHARS
  const forms = [
    ...STRING_CUTS.map((stringCharsMax) => ({ stringCharsMax })),
    { stringCharsMax: STRING_CUTS.at(-1), eventCharsMax: Math.max(EVENT_CHARS_MIN, share) },
  ]
  const lengthOf = (rows: readonly string[]) => rows.reduce((sum, row) => sum + row.length + 1, 0)
  const told = (form: (typeof forms)[number]) => records.map((record) => tellRecord(record, form))
  const rows = forms.map(told).find((some) => lengthOf(some) <= charsMax) ?? told(forms.at(-1)!)
  const older = fitRows(rows.slice(0, before.length), charsMax / 2)
  const newer = fitRows(rows.slice(before.length), charsMax - older.json.length)
  const leftOut = rows.length - older.count - newer.count
  const hints = [
    ...([event, older.json, newer.json].some((text) => text.includes(CUT_MARK)) ? [CUT_HINT] : []),
    ...(leftOut > 0 ? ['the most distant did not fit: ask with one of these ids'] : []),
  ]
  const parts = [
    `"event":${event},"before":[${older.json}],"after":[${newer.json}]`,
    `"left_out":${leftOut},"truncated":${hints.length > 0}`,
    ...(hints.length > 0 ? [`"hint":${JSON.stringify(hints.join('; '))}`] : []),
  ]
  return `{${parts.join(',')}}`
}

/** The event as stored; if it is too long, what fits and how to see the rest. */
function tellEvent(record: string, charsMax: number): string {
  if (record.length <= charsMax) return record
  const { length } = record
  const head = (cut: string) =>
    `${cut.slice(0, -1)},"cut":true,"chars":${length},"hint":${JSON.stringify(CUT_HINT)}}`
  for (const stringCharsMax of STRING_CUTS) {
    const told = head(cutStrings(record, stringCharsMax))
    if (told.length <= charsMax) return told
  }
  const start = cutText(record, Math.floor(charsMax / 3))
  return JSON.stringify({ cut: true, chars: length, hint: CUT_HINT, start })
}
