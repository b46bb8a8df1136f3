/**
 * CORS on the ingest paths, so that pages may send logs: for the origins that `--cors-origin`
 * names, never with cookies. Without the option no answer mentions it.
 */
import type { Exchange, Handler, Reply } from '../../http/exchange.ts'

const ANY = '*'
const MAX_AGE_SECONDS = 7_200
const METHODS = 'POST, PUT'
const SENT_HEADERS =
  'X-API-Key, Authorization, Content-Type, Content-Encoding, Idempotency-Key, ' +
  'X-Splunk-Request-Channel'
/** Of an answer; scripts see few others. */
const READ_HEADERS = 'Retry-After'

type Headers = NonNullable<Reply['headers']>

export class Cors {
  readonly #origins: ReadonlySet<string>

  /** As browsers send them, or `*` alone. */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins)
  }

  /** Of an answer to a page of `origin`, which is empty where no page asks. */
  headersFor(origin: string): Headers {
    if (this.#origins.has(ANY)) return [['Access-Control-Allow-Origin', ANY], EXPOSED]
    if (!this.#origins.has(origin)) return [VARIES]
    return [['Access-Control-Allow-Origin', origin], EXPOSED, VARIES]
  }
}

const EXPOSED = ['Access-Control-Expose-Headers', READ_HEADERS] as const
/** Caches must not give one origin's answer to another. */
const VARIES = ['Vary', 'Origin'] as const
const PREFLIGHT: Headers = [
  ['Access-Control-Allow-Methods', METHODS],
  ['Access-Control-Allow-Headers', SENT_HEADERS],
  ['Access-Control-Max-Age', String(MAX_AGE_SECONDS)],
]

/** Answers what browsers ask before they send; needs no key. */
export function preflightHandler(cors: Cors | undefined): Handler {
  return (exchange) => {
    const allowed = cors?.headersFor(exchange.header('origin')) ?? []
    const isAllowed = allowed.some(([name]) => name === 'Access-Control-Allow-Origin')
    exchange.reply({ status: 200, headers: isAllowed ? [...allowed, ...PREFLIGHT] : allowed })
  }
}

/** The reply with what a page of the exchange's origin needs. Read synchronously. */
export function corsReplies(cors: Cors | undefined, exchange: Exchange): (reply: Reply) => Reply {
  if (cors === undefined) return asItIs
  const allowed = cors.headersFor(exchange.header('origin'))
  return (reply) => ({ ...reply, headers: [...(reply.headers ?? []), ...allowed] })
}

function asItIs(reply: Reply): Reply {
  return reply
}
