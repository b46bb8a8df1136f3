import type { TimeBasis } from '../../model/aggregates.ts'
import type { Stream } from '../../model/stream.ts'
import { readAggregateRequest } from '../../read/aggregate/aggregate-request.ts'
import { countedFor } from '../../read/depends-on-catalog.ts'
import type { AskDeps } from './ask-windows.ts'

/** How many events the streams have of a range, whatever they are. Throws errors of queries. */
export async function countEvents(
  { openStreams, runAggregate }: AskDeps,
  asked: {
    readonly streams: readonly Stream[]
    readonly fromMs: number
    readonly endMs: number
    readonly timeBasis: TimeBasis
  },
  signal: AbortSignal,
): Promise<number> {
  const { fromMs, endMs, timeBasis } = asked
  const range = { from: new Date(fromMs).toISOString(), to: new Date(endMs).toISOString() }
  const request = readAggregateRequest({ ...range, time_basis: timeBasis }, endMs)
  const opened = await openStreams(asked.streams)
  const counted = countedFor([request.query], opened)
  const { total } = await runAggregate({ ...request, ...counted, streams: opened.sources }, signal)
  return Number(total)
}
