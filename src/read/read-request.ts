/**
 * The members that all requests to read share: which events, from when, how long the answer may
 * take. They have passed the schemas of `schemas.ts`; this checks what schemas cannot express.
 */

import { IngestError } from '../errors.ts'
import { parse } from '../language/parse.ts'
import { QueryError } from '../language/query-error.ts'
import type { Query } from '../language/query-tree.ts'
import { QUERY_MS_MAX } from '../limits.ts'
import type { TimeBasis } from '../model/aggregates.ts'
import type { TimeRange } from './answer-coverage.ts'
import { MOMENT_NS_MIN, readMoment } from './read-time.ts'

/** The members of a body or a URL: those of `READ_PROPERTIES` are as their schemas say. */
export type ReadMembers = Readonly<Record<string, unknown>>

export interface ReadRequest extends TimeRange {
  readonly query: Query
  readonly timeBasis: TimeBasis
  /** How long the answer may take. */
  readonly timeoutMs: number
}

const HOUR_NS = 3_600_000_000_000n
const MS_NS = 1_000_000n

/** Throws `malformed`; for a query with the `column`, and the `repair` where one is known. */
export function readRequest(members: ReadMembers, nowMs: number): ReadRequest {
  const { query = '', time_basis: basis = 'ingested_at', timeout_ms: timeoutMs } = members
  return {
    query: readQueryText('query', query as string),
    ...readTimeRange(members, nowMs),
    timeBasis: basis as TimeBasis,
    timeoutMs: (timeoutMs as number | undefined) ?? QUERY_MS_MAX,
  }
}

/** The query that `text` of the member `name` says. Throws `malformed`. */
export function readQueryText(name: string, text: string): Query {
  try {
    return parse(text)
  } catch (cause) {
    throw cause instanceof QueryError ? queryFault(name, cause) : cause
  }
}

/** The error for a mistake of the query in the member `name`. */
export function queryFault(name: string, cause: QueryError): IngestError {
  const { message, column, repair } = cause
  const members = { field: name, column, ...(repair !== undefined && { repair }) }
  return new IngestError('malformed', `"${name}": ${message}`, { cause, members })
}

/** The range of `from` and `to`: the last hour when both are left out. Throws `malformed`. */
export function readTimeRange({ from, to = 'now' }: ReadMembers, nowMs: number): TimeRange {
  // One past now, so that what was received in this very millisecond is in.
  const toNs = to === 'now' ? BigInt(nowMs) * MS_NS + MS_NS : readMoment('to', to, nowMs)
  const fromNs = from === undefined ? hourBefore(toNs) : readMoment('from', from, nowMs)
  if (fromNs < toNs) return { fromNs, toNs }
  throw new IngestError('malformed', '"from" must be before "to"')
}

function hourBefore(ns: bigint): bigint {
  return ns - HOUR_NS < MOMENT_NS_MIN ? MOMENT_NS_MIN : ns - HOUR_NS
}
