/**
 * Whether a query's meaning depends on which paths the catalog knows: `http.*`, `*`, and words in a
 * stream without any of its text fields. Segments that the catalog has not learned from are then
 * evaluated in workers, which see the paths themselves, even when ClickHouse has the segments
 * already: an event is found as soon as it was acknowledged, whatever is new in it.
 */
import type { FieldClause, Query } from '../language/query-tree.ts'
import { QUERY_PATHS_MAX } from '../limits.ts'
import type { FieldCatalog } from '../model/field-catalog.ts'
import { leastMarks, type NodeMarks } from '../model/segment-place.ts'
import type { SourceStream } from '../store/projection/compile/row-source.ts'

/** Up to where ClickHouse can be asked; undefined: everywhere. */
export function observedFor(query: Query, streams: readonly SourceStream[]): NodeMarks | undefined {
  const isAllText = streams.some(({ catalog }) => catalog.isAllText)
  if (!asksCatalog(query, { isAllText, asksOf: () => isAllText })) return undefined
  return leastMarks(streams.map(({ catalog }) => catalog.observed))
}

/**
 * Whether ClickHouse may answer with less than the queries mean: a stream has paths that were never
 * learned, as it is past its caps, and they would be looked at if they were known.
 */
export function missesPaths(queries: readonly Query[], streams: readonly SourceStream[]): boolean {
  return streams.some(({ catalog }) => {
    const { isPartial, isAllText, textFields } = catalog
    const asksOf = ({ field, test }: FieldClause) => {
      const isOfWords = (test.kind === 'value' || test.kind === 'wildcard') && !test.isWhole
      if (!isAllText || !isOfWords || field.kind !== 'path') return false
      return field.parts.length === 1 && !textFields.includes(field.parts[0]!)
    }
    return isPartial && queries.some((query) => asksCatalog(query, { isAllText, asksOf }))
  })
}

/** The text fields for the evaluator: all strings where the catalog takes all strings as text. */
export function textOf(catalog: Pick<FieldCatalog, 'textFields' | 'isAllText' | 'paths'>) {
  const { textFields, paths } = catalog
  const isAllText = catalog.isAllText && textFields.length < QUERY_PATHS_MAX
  return { textFields, isAllText, isNew: isAllText && paths.length === 0 }
}

interface Asked {
  readonly isAllText: boolean
  /** Whether a field of the event means something else where its path is not known. */
  readonly asksOf: (clause: FieldClause) => boolean
}

const IN_ELEMENT: Asked = { isAllText: false, asksOf: () => false }

function asksCatalog(query: Query, asked: Asked): boolean {
  switch (query.kind) {
    case 'all':
      return false
    case 'and':
    case 'or':
      return query.clauses.some((clause) => asksCatalog(clause, asked))
    case 'not':
      return asksCatalog(query.clause, asked)
    case 'element':
      return asksCatalog(query.query, IN_ELEMENT)
    case 'text':
      return asked.isAllText
    case 'field': {
      const { kind } = query.field
      return kind === 'any' || kind === 'below' || (kind === 'path' && asked.asksOf(query))
    }
  }
}
