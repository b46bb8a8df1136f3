/** Queries of several, in the canonical form. */
import { conjoin, negate } from '../language/combine.ts'
import type { Query } from '../language/query-tree.ts'
import { NOWHERE } from './meant-fields.ts'

/** Every event. */
export const ALL: Query = { kind: 'all', ...NOWHERE }
/** No event. */
export const NONE: Query = { kind: 'not', clause: ALL as never, ...NOWHERE }

export function allOf(queries: readonly Query[]): Query {
  const some = queries.filter(({ kind }) => kind !== 'all')
  return some.length === 0 ? ALL : conjoin('and', some)
}

export function anyOf(queries: readonly Query[]): Query {
  if (queries.length === 0) return NONE
  return queries.some(({ kind }) => kind === 'all') ? ALL : conjoin('or', queries)
}

export function noneOf(query: Query): Query {
  return negate(NOWHERE, query)
}
