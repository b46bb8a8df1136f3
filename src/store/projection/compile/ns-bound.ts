/** Comparing a column of times with nanoseconds since 1970. */
import { INT64_MIN } from '../../../model/int64.ts'
import type { SqlParams } from './sql-params.ts'

/**
 * A server tells others of a cluster such a time as a text, and reading the text of the first
 * second that there is overflows (407).
 */
const TEXT_NS_MIN = INT64_MIN + 1_000_000_000n

/** `column`: a DateTime64; `ns`: within 64 bits. A condition that the order of rows can serve. */
export function nsBoundSql(
  column: string,
  operator: string,
  ns: bigint,
  params: SqlParams,
): string {
  const value = params.add('Int64', String(ns))
  return ns < TEXT_NS_MIN
    ? `toUnixTimestamp64Nano(${column}) ${operator} ${value}`
    : `${column} ${operator} fromUnixTimestamp64Nano(${value}, 'UTC')`
}
