/**
 * The closed table of failures, and the one error class that carries them.
 *
 * A request that fails is one `IngestError`; a bad event inside a good request is a counted
 * reject code (`model/batch/`), never a throw. Messages name the limit and never hold event
 * contents or secrets. A test keeps `docs/api.md` equal to this table.
 */

/** Every way a request can fail and what the client is told. */
export const ERRORS = {
  malformed: { httpStatus: 400, retryable: false, title: 'Malformed request' },
  unauthenticated: { httpStatus: 401, retryable: false, title: 'Missing or invalid credential' },
  forbidden: { httpStatus: 403, retryable: false, title: 'Credential not allowed to do this' },
  not_found: { httpStatus: 404, retryable: false, title: 'Not found' },
  method_not_allowed: { httpStatus: 405, retryable: false, title: 'Method not allowed' },
  too_slow: { httpStatus: 408, retryable: true, title: 'Request too slow' },
  conflict: { httpStatus: 409, retryable: false, title: 'Conflict' },
  precondition_failed: { httpStatus: 412, retryable: false, title: 'Changed by somebody else' },
  too_large: { httpStatus: 413, retryable: false, title: 'Request too large' },
  unsupported_media_type: { httpStatus: 415, retryable: false, title: 'Unsupported media type' },
  rate_limited: { httpStatus: 429, retryable: true, title: 'Rate budget exceeded' },
  storage_cap_reached: { httpStatus: 429, retryable: true, title: 'Storage cap reached' },
  overloaded: { httpStatus: 429, retryable: true, title: 'Overloaded' },
  internal: { httpStatus: 500, retryable: false, title: 'Internal error' },
  unavailable: { httpStatus: 503, retryable: true, title: 'Unavailable' },
} as const satisfies Record<string, { httpStatus: number; retryable: boolean; title: string }>

export type ErrorCode = keyof typeof ERRORS

/** What crosses a thread: structured clone drops an Error's class, code and own fields. */
export interface ErrorData {
  readonly code: ErrorCode
  readonly message: string
}

export interface IngestErrorOptions extends ErrorOptions {
  /** Seconds a client should wait; sent as `Retry-After` and `retry_after`. */
  readonly retryAfterSeconds?: number
  /** More members of the problem document, such as the column of a query's fault. */
  readonly members?: Readonly<Record<string, string | number>>
}

/** A failure we expect and handle. Our own bugs are assertions, never an `IngestError`. */
export class IngestError extends Error {
  override readonly name = 'IngestError'
  readonly code: ErrorCode
  readonly retryAfterSeconds: number | undefined
  readonly members: Readonly<Record<string, string | number>> | undefined

  constructor(code: ErrorCode, message: string, options?: IngestErrorOptions) {
    super(message, options)
    this.code = code
    this.retryAfterSeconds = options?.retryAfterSeconds ?? (ERRORS[code].retryable ? 1 : undefined)
    this.members = options?.members
  }

  /** As `Retry-After` has it: in whole seconds, and 0 would invite an immediate retry. */
  get retrySeconds(): number | undefined {
    const { retryAfterSeconds } = this
    return retryAfterSeconds === undefined ? undefined : Math.max(1, Math.ceil(retryAfterSeconds))
  }

  /** Wraps whatever was thrown; an `IngestError` passes through with its own code. */
  static from(cause: unknown, code: ErrorCode): IngestError {
    if (cause instanceof IngestError) return cause
    const message = cause instanceof Error ? cause.message : String(cause)
    return new IngestError(code, message, { cause })
  }

  toData(): ErrorData {
    return { code: this.code, message: this.message }
  }
}

/** The status of a refusal for senders that would drop a request answered 408. */
export function senderStatus({ code }: IngestError): number {
  return code === 'too_slow' ? 429 : ERRORS[code].httpStatus
}

/** What a client asked is against the API's rules. */
export function malformed(message: string, cause?: unknown): IngestError {
  return new IngestError('malformed', message, { cause })
}

/**
 * Nobody knows whether the request was made durable: neither an acknowledgement nor a refusal would
 * be true. The connection is dropped without an answer, and the client decides.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError'
}
