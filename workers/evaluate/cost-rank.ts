/** What a clause costs an event, roughly: of several the cheapest is looked at first. */
import type { Query, Test } from '../../src/language/query-tree.ts'

/** A look at one value of the event. */
export const ONE_VALUE = 0
const SCANS = 1
const ALL_PATHS = 2
const REGEX = 3

export function costRank(query: Query): number {
  switch (query.kind) {
    case 'all':
      return ONE_VALUE
    case 'and':
    case 'or':
      return Math.max(SCANS, ...query.clauses.map(costRank))
    case 'not':
      return costRank(query.clause)
    case 'text':
      return Math.max(SCANS, testRank(query.test))
    case 'element':
      return Math.max(SCANS, costRank(query.query))
    case 'field': {
      const { field, test } = query
      if (field.kind === 'any' || field.kind === 'below') return Math.max(ALL_PATHS, testRank(test))
      const isPlain = field.kind === 'system' || field.parts.length === 1
      return Math.max(isPlain ? ONE_VALUE : SCANS, testRank(test))
    }
  }
}

function testRank(test: Test): number {
  if (test.kind === 'regex') return REGEX
  return test.kind === 'wildcard' ? SCANS : ONE_VALUE
}
