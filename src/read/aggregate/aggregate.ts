/** Answers an aggregating query. */
import type {
  AggregateResult,
  AggregateTask,
} from '../../store/projection/aggregate/aggregate-store.ts'
import { countedFor, missesPaths } from '../asks-catalog.ts'
import { UNLEARNED } from '../honest-answer.ts'
import type { AskedStreams, OpenStreams } from '../read-deps.ts'
import { aggregateJson } from './aggregate-answer.ts'
import type { AggregateRequest } from './aggregate-request.ts'

export interface AggregateDeps {
  readonly openStreams: OpenStreams
  /** `AggregateStore`'s. */
  readonly runAggregate: (task: AggregateTask, signal?: AbortSignal) => Promise<AggregateResult>
  readonly nowMs: () => number
}

/** The answer as JSON. `signal` ends it. Throws `malformed`, `unavailable`. */
export async function aggregate(
  { openStreams, runAggregate, nowMs }: AggregateDeps,
  request: AggregateRequest,
  streams: AskedStreams,
  signal: AbortSignal,
): Promise<string> {
  const startMs = performance.now()
  const opened = await openStreams(streams)
  const { sources, wholeUntilMs } = opened
  const queries = [request.query, ...request.aggregates.flatMap(({ query }) => query ?? [])]
  const counted = countedFor(queries, opened)
  const task = { ...request, ...counted, streams: sources, wholeUntilMs }
  const result = await runAggregate(task, signal)
  const elapsedMs = performance.now() - startMs
  const shortfall = missesPaths(queries, sources) ? UNLEARNED : undefined
  const honesty = { asOfMs: counted.asOfMs, nowMs: nowMs(), ...(shortfall && { shortfall }) }
  return aggregateJson(request, result, honesty, elapsedMs)
}
