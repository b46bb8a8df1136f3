/** What HEC's clients ask beside sending: whether it is there, and what was acknowledged. */
import { IngestError } from '../../../errors.ts'
import { parseJson, readPlainBody } from '../../../http/body.ts'
import { BodyBudget } from '../../../http/body-budget.ts'
import type { Exchange, Handler } from '../../../http/exchange.ts'
import { READ_BODY_BYTES_MAX } from '../../../limits.ts'
import { unauthenticated } from '../../admission/authenticate.ts'
import type { IngestDeps } from '../../request/ingest.ts'
import { channelMissing, healthyReply, isAcknowledged, refusal, unhealthy } from './hec-reply.ts'
import { readHead } from './hec-request.ts'

/** Lists of ids that are read at a time, of the longest. */
const ACK_BODIES_MAX = 8

type Deps = Pick<IngestDeps, 'credentials' | 'isStopping'>

/** Needs no key; one that is presented is looked at, as some clients ask so whether it is good. */
export function healthHandler(deps: Deps, takesQueryToken: boolean): Handler {
  return async (exchange) => {
    const { key } = readHead(exchange, takesQueryToken)
    try {
      if (deps.isStopping()) throw new IngestError('unavailable', 'the service is stopping')
      if (key !== '') await admit(deps, key)
    } catch (cause) {
      return exchange.reply(unhealthy(IngestError.from(cause, 'internal')))
    }
    exchange.reply(healthyReply)
  }
}

/** `{"acks":[1,2]}` is answered with `{"acks":{"1":true,"2":true}}`. */
export function ackHandler(deps: Deps, takesQueryToken: boolean): Handler {
  const bodies = new BodyBudget(ACK_BODIES_MAX * READ_BODY_BYTES_MAX, READ_BODY_BYTES_MAX)
  return async (exchange) => {
    const head = readHead(exchange, takesQueryToken)
    const room = bodies.enter()
    exchange.onAborted(() => room.leave())
    const arriving = readPlainBody(exchange, READ_BODY_BYTES_MAX, room)
    arriving.catch(() => undefined) // Awaited below.
    exchange.pause()
    try {
      if (head.key === '') throw unauthenticated()
      await admit(deps, head.key)
      if (!head.hasChannel) return exchange.reply(channelMissing)
      room.becomeKnown()
      exchange.resume()
      replyAcks(exchange, await arriving)
    } catch (cause) {
      exchange.reply(refusal(IngestError.from(cause, 'internal'), head))
    } finally {
      room.leave()
    }
  }
}

function replyAcks(exchange: Exchange, body: Uint8Array): void {
  const { acks } = Object(parseJson(body)) as { readonly acks?: unknown }
  if (!Array.isArray(acks)) throw new IngestError('malformed', 'acks must be an array of ids')
  const known = Object.fromEntries(acks.map((id: unknown) => [String(id), isAcknowledged(id)]))
  const answer = JSON.stringify({ acks: known })
  exchange.reply({ status: 200, contentType: 'application/json', body: answer })
}

/** Throws where the key is none that may write. */
async function admit({ credentials }: Deps, key: string): Promise<void> {
  const resolved = credentials.tryResolveKey(key)
  if (resolved === undefined) throw unauthenticated()
  if (resolved === 'lookup') await credentials.resolveKey(key)
}
