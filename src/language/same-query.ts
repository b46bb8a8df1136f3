/** Whether two trees are the same apart from their positions in the texts. */
import type { Query } from './query-tree.ts'

export function isSameQuery(a: Query, b: Query): boolean {
  return withoutSpans(a) === withoutSpans(b)
}

/** A tree as text, without positions. */
export function withoutSpans(query: Query): string {
  return JSON.stringify(query, (key, value: unknown) => {
    if (key === 'start' || key === 'end') return undefined
    return typeof value === 'bigint' ? String(value) : value
  })
}
