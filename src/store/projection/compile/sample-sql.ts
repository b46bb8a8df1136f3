import { GRANULE_ROWS } from '../../../model/projection.ts'
import type { SqlParams } from './sql-params.ts'

/**
 * The condition that leaves the rows of one granule in `oneIn`, the same ones each time. It is by
 * the place of a row alone, so that of granules that are left out nothing is read.
 */
export function sampleSql(oneIn: number, params: SqlParams): string {
  if (oneIn <= 1) return 'true'
  const granule = `intDiv(_part_offset, ${GRANULE_ROWS})`
  return `cityHash64(_part_index, ${granule}) % ${params.add('UInt32', oneIn)} = 0`
}
