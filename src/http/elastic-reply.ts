/** Replies as Elasticsearch gives them; which headers and types senders read: docs/elastic.md. */
import { ERRORS, type ErrorCode, type IngestError } from '../errors.ts'
import type { Exchange, Reply } from './exchange.ts'

const PRODUCT_HEADER = ['X-Elastic-Product', 'Elasticsearch'] as const
const CHALLENGE = ['WWW-Authenticate', 'Basic realm="sluice", charset="UTF-8"'] as const

/**
 * The exception name for each failure. Never `es_rejected_execution_exception`: Fluentd drops
 * events that are refused with it.
 */
const EXCEPTIONS = {
  malformed: 'illegal_argument_exception',
  unauthenticated: 'security_exception',
  forbidden: 'security_exception',
  not_found: 'resource_not_found_exception',
  precondition_failed: 'version_conflict_engine_exception',
  method_not_allowed: 'illegal_argument_exception',
  too_slow: 'circuit_breaking_exception',
  conflict: 'version_conflict_engine_exception',
  too_large: 'content_too_long_exception',
  unsupported_media_type: 'media_type_header_exception',
  rate_limited: 'circuit_breaking_exception',
  storage_cap_reached: 'circuit_breaking_exception',
  overloaded: 'circuit_breaking_exception',
  internal: 'exception',
  unavailable: 'cluster_block_exception',
} as const satisfies Record<ErrorCode, string>

/** An error can say its exception's name itself, as `type`. */
function exceptionOf(error: IngestError): string {
  const type = error.members?.type
  return typeof type === 'string' ? type : EXCEPTIONS[error.code]
}

/** Not every client retries after 408, but all do after 429; they should slow down anyway. */
export function elasticStatus({ code }: IngestError): number {
  const { httpStatus } = ERRORS[code]
  return httpStatus === 408 ? 429 : httpStatus
}

/** The member `error` of an answer, or of one of the answers of several searches. */
export function elasticFault(error: IngestError, type: string = exceptionOf(error)) {
  const isInternal = error.code === 'internal'
  const reason = isInternal ? 'the server failed; its log has the details' : error.message
  const cause = { type, reason }
  return { root_cause: [cause], ...cause }
}

/** The media type of the answer: the vendor's own family where the client asks for it. */
function elasticContentType(accept: string): string {
  const version = /application\/vnd\.elasticsearch\+json; *compatible-with=([0-9]+)/.exec(accept)
  if (version === null) return 'application/json'
  return `application/vnd.elasticsearch+json;compatible-with=${version[1]}`
}

/**
 * What Elasticsearch clients send. `Basic`: the password, for any user name that is not empty.
 * `ApiKey`: the base64 of `id:key` or, as some forwarders are configured, the plain key.
 * Empty without such a credential (RFC 7617; a password may hold a colon).
 */
export function elasticKey(authorization: string): string {
  const match = /^(basic|apikey) +(\S+) *$/i.exec(authorization)
  if (match === null) return ''
  const text = match[2] ?? ''
  if (match[1]?.toLowerCase() === 'apikey' && /^la[xp]_/.test(text)) return text
  const decoded = Buffer.from(text, 'base64').toString()
  const colon = decoded.indexOf(':')
  return colon > 0 ? decoded.slice(colon + 1) : ''
}

/** A good answer in JSON that is written already. */
export function elasticText(accept: string, body: string | Uint8Array): Reply {
  return { status: 200, contentType: elasticContentType(accept), headers: [PRODUCT_HEADER], body }
}

/** Any answer in JSON. */
export function elasticJson(accept: string, status: number, value: unknown): Reply {
  return { ...elasticText(accept, JSON.stringify(value)), status }
}

/** Makes the replies to one request; read from its head. */
export class ElasticReplies {
  readonly #contentType: string
  /**
   * The JavaScript client's bulk helper throws a 429 at its caller, but retries a 503. It
   * identifies itself in a header.
   */
  readonly #isBulkHelper: boolean

  constructor(exchange: Exchange) {
    this.#contentType = elasticContentType(exchange.header('accept'))
    this.#isBulkHelper = /(^|,)h=bp(,|$)/.test(exchange.header('x-elastic-client-meta'))
  }

  reply(status: number, body: string | Uint8Array): Reply {
    return { status, contentType: this.#contentType, headers: [PRODUCT_HEADER], body }
  }

  json(status: number, value: unknown): Reply {
    return this.reply(status, JSON.stringify(value))
  }

  /** `type`: the exception's name, where the error's code does not determine it. */
  error(error: IngestError, type: string = exceptionOf(error)): Reply {
    const given = elasticStatus(error)
    const status = given === 429 && this.#isBulkHelper ? 503 : given
    const reply = this.json(status, { error: elasticFault(error, type), status })
    const headers = [...(reply.headers ?? [])]
    if (status === 401) headers.push(CHALLENGE)
    const { retrySeconds } = error
    if (retrySeconds !== undefined) headers.push(['Retry-After', String(retrySeconds)])
    return { ...reply, headers }
  }
}
