/** In which bucket of time something is. */
import type { Buckets } from '../../../model/aggregates.ts'
import type { SqlParams } from './sql-params.ts'

/**
 * The bucket's number from 0. `time` is an expression for units of `unitMs` since 1970; buckets
 * begin at whole ones.
 */
export function bucketIndexSql(
  time: string,
  { startMs, stepMs, starts }: Buckets,
  unitMs: number,
  params: SqlParams,
): string {
  const add = (ms: number) => params.add('Int64', String(ms / unitMs))
  if (starts === undefined) return `toUInt32(intDiv(${time} - ${add(startMs)}, ${add(stepMs)}))`
  const list = (values: readonly number[]) => params.add('Array(Int64)', values)
  const units = list(starts.map((ms) => ms / unitMs))
  const numbers = list(starts.map((_, index) => index))
  return `toUInt32(transform(roundDown(toInt64(${time}), ${units}), ${units}, ${numbers}, 0))`
}
