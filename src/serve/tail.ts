/** Live tails: what is committed, as server-sent events, as soon as it is durable. */
import type { AnswerDescription } from '../api/route-description.ts'
import { IngestError } from '../errors.ts'
import type { Route } from '../http/exchange.ts'
import {
  EVENT_STREAM,
  type Guard,
  guardRoute,
  type HttpRequest,
  type StreamReply,
} from '../http/guard.ts'
import { TAIL_LIMIT_PER_S_MAX } from '../limits.ts'
import { tryParseEventId } from '../model/event-id.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { SEGMENT_MS_MAX } from '../model/segment-id.ts'
import { findVisibleStream, type StreamFinder } from '../read/find-streams.ts'
import { readQueryText } from '../read/read-request.ts'
import { readMoment } from '../read/read-time.ts'
import { QUERY_TEXT } from '../read/schemas.ts'
import type { TailStart } from '../tail/catch-up.ts'
import { tryParseCursor } from '../tail/tail-cursor.ts'
import type { TailHub } from '../tail/tail-hub.ts'

export interface TailRoutesDeps extends Guard {
  readonly streams: StreamFinder
  readonly tails: Pick<TailHub, 'prepare' | 'run'>
}

const LAST_EVENT_ID = 'last-event-id'

const QUERY = {
  properties: {
    query: QUERY_TEXT,
    from: {
      type: 'string',
      default: 'now',
      description:
        'Where it begins: `now`, a time before it such as `-5m`, RFC 3339, the id of an event ' +
        'or of a message of a tail; `Last-Event-ID` goes first',
    },
    limit_per_s: {
      type: 'integer',
      minimum: 1,
      maximum: TAIL_LIMIT_PER_S_MAX,
      description: 'Of more events than that a second some are left out, and that is said',
    },
  },
} as const

const MESSAGES: AnswerDescription = {
  description: 'Events as in the list, each a message; `gap`, `sampled` and `end` by their names',
  content: { [EVENT_STREAM.contentType]: { type: 'string' } },
}

export function tailRoutes({ streams, tails, ...guard }: TailRoutesDeps): Route[] {
  const run = async (request: HttpRequest): Promise<StreamReply> => {
    const { principal, params, query, renew, signal } = request
    const stream = await findVisibleStream(streams, principal, params[0])
    const text = (query.query as string | undefined) ?? ''
    readQueryText('query', text)
    const start = readStart(request)
    const limitPerS = query.limit_per_s as number | undefined
    const { tokenId } = principal
    await tails.prepare(tokenId)
    const asked = { stream, query: text, start, limitPerS, tokenId, renew }
    return {
      status: 200,
      ...EVENT_STREAM,
      send: (writer) => tails.run(asked, writer, signal),
    }
  }
  return [
    guardRoute(guard, {
      method: 'GET',
      pattern: '/v1/streams/:id/tail',
      operationId: 'tailEvents',
      summary: 'Watch events as they come',
      tag: 'Events',
      query: QUERY,
      answers: { 200: MESSAGES },
      scope: 'events:read',
      headers: { 'Last-Event-ID': { type: 'string', description: 'Where to go on' } },
      run,
    }),
  ]
}

/** Throws `malformed`. */
function readStart({ query, headers }: Pick<HttpRequest, 'query' | 'headers'>): TailStart {
  const last = headers[LAST_EVENT_ID]
  const name = last === undefined ? '"from"' : '"Last-Event-ID"'
  const text = last ?? (query.from as string | undefined) ?? 'now'
  if (text === 'now') return { kind: 'now' }
  const cursor = tryParseCursor(text)
  if (cursor !== undefined) return { kind: 'cursor', cursor }
  const event = tryParseEventId(text)
  if (event !== undefined) return { kind: 'event', event }
  if (last !== undefined) {
    throw new IngestError('malformed', `${name} must be the id of a message or of an event`)
  }
  const ms = Number(readMoment('from', text, Date.now()) / 1_000_000n)
  if (ms <= SEGMENT_MS_MAX) return { kind: 'time', ms }
  const end = formatTimeMs(SEGMENT_MS_MAX + 1)
  throw new IngestError('malformed', `"from" must be before ${end}, where ids of events end`)
}
