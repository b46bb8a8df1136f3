/** The events of the next few seconds: a live tail that ends by itself. */
import { MCP_SEARCH_EVENTS_MAX, MCP_TAIL_SECONDS_MAX } from '../limits.ts'
import type { StreamFinder, StreamSource } from '../read/find-streams.ts'
import { readQueryText } from '../read/read-request.ts'
import { QUERY_TEXT } from '../read/schemas.ts'
import type { TailHub } from '../tail/tail-hub.ts'
import type { QueueItem } from '../tail/tail-queue.ts'
import { type AgentTool, findCallersStream, STREAM_ARG } from './agent-tool.ts'
import { fitRows } from './fit-text.ts'
import { tellRecord } from './search-events.ts'

export interface TailSampleDeps {
  readonly streams: StreamFinder & StreamSource
  readonly tails: Pick<TailHub, 'prepare' | 'sample'>
}

const SECONDS_DEFAULT = 5
const LIMIT_DEFAULT = 20

export function tailSampleTool(deps: TailSampleDeps): AgentTool {
  return {
    name: 'tail_sample',
    title: 'Watch a stream for some seconds',
    description:
      'Waits, then answers with the matching events that were stored meanwhile; it ends early ' +
      'when it has "limit" of them. For events that are stored already: search_events.',
    scope: 'events:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: {
        stream: STREAM_ARG,
        query: QUERY_TEXT,
        seconds: {
          type: 'integer',
          minimum: 1,
          maximum: MCP_TAIL_SECONDS_MAX,
          default: SECONDS_DEFAULT,
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MCP_SEARCH_EVENTS_MAX,
          default: LIMIT_DEFAULT,
        },
      },
      required: ['stream'],
    },
    run: async ({ principal, args, signal, renew }) => {
      const stream = await findCallersStream(deps.streams, principal, args.stream)
      const { query = '', seconds = SECONDS_DEFAULT, limit = LIMIT_DEFAULT } = args
      readQueryText('query', String(query))
      const { tokenId } = principal
      const sample = new Sample(Number(limit))
      const over = AbortSignal.any([
        signal,
        sample.full,
        AbortSignal.timeout(Number(seconds) * 1_000),
      ])
      await deps.tails.prepare(tokenId)
      const asked = { stream, query: String(query), limitPerS: undefined, tokenId, renew }
      await deps.tails.sample(asked, (item) => sample.add(item), over)
      const shown = fitRows(sample.records.map((record) => tellRecord(record)))
      const isCut = shown.isCut || sample.leftOut > 0
      const tail = `"shown":${shown.count},"left_out":${sample.leftOut},"truncated":${isCut}`
      return `{"events":[${shown.json}],${tail}}`
    },
  }
}

/** The records that arrived, and how many were dropped. */
class Sample {
  readonly records: string[] = []
  readonly #limit: number
  readonly #full = new AbortController()
  leftOut = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Aborted when there are as many as requested. */
  get full(): AbortSignal {
    return this.#full.signal
  }

  add(item: QueueItem): void {
    if (item.kind === 'gap') this.leftOut += item.events
    else if (this.records.length < this.#limit)
      this.records.push(Buffer.from(item.record).toString())
    else this.leftOut++
    if (this.records.length >= this.#limit) this.#full.abort()
  }
}
