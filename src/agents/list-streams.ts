import { MCP_STREAMS_PAGE } from '../limits.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { StreamId } from '../model/stream.ts'
import { listVisibleStreams, type StreamSource } from '../read/find-streams.ts'
import type { Lane } from '../read/lane.ts'
import type { ReadState } from '../store/raw/read-state-store.ts'
import type { StreamSummary } from '../store/raw/usage-store.ts'
import type { AgentTool } from './agent-tool.ts'
import { fitRows } from './fit-text.ts'

export interface ListStreamsDeps {
  readonly streams: StreamSource
  readonly lists: Lane
  readonly readSummaries: (streamIds: readonly StreamId[]) => Promise<readonly StreamSummary[]>
  readonly readState: (streamIds: readonly StreamId[]) => Promise<ReadState>
  readonly nowMs: () => number
}

/** The streams that the caller may see. */
export function listStreamsTool(deps: ListStreamsDeps): AgentTool {
  return {
    name: 'list_streams',
    title: 'List streams',
    description:
      'The streams you may see: id, name, how many events each holds, when the newest came, and ' +
      'how far queries lag behind ingest. Begin here.',
    scope: 'streams:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: {
        after: {
          type: 'string',
          pattern: '^[1-9][0-9]{0,8}$',
          must: 'the "next" of the previous answer',
          description: 'The `next` of the previous answer, when there were more',
        },
      },
    },
    run: ({ principal, args, signal }) => {
      return deps.lists.run(principal.tokenId, signal, async () => {
        const page = { after: Number(args.after ?? 0), limit: MCP_STREAMS_PAGE + 1 }
        const found = await listVisibleStreams(deps.streams, principal, page)
        const streams = found.slice(0, MCP_STREAMS_PAGE)
        const ids = streams.map(({ streamId }) => streamId)
        const [summaries, state] = await Promise.all([deps.readSummaries(ids), deps.readState(ids)])
        const rows = streams.map(({ streamId, name }, index) => {
          const { events, newestMs } = summaries[index]!
          const newest = newestMs === null ? null : formatTimeMs(newestMs)
          return JSON.stringify({ id: String(streamId), name, events, newest_event_at: newest })
        })
        const shown = fitRows(rows)
        const hasMore = shown.isCut || found.length > streams.length
        const next = hasMore ? String(streams[shown.count - 1]?.streamId) : null
        const lag = Math.max(0, deps.nowMs() - state.asOfMs)
        const tail = JSON.stringify({ next, query_lag_ms: lag }).slice(1)
        return `{"streams":[${shown.json}],${tail}`
      })
    },
  }
}
