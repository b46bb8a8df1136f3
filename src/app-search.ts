/** The part of the composition root that builds search. */
import type { ReadStores } from './cell/read-stores.ts'
import type { WaitingSegments } from './cell/waiting-segments.ts'
import type { DamagedRead, RecordFormat, SegmentRead } from './model/batch/segment-read.ts'
import type { WorkerPool } from './pool/pool.ts'
import type { SearchDeps } from './read/search/search.ts'
import { storeSources } from './read/search/store-sources.ts'
import type { Metrics } from './telemetry/metrics.ts'

export function createSearch({
  reads,
  waiting,
  pool,
  metrics: { searchedSegments },
  renderRecords,
}: {
  readonly reads: ReadStores
  readonly waiting: WaitingSegments
  readonly pool: WorkerPool
  readonly metrics: Pick<Metrics, 'searchedSegments'>
  readonly renderRecords: (
    reads: readonly SegmentRead[],
    format?: RecordFormat,
  ) => Promise<{ readonly json: Uint8Array; readonly damaged: readonly DamagedRead[] }>
}): SearchDeps {
  const { events, pending, ids, openStreams } = reads
  const readPayloads = events.readPayloads.bind(events)
  return {
    nowMs: Date.now,
    openStreams: async (streams) => (await openStreams(streams)).sources,
    readPayloads,
    renderRecords,
    sources: storeSources({
      pending,
      readPayloads,
      prefilter: (literals) => waiting.prefilter(literals),
      onChosen: ({ read, passedOver }) => {
        searchedSegments.add('read', read)
        searchedSegments.add('passed_over', passedOver)
      },
      listSegmentsOf: (streamIds, range) => events.listSegmentsOf(streamIds, range),
      findIds: (question, signal) => ids.find(question, signal),
      match: (task, signal) => pool.run(task, signal),
    }),
  }
}
