/** Ingest over HTTP: an exchange as the core takes it. */
import type { Exchange, Handler, Reply } from '../../http/exchange.ts'
import { REPLY_DIRECT_BYTES_MAX } from '../../limits.ts'
import { readIdempotencyKey } from '../admission/idempotency.ts'
import type { HttpDialect } from '../dialect.ts'
import { type IngestDeps, ingest } from './ingest.ts'

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
  return (exchange) => {
    const dialect = createDialect(exchange)
    const send = (reply: Reply) => {
      exchange.reply(reply)
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
}
