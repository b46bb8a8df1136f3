/**
 * Of several queries over the same events: a clause that more than one of them must have true.
 * Where it is not, none of them matches, so it is looked at once for all: 64 tails of
 * `level:error …` cost hardly more than one.
 */
import type { Query } from '../../src/language/query-tree.ts'
import type { TextPaths } from './compile-query.ts'
import { costRank } from './cost-rank.ts'

/** What every event must have that a query matches. */
export interface NeededClause {
  /** The same for clauses that mean the same where words are looked for at the same paths. */
  readonly key: string
  readonly clause: Query
  readonly text: TextPaths
  /** Looking at one value of an event tells. */
  readonly isCheap: boolean
}

export function neededClauses(query: Query, text: TextPaths): NeededClause[] {
  const clauses = query.kind === 'and' ? query.clauses : [query]
  return clauses.map((clause) => {
    const key = JSON.stringify([text, plain(clause)])
    return { key, clause, text, isCheap: costRank(clause) === 0 }
  })
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
      if (!one.isCheap || count <= mostCount) continue
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
