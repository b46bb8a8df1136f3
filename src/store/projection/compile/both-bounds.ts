import type { NumberOperator } from '../../../language/number-test.ts'
import type { Bound } from '../../../language/query-tree.ts'

/** Undefined when one of the bounds is met by no value. */
export function bothBounds(
  low: Bound | undefined,
  high: Bound | undefined,
  compile: (operator: NumberOperator, bound: Bound) => string | undefined,
): string | undefined {
  const conditions: string[] = []
  for (const [bound, strict] of [
    [low, '>'],
    [high, '<'],
  ] as const) {
    if (bound === undefined) continue
    const condition = compile(bound.isInclusive ? `${strict}=` : strict, bound)
    if (condition === undefined) return undefined
    conditions.push(condition)
  }
  return conditions.length === 1 ? conditions[0] : `(${conditions.join(' AND ')})`
}
