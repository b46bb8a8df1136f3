/** Replies that every REST surface shares: JSON, and errors as RFC 9457 problem documents. */
import { ERRORS, type IngestError } from '../errors.ts'
import { StoreError, storeFault } from '../store/store-error.ts'
import type { Reply } from './exchange.ts'

const AUTHENTICATE_HEADER = ['WWW-Authenticate', 'Bearer realm="sluice"'] as const

/** A JSON reply; `value` must be representable in JSON. */
export function jsonReply(status: number, value: unknown): Reply {
  return { status, contentType: 'application/json', body: JSON.stringify(value) }
}

/**
 * The problem document of `error`. `extra` members are added to it and cannot replace the standard
 * ones. An `internal` error tells the client nothing but its title, and that it was a store which
 * failed: the details go to the log.
 */
export function problemReply(error: IngestError, extra?: Readonly<Record<string, unknown>>): Reply {
  const { httpStatus, title } = ERRORS[error.code]
  const headers: (readonly [string, string])[] = []
  if (error.code === 'unauthenticated') headers.push(AUTHENTICATE_HEADER)
  const retryAfter = error.retrySeconds
  if (retryAfter !== undefined) headers.push(['Retry-After', String(retryAfter)])

  const problem = {
    ...extra,
    ...error.members,
    type: `urn:sluice:problem:${error.code}`,
    title,
    status: httpStatus,
    detail: error.code === 'internal' ? internalDetail(error) : error.message,
    code: error.code,
    ...(retryAfter === undefined ? undefined : { retry_after: retryAfter }),
  }
  return {
    status: httpStatus,
    contentType: 'application/problem+json',
    headers,
    body: JSON.stringify(problem),
  }
}

/** What anybody may know of an `internal` error. */
export function internalDetail({ cause }: IngestError): string {
  if (!(cause instanceof StoreError)) return 'the server failed; its log has the details'
  return `${storeFault(cause)}; the server's log has the details`
}
