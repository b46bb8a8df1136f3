/**
 * The part of the composition root that builds the use cases of reading: what surfaces of reading,
 * routes and tools of agents alike, are made of.
 */

import type { WaitingSegments } from '../materialize/waiting-segments.ts'
import type { DamagedRead, RecordFormat, SegmentRead } from '../model/batch/segment-read.ts'
import type { ReviewRequest } from '../model/redact/redaction.ts'
import type { WorkerPool } from '../pool/pool.ts'
import { createLanes, ingestIsBusy, type Lanes } from '../read/lanes.ts'
import type { PreviewRedaction } from '../read/redact-preview.ts'
import type { SearchDeps } from '../read/search/search.ts'
import { storeSources } from '../read/search/store-sources.ts'
import type { ControlStore } from '../store/control/control-store.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Context } from './context.ts'
import type { ReadStores } from './read-stores.ts'

/** Damaged segments that the log has named; past it they are named again. */
const REPORTED_MAX = 1_024

interface ReadingParts {
  readonly reads: ReadStores
  readonly waiting: WaitingSegments
  readonly isClickHouseEmbedded: boolean
  readonly pool: WorkerPool
  /** In the lane of reads. */
  readonly streams: ControlStore
}

export type Reading = ReturnType<typeof createReading>

export function createReading(context: Pick<Context, 'log' | 'metrics'>, parts: ReadingParts) {
  const { reads, pool, streams, isClickHouseEmbedded } = parts
  const lanes = createLanes(() => pool.ingestLoad, isClickHouseEmbedded)
  watchLanes(context.metrics, lanes)
  const { renderRecords, reviewSegments } = recordReaders(context, pool)
  const preview: PreviewRedaction = async (sample, redactFields) =>
    (await pool.run({ kind: 'preview', sample, redactFields })).preview
  return {
    ...reads,
    lanes,
    streams,
    nowMs: Date.now,
    search: createSearch(context, parts, renderRecords),
    readSegments: renderRecords,
    preview,
    reviewSegments,
    shouldYieldToIngest: () => ingestIsBusy(pool.ingestLoad),
  }
}

function createSearch(
  { metrics }: Pick<Context, 'metrics'>,
  { reads, waiting, pool }: Pick<ReadingParts, 'reads' | 'waiting' | 'pool'>,
  renderRecords: SearchDeps['renderRecords'],
): SearchDeps {
  const { events, pending, ids, openStreams } = reads
  const readPayloads = events.readPayloads.bind(events)
  const searched = metrics.tally(
    'ingest_search_waiting_segments_total',
    'Segments that were not projected when a search came to them',
    'result',
    ['read', 'passed_over'],
  )
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
        searched.add('read', read)
        searched.add('passed_over', passedOver)
      },
      listSegmentsOf: (streamIds, range) => events.listSegmentsOf(streamIds, range),
      findIds: (question, signal) => ids.find(question, signal),
      findTimed: (question, signal) => ids.findTimed(question, signal),
      match: (task, signal) => pool.run(task, signal),
    }),
  }
}

/** Events of damaged segments are left out of what is read: an operator must hear of it. */
function recordReaders({ metrics, log }: Pick<Context, 'metrics' | 'log'>, pool: WorkerPool) {
  const left = metrics.counter('ingest_damaged_reads_total', 'Damaged segments left out')
  const told = new Set<string>()
  const tell = (reads: readonly SegmentRead[], damaged: readonly DamagedRead[]) => {
    for (const { index, reason } of damaged) {
      const { segmentId } = reads[index]!
      left.inc()
      if (told.has(segmentId)) continue
      if (told.size >= REPORTED_MAX) told.clear()
      told.add(segmentId)
      log.error({ segmentId, reason }, 'a stored segment is damaged: its events are not shown')
    }
  }
  const renderRecords = async (reads: readonly SegmentRead[], format?: RecordFormat) => {
    const { json, damaged } = await pool.run({ kind: 'read', reads, ...(format && { format }) })
    tell(reads, damaged)
    return { json, damaged }
  }
  const reviewSegments = async (request: ReviewRequest, signal: AbortSignal) => {
    const { reviewed } = await pool.run({ kind: 'review', ...request }, signal)
    tell(request.reads, reviewed.damaged)
    return reviewed
  }
  return { renderRecords, reviewSegments }
}

/** What runs, waits and is refused in the lanes. */
function watchLanes(metrics: Metrics, lanes: Lanes): void {
  const all = Object.entries(lanes) as [keyof Lanes, Lanes[keyof Lanes]][]
  const running = ['ingest_lane_running', 'Requests to read and to manage that run'] as const
  const waiting = ['ingest_lane_waiting', 'Requests that wait for their turn in a lane'] as const
  const refused = [
    'ingest_lane_refused_total',
    'Requests refused because too many waited or they had waited for too long',
  ] as const
  metrics.watch('gauge', running, ['lane'], () => all.map(([lane, of]) => [{ lane }, of.running]))
  metrics.watch('gauge', waiting, ['lane'], () => all.map(([lane, of]) => [{ lane }, of.waiting]))
  metrics.watch('counter', refused, ['reason', 'lane'], () =>
    all.flatMap(([lane, of]) =>
      Object.entries(of.refused).map(([reason, count]) => [{ reason, lane }, count] as const),
    ),
  )
}
