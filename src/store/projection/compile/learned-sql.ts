/** Which rows the catalog has learned from, in SQL. */
import type { LearnedRows } from '../../../model/field-catalog.ts'
import { nodeOfSegmentSql } from '../../../model/segment-id.ts'
import type { NodeMarks } from '../../../model/segment-place.ts'
import type { SqlParams } from './sql-params.ts'

/** Receipt in milliseconds since 1970, half-open. */
export interface Receipt {
  readonly fromMs: number
  readonly untilMs: number
}

export type CatalogCoverage = 'learned' | 'other'

/**
 * The condition for the rows of that era among those received in `receipt`: `true` if all are,
 * `false` if none is.
 */
export function eraSql(
  era: CatalogCoverage,
  { untilMs, behind }: LearnedRows,
  receipt: Receipt,
  params: SqlParams,
): string {
  const at = (ms: number) => `fromUnixTimestamp64Milli(${params.add('Int64', String(ms))}, 'UTC')`
  const isLearned = era === 'learned'
  if (untilMs <= receipt.fromMs) return isLearned ? 'false' : 'true'
  const conditions: string[] = []
  if (untilMs < receipt.untilMs) {
    conditions.push(`ingested_at ${isLearned ? '<' : '>='} ${at(untilMs)}`)
  }
  const late = behind.filter((node) => {
    return node.untilMs < Math.min(untilMs, receipt.untilMs)
  })
  if (late.length > 0) {
    const first = Math.min(...late.map((node) => node.untilMs))
    const nodes = params.add(
      'Array(UInt64)',
      late.map(({ nodeId }) => nodeId),
    )
    const untils = params.add(
      'Array(Int64)',
      late.map((node) => node.untilMs),
    )
    const all = params.add('Int64', String(untilMs))
    const nodeUntil = `transform(${nodeOfSegmentSql('segment_id')}, ${nodes}, ${untils}, ${all})`
    const received = 'toUnixTimestamp64Milli(ingested_at)'
    const isBehind = `(ingested_at >= ${at(first)} AND ${received} >= ${nodeUntil})`
    conditions.push(isLearned ? `NOT ${isBehind}` : isBehind)
  }
  if (conditions.length === 0) return isLearned ? 'true' : 'false'
  return `(${conditions.join(isLearned ? ' AND ' : ' OR ')})`
}

/** The condition for rows of segments up to each node's mark, of other nodes up to `others`. */
export function upToSql(marks: NodeMarks, others: bigint, params: SqlParams): string {
  const nodes = params.add('Array(UInt64)', [...marks.keys()])
  const segments = params.add('Array(UInt64)', [...marks.values()])
  const other = params.add('UInt64', String(others))
  const node = nodeOfSegmentSql('segment_id')
  return `segment_id <= transform(${node}, ${nodes}, ${segments}, ${other})`
}
