/**
 * Of several queries over the same events: a clause that more than one of them must have true.
 * Where it is not, none of them matches, so it is looked at once for all: 64 tails of
 * `level:error …` cost hardly more than one.
 */
import type { Query } from '../../src/language/query-tree.ts'
import { costRank, ONE_VALUE } from './cost-rank.ts'

/** What every event must have that a query matches. */
export interface NeededClause {
  /** The same for clauses that mean the same where the text fields are the same. */
  readonly key: string
  readonly clause: Query
  readonly textFields: readonly string[]
  /** See `costRank`. */
  readonly cost: number
  /** The only thing that it looks at, a path of the event outside of arrays; else undefined. */
  readonly path: string | undefined
}

export function neededClauses(query: Query, textFields: readonly string[]): NeededClause[] {
  const clauses = query.kind === 'and' ? query.clauses : [query]
  return clauses.map((clause) => {
    const key = JSON.stringify([textFields, plain(clause)])
    return { key, clause, textFields, cost: costRank(clause), path: onlyPathOf(clause) }
  })
}

function onlyPathOf(query: Query): string | undefined {
  switch (query.kind) {
    case 'field': {
      const { field } = query
      return field.kind === 'path' && field.parts.length === 1 ? field.parts[0] : undefined
    }
    case 'not':
      return onlyPathOf(query.clause)
    case 'and':
    case 'or': {
      const [first, ...others] = query.clauses.map(onlyPathOf)
      return others.every((path) => path === first) ? first : undefined
    }
    case 'all':
    case 'text':
    case 'element':
      return undefined
  }
}

/** Of each query the cheap clause that most of them have; undefined where no other has any. */
export function chooseShared(
  queries: readonly (readonly NeededClause[])[],
): (NeededClause | undefined)[] {
  const counts = new Map<string, number>()
  for (const clauses of queries) {
    for (const key of new Set(clauses.map((one) => one.key))) {
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  return queries.map((clauses) => {
    let most: NeededClause | undefined
    let mostCount = 1
    for (const one of clauses) {
      const count = counts.get(one.key)!
      if (one.cost > ONE_VALUE || count <= mostCount) continue
      most = one
      mostCount = count
    }
    return most
  })
}

/** Without where it stands in its text, and with big numbers as texts. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plain)
  const entries = Object.entries(value).filter(([key]) => key !== 'start' && key !== 'end')
  return Object.fromEntries(entries.map(([key, inner]) => [key, plain(inner)]))
}
