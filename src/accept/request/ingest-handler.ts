/** Ingest over HTTP: an exchange as the core takes it. */
import type { Exchange, Handler, Reply } from '../../http/exchange.ts'
import { REPLY_DIRECT_BYTES_MAX } from '../../limits.ts'
import { readIdempotencyKey } from '../admission/idempotency.ts'
import type { HttpDialect } from '../dialect.ts'
import { corsReplies } from './cors.ts'
import { type IngestDeps, ingest } from './ingest.ts'

/** Handlers made here. */
const made = new WeakSet<Handler>()

export function isIngestHandler(handler: Handler): boolean {
  return made.has(handler)
}

/** A handler for requests of one surface. */
export function ingestHandler(
  deps: IngestDeps,
  createDialect: (exchange: Exchange) => HttpDialect,
): Handler {
  const { inFlight } = deps
  /** Counts a large answer as in flight until it is read. It is sent even when there is no room. */
  const withRoom = (reply: Reply): Reply => {
    if ((reply.body?.length ?? 0) <= REPLY_DIRECT_BYTES_MAX) return reply
    return { ...reply, room: (bytes, cut) => inFlight.enterReply(bytes, cut) }
  }
  const handler: Handler = (exchange) => {
    const dialect = createDialect(exchange)
    const withCors = corsReplies(deps.cors, exchange)
    const send = (reply: Reply) => {
      exchange.reply(withCors(reply))
      return reply.status
    }
    const length = exchange.header('content-length')
    ingest(deps, {
      dialect,
      responder: {
        accept: (answer) => send(withRoom(dialect.acceptedReply(answer))),
        refuse: (error, report) => send(dialect.refusedReply(error, report)),
        drop: () => exchange.drop(),
      },
      sender: dialect.apiKey,
      body: exchange,
      contentLength: length === '' ? Number.NaN : Number(length),
      contentEncoding: exchange.header('content-encoding'),
      idempotencyKey: readIdempotencyKey(exchange),
    })
  }
  made.add(handler)
  return handler
}
