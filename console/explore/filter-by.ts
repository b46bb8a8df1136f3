import type { Query } from '../../src/language/query-tree.ts'
import { setParams } from '../base/route.ts'
import { tell } from '../parts/notices.tsx'
import { ask } from './ask.ts'
import { withClause } from './filters.ts'

/** Looks only at events for which the clause is true, or only at the others. */
export function filterBy(clause: Query, isExcluded: boolean, before = ask.value.query): void {
  const query = withClause(before, clause, isExcluded)
  if (query === undefined) {
    tell('This would be no query: what is there cannot be read, or it becomes too long', true)
  } else setParams({ q: query })
}
