/**
 * Whether a query's meaning depends on which paths the catalog knows: `http.*`, `*`, and words in a
 * stream without any of its text fields. Segments that the catalog has not learned from are then
 * evaluated in workers, which see the paths themselves, even when ClickHouse has the segments
 * already: an event is found as soon as it was acknowledged, whatever is new in it.
 */
import type { Query } from '../language/query-tree.ts'
import { QUERY_PATHS_MAX } from '../limits.ts'
import type { FieldCatalog } from '../model/field-catalog.ts'
import { leastMarks, type NodeMarks } from '../model/segment-place.ts'
import type { SourceStream } from '../store/projection/compile/row-source.ts'

/** Up to where ClickHouse can be asked; undefined: everywhere. */
export function observedFor(query: Query, streams: readonly SourceStream[]): NodeMarks | undefined {
  const isAllText = streams.some(({ catalog }) => catalog.isAllText)
  if (!asksCatalog(query, isAllText)) return undefined
  return leastMarks(streams.map(({ catalog }) => catalog.observed))
}

/** The text fields for the evaluator: all strings where the catalog takes all strings as text. */
export function textOf({ textFields, isAllText }: Pick<FieldCatalog, 'textFields' | 'isAllText'>) {
  return { textFields, isAllText: isAllText && textFields.length < QUERY_PATHS_MAX }
}

function asksCatalog(query: Query, isAllText: boolean): boolean {
  switch (query.kind) {
    case 'all':
      return false
    case 'and':
    case 'or':
      return query.clauses.some((clause) => asksCatalog(clause, isAllText))
    case 'not':
      return asksCatalog(query.clause, isAllText)
    case 'element':
      return asksCatalog(query.query, false)
    case 'text':
      return isAllText
    case 'field': {
      const { kind } = query.field
      return kind === 'any' || kind === 'below' || (kind === 'path' && isAllText)
    }
  }
}
