/** Builds trees from trees, in the canonical form. */
import type { Query, Span } from './query-tree.ts'

/** All or any of `clauses`. Precondition: at least one. */
export function conjoin(kind: 'and' | 'or', clauses: readonly Query[]): Query {
  const [first] = clauses
  if (clauses.length === 1) return first!
  const flat = clauses.flatMap((clause) => (clause.kind === kind ? clause.clauses : [clause]))
  return { kind, start: first!.start, end: clauses.at(-1)!.end, clauses: flat }
}

export function negate({ start, end }: Span, clause: Query): Query {
  return clause.kind === 'not' ? clause.clause : { kind: 'not', start, end, clause }
}
