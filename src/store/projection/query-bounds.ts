/** What any query over the projection may cost, and what a client is told when it costs more. */
import { IngestError } from '../../errors.ts'
import { QueryError } from '../../language/query-error.ts'
import { QUERY_DISTINCT_MAX, QUERY_RESULT_BYTES_MAX } from '../../limits.ts'
import type { QuerySettings } from '../clickhouse.ts'
import {
  MEMORY_LIMIT_EXCEEDED,
  TIMEOUT_EXCEEDED,
  TOO_MANY_ROWS,
  TOO_MANY_ROWS_OR_BYTES,
} from '../clickhouse-codes.ts'
import { StoreError } from '../store-error.ts'
import type { ReadBlocks } from './within-memory.ts'

/** For one query, where ClickHouse has that much. */
const QUERY_MEMORY_BYTES_MAX = 1024 ** 3

/**
 * How large a statement the engine accepts. A query within its own bounds never becomes larger; the
 * engine's defaults are a quarter of a megabyte and 50,000 nodes.
 */
const STATEMENT_SETTINGS = {
  max_query_size: String(8 * 1024 * 1024),
  max_ast_elements: '500000',
  max_expanded_ast_elements: '1000000',
} as const

/** Of an array as JSON: floats that JSON has no number for are strings, as they are elsewhere. */
const ARRAY_SETTINGS = {
  output_format_json_quote_denormals: 1,
  output_format_json_escape_forward_slashes: 0,
} as const

/**
 * Behind a statement that no projection of a table can answer, which all but counts of whole parts
 * are: the engine need not look for one. In the statement, as reads with the same settings share
 * what is prepared for the next.
 */
export const NO_PROJECTIONS = 'SETTINGS optimize_use_projections = 0'

/** Groups that are kept where those seen first are enough. */
export const FIRST_GROUPS_MAX = 1_000_000

/** A query that groups adds what happens past the distinct values (`group_by_overflow_mode`). */
export function querySettings(timeoutMs: number, blocks: ReadBlocks = {}) {
  return {
    ...blocks,
    max_execution_time: timeoutMs / 1_000,
    max_memory_usage: String(QUERY_MEMORY_BYTES_MAX),
    max_rows_to_group_by: String(FIRST_GROUPS_MAX),
    max_result_bytes: String(QUERY_RESULT_BYTES_MAX),
    ...STATEMENT_SETTINGS,
    output_format_json_quote_64bit_integers: 0,
    ...ARRAY_SETTINGS,
    // When our client goes away we close the request, and the server should stop. It does so only
    // for read-only queries.
    readonly: '2',
    cancel_http_readonly_queries_on_client_close: 1,
  } as const satisfies QuerySettings
}

export function tooManyGroups(max = QUERY_DISTINCT_MAX): IngestError {
  const limit = `QUERY_DISTINCT_MAX (${max})`
  const repair = 'narrow the query or its time range, or ask for the groups with the most events'
  const members = { reason: TOO_MANY_GROUPS }
  const detail = `"group_by" makes more groups than ${limit}; ${repair}`
  return new IngestError('malformed', detail, { members })
}

const TOO_MANY_GROUPS = 'groups'

/** Of what the engine says, and of `tooManyGroups`. */
export function isTooManyGroups(cause: unknown): boolean {
  if (cause instanceof StoreError) return cause.clickHouseCode === TOO_MANY_ROWS
  return cause instanceof IngestError && cause.members?.reason === TOO_MANY_GROUPS
}

/** The error for the client; a cause that is not the query's fault is returned unchanged. */
export function toQueryError(cause: unknown, { timeoutMs }: { timeoutMs: number }): unknown {
  if (cause instanceof QueryError) {
    const { message, column, repair, member: field = 'query' } = cause
    const members = { field, column, ...(repair !== undefined && { repair }) }
    return new IngestError('malformed', `"${field}": ${message}`, { cause, members })
  }
  if (!(cause instanceof StoreError)) return cause
  switch (cause.clickHouseCode) {
    case TOO_MANY_ROWS:
      return tooManyGroups()
    case TOO_MANY_ROWS_OR_BYTES: {
      const limit = `QUERY_RESULT_BYTES_MAX (${QUERY_RESULT_BYTES_MAX} bytes)`
      return new IngestError('malformed', `the answer is over ${limit}; lower "limit"`)
    }
    case TIMEOUT_EXCEEDED:
      return new IngestError(
        'unavailable',
        `the query took over ${Math.round(timeoutMs)} ms; narrow its time range, or the query`,
        { members: { reason: 'timeout' } },
      )
    case MEMORY_LIMIT_EXCEEDED:
      return new IngestError(
        'unavailable',
        'the query needs too much memory; narrow its time range',
        { members: { reason: 'memory' } },
      )
    default:
      return cause
  }
}
