/** Answers an aggregating query. */

import { renderInTurns } from '../../api/main-turns.ts'
import { IngestError } from '../../errors.ts'
import { QUERY_RESULT_BYTES_MAX } from '../../limits.ts'
import type {
  AggregateResult,
  AggregateTask,
} from '../../store/projection/reads/aggregate-store.ts'
import { UNLEARNED } from '../answer-coverage.ts'
import { countedFor, missesPaths } from '../depends-on-catalog.ts'
import type { AskedStreams, OpenStreams } from '../read-deps.ts'
import { aggregateJson } from './aggregate-answer.ts'
import type { AggregateRequest } from './aggregate-request.ts'

export interface AggregateDeps {
  readonly openStreams: OpenStreams
  /** `AggregateStore`'s. */
  readonly runAggregate: (task: AggregateTask, signal?: AbortSignal) => Promise<AggregateResult>
  readonly nowMs: () => number
}

/** The answer as JSON, in UTF-8. `signal` ends it. Throws `malformed`, `unavailable`. */
export async function aggregate(
  { openStreams, runAggregate, nowMs }: AggregateDeps,
  request: AggregateRequest,
  streams: AskedStreams,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const startMs = performance.now()
  const opened = await openStreams(streams)
  const { sources } = opened
  const queries = [request.query, ...request.aggregates.flatMap(({ query }) => query ?? [])]
  const counted = countedFor(queries, opened)
  const task = { ...request, ...counted, streams: sources }
  const result = await runAggregate(task, signal)
  const elapsedMs = performance.now() - startMs
  const shortfall = missesPaths(queries, sources) ? UNLEARNED : undefined
  const honesty = { asOfMs: counted.asOfMs, nowMs: nowMs(), ...(shortfall && { shortfall }) }
  const texts = aggregateJson(request, result, honesty, elapsedMs)
  const answer = await renderInTurns(texts, QUERY_RESULT_BYTES_MAX)
  if (answer === undefined) throw tooLarge()
  return answer
}

/** Groups are in their rows with each bucket: the answer may be many times the engine's result. */
function tooLarge(): IngestError {
  const limit = `QUERY_RESULT_BYTES_MAX (${QUERY_RESULT_BYTES_MAX} bytes)`
  return new IngestError(
    'malformed',
    `the answer is over ${limit}; lower "limit", or widen "bucket"`,
  )
}

/** The same as text. */
export async function aggregateText(...asked: Parameters<typeof aggregate>): Promise<string> {
  return Buffer.from(await aggregate(...asked)).toString()
}
