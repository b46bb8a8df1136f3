/**
 * Whether a query's answer from the projection depends on which paths the catalog knows: `http.*`,
 * `*`, and words without a field, which look at every text field that there is. Segments that the
 * catalog has not learned from are then evaluated in workers, which see the paths themselves, even
 * when ClickHouse has the segments already: an event is found as soon as it was acknowledged,
 * whatever is new in it. What counts leaves them out, and says how fresh it is.
 */
import type { Query } from '../language/query-tree.ts'
import type { SourceStream } from '../model/field-catalog.ts'
import { segmentIdMs } from '../model/segment-id.ts'
import { leastMarks, type NodeMarks } from '../model/segment-place.ts'
import type { ReadableStreams } from './read-deps.ts'

/** Up to where ClickHouse can be asked; undefined: everywhere. */
export function observedFor(
  queries: readonly Query[],
  streams: readonly SourceStream[],
): NodeMarks | undefined {
  if (!queries.some(dependsOnCatalog)) return undefined
  return leastMarks(streams.map(({ catalog }) => catalog.observed))
}

/** What is counted, and every event that was acknowledged before `asOfMs` is. */
export function countedFor(
  queries: readonly Query[],
  { sources, asOfMs }: Pick<ReadableStreams, 'sources' | 'asOfMs'>,
): { readonly asOfMs: number; readonly observed?: NodeMarks } {
  const observed = observedFor(queries, sources)
  if (observed === undefined) return { asOfMs }
  const late = sources.flatMap(({ projected = new Map() }) => {
    return [...projected].flatMap(([node, segment]) => {
      const learned = observed.get(node)
      return learned !== undefined && learned < segment ? [segmentIdMs(learned)] : []
    })
  })
  return { observed, asOfMs: late.reduce((least, ms) => Math.min(least, ms), asOfMs) }
}

/**
 * Whether ClickHouse may answer with less than the queries mean: a stream has paths that were never
 * learned, as it is past its caps, and they would be looked at if they were known.
 */
export function missesPaths(queries: readonly Query[], streams: readonly SourceStream[]): boolean {
  return streams.some(({ catalog }) => catalog.isPartial) && queries.some(dependsOnCatalog)
}

/** Whether which events it means depends on the paths that there are. */
export function dependsOnCatalog(query: Query): boolean {
  switch (query.kind) {
    case 'all':
      return false
    case 'and':
    case 'or':
      return query.clauses.some(dependsOnCatalog)
    case 'not':
      return dependsOnCatalog(query.clause)
    case 'element':
      return dependsOnCatalog(query.query)
    case 'text':
      return true
    case 'field': {
      const { kind } = query.field
      return kind === 'any' || kind === 'below'
    }
  }
}
