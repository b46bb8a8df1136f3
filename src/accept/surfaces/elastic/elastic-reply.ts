/** Replies as Elasticsearch gives them; which headers and types senders read: docs/elastic.md. */
import { ERRORS, type ErrorCode, type IngestError } from '../../../errors.ts'
import type { Exchange, Reply } from '../../../http/exchange.ts'

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

/** The media type of the answer: the vendor's own family where the client asks for it. */
export function elasticContentType(accept: string): string {
  const version = /application\/vnd\.elasticsearch\+json; *compatible-with=([0-9]+)/.exec(accept)
  if (version === null) return 'application/json'
  return `application/vnd.elasticsearch+json;compatible-with=${version[1]}`
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
  error(error: IngestError, type: string = EXCEPTIONS[error.code]): Reply {
    const { httpStatus } = ERRORS[error.code]
    // Not every client retries after 408, but all do after 429; they should slow down anyway.
    const isRefusal = httpStatus === 429 || httpStatus === 408
    const refusal = this.#isBulkHelper ? 503 : 429
    const status = isRefusal ? refusal : httpStatus
    const isInternal = error.code === 'internal'
    const reason = isInternal ? 'the server failed; its log has the details' : error.message
    const cause = { type, reason }
    const reply = this.json(status, { error: { root_cause: [cause], ...cause }, status })
    const headers = [...(reply.headers ?? [])]
    if (status === 401) headers.push(CHALLENGE)
    const { retryAfterSeconds } = error
    if (retryAfterSeconds !== undefined) {
      headers.push(['Retry-After', String(Math.max(1, Math.ceil(retryAfterSeconds)))])
    }
    return { ...reply, headers }
  }
}
