/** Explains a query: how it was understood, and what each clause leaves to read. */
import { IngestError } from '../../errors.ts'
import { format } from '../../language/format.ts'
import type { Query } from '../../language/query-tree.ts'
import { EXPLAIN_CLAUSES_MAX } from '../../limits.ts'
import { GRANULE_ROWS } from '../../model/projection.ts'
import { SEGMENT_ID_MAX } from '../../model/segment-id.ts'
import type { IdRange } from '../../model/segment-place.ts'
import type { Stream } from '../../model/stream.ts'
import type { Explained } from '../../store/projection/reads/explain-store.ts'
import type { IdQuestion } from '../../store/projection/reads/id-store.ts'
import type { SearchDeps } from './search.ts'
import { eventTimeOf, idRange, type SearchRequest } from './search-request.ts'

export interface ExplainDeps extends Pick<SearchDeps, 'openStreams' | 'nowMs'> {
  /** `ExplainStore`'s. */
  readonly explainIds: (question: IdQuestion, signal: AbortSignal) => Promise<Explained>
}

/**
 * The answer as a value. Throws `malformed`, `unavailable`, and `StoreError` when ClickHouse does
 * not answer.
 */
export async function explain(
  deps: ExplainDeps,
  request: SearchRequest,
  stream: Stream,
  signal: AbortSignal,
) {
  const { nowMs } = deps
  const deadlineMs = nowMs() + request.timeoutMs
  const streams = await deps.openStreams([stream])
  const { query } = request
  const question = (of: Query): IdQuestion => ({
    streams,
    query: of,
    eventTime: eventTimeOf(request),
    range: notEmpty(idRange(request)),
    before: undefined,
    after: undefined,
    newestFirst: true,
    limit: 1,
    msMax: Math.max(1, deadlineMs - nowMs()),
  })
  const whole = await deps.explainIds(question(query), signal)
  const clauses = query.kind === 'and' ? query.clauses.slice(0, EXPLAIN_CLAUSES_MAX) : []
  const explained = []
  for (const clause of clauses) {
    if (nowMs() > deadlineMs) break
    const leaves = await inTime(() => deps.explainIds(question(clause), signal))
    if (leaves === undefined) break
    explained.push({ query: clause, ...leaves })
  }
  if (clauses.length === 0) explained.push({ query, ...whole })
  return {
    query: format(query),
    tree: plainTree(query),
    text_fields: streams[0]?.catalog.textPaths ?? [],
    rows_max: whole.granules.selected * GRANULE_ROWS,
    granules: whole.granules,
    clauses: explained.map(({ query: clause, indexes, granules }) => {
      return { query: format(clause), start: clause.start, end: clause.end, granules, indexes }
    }),
  }
}

/** Undefined when there was too little time: what is explained already is worth having. */
async function inTime<T>(run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run()
  } catch (cause) {
    if (cause instanceof IngestError && cause.members?.reason === 'timeout') return undefined
    throw cause
  }
}

function notEmpty({ start, end }: IdRange): IdRange {
  return start < end ? { start, end } : { start: SEGMENT_ID_MAX - 1n, end: SEGMENT_ID_MAX }
}

/** As JSON can have it: times in nanoseconds become texts. */
function plainTree(query: Query): unknown {
  return JSON.parse(
    JSON.stringify(query, (_, value: unknown) => {
      return typeof value === 'bigint' ? String(value) : value
    }),
  )
}
