/** The part of the composition root that builds the read side and management. */

import type { CredentialCache } from './accept/admission/authenticate.ts'
import { createAgentRoutes } from './app-agents.ts'
import { createSearch } from './app-search.ts'
import type { ReadStores } from './cell/read-stores.ts'
import type { WaitingSegments } from './cell/waiting-segments.ts'
import { BodyBudget } from './http/body-budget.ts'
import type { Route } from './http/exchange.ts'
import type { IngestEvents } from './model/batch/agent-events.ts'
import type { DamagedRead, RecordFormat, SegmentRead } from './model/batch/segment-read.ts'
import type { ReviewRequest } from './model/redaction-review.ts'
import type { WorkerPool } from './pool/pool.ts'
import type { StreamSource } from './read/find-streams.ts'
import type { StreamFinder } from './serve/guard.ts'
import { createLanes, isBusy } from './serve/lanes.ts'
import { readingRoutes } from './serve/reading/routes.ts'
import { tailRoutes } from './serve/reading/tail.ts'
import type { PreviewRedaction } from './serve/redact-preview.ts'
import { serveRoutes } from './serve/routes.ts'
import type { ControlStore } from './store/control/control-store.ts'
import type { ViewStore } from './store/control/view-store.ts'
import type { TailHub } from './tail/tail-hub.ts'
import type { Log } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'

/** Damaged segments that the log has named; past it they are named again. */
const TOLD_MAX = 1_024

export function createServeRoutes(parts: {
  readonly log: Log
  readonly reads: ReadStores
  readonly waiting: WaitingSegments
  readonly isClickHouseEmbedded: boolean
  readonly pool: WorkerPool
  readonly control: ControlStore
  /** In the lane of reads. */
  readonly streams: StreamFinder & StreamSource
  readonly credentials: CredentialCache
  readonly metrics: Metrics
  readonly tails: TailHub
  readonly ingestByAgent: IngestEvents
  readonly views: ViewStore
}): Route[] {
  const { reads, isClickHouseEmbedded, pool, control, streams, credentials } = parts
  const { metrics, tails, views } = parts
  const isIngestBusy = () => isBusy(pool.ingestLoad)
  const lanes = createLanes(() => pool.ingestLoad, isClickHouseEmbedded)
  metrics.watchLanes(lanes)
  const bodies = new BodyBudget()
  metrics.watch('restBodyBytes', () => bodies.bytes)
  const readers = segmentReaders(parts)
  const guard = { resolveToken: (text: string) => credentials.resolveToken(text), bodies }
  const previewRedaction: PreviewRedaction = async (sample, redactFields) =>
    (await pool.run({ kind: 'preview', sample, redactFields })).preview
  const managed = serveRoutes({
    ...reads,
    ...readers,
    ...guard,
    lanes,
    control,
    streams,
    isIngestBusy,
    previewRedaction,
  })
  const search = createSearch({ ...parts, renderRecords: readers.readSegments })
  const { openStreams, runAggregate, runFacets, explainIds, topValues } = reads
  const counting = { openStreams, runAggregate, runFacets, nowMs: Date.now }
  const input = { ...search, explainIds, topValues }
  return [
    ...managed,
    ...readingRoutes({ ...guard, ...counting, search, input, views, lane: lanes.queries, streams }),
    ...tailRoutes({ ...guard, lane: lanes.lists, streams, tails }),
    ...createAgentRoutes({
      ...parts,
      ...counting,
      search,
      guard,
      lanes,
      readSegments: readers.readSegments,
      previewRedaction,
    }),
  ]
}

/** Events of damaged segments are left out of what is read: an operator must hear of it. */
function segmentReaders({
  pool,
  metrics,
  log,
}: Pick<Parameters<typeof createServeRoutes>[0], 'pool' | 'metrics' | 'log'>) {
  const told = new Set<string>()
  const tell = (reads: readonly SegmentRead[], damaged: readonly DamagedRead[]) => {
    for (const { index, reason } of damaged) {
      const { segmentId } = reads[index]!
      metrics.damagedReads.inc()
      if (told.has(segmentId)) continue
      if (told.size >= TOLD_MAX) told.clear()
      told.add(segmentId)
      log.error({ segmentId, reason }, 'a stored segment is damaged: its events are not shown')
    }
  }
  const readSegments = async (reads: readonly SegmentRead[], format?: RecordFormat) => {
    const { json, damaged } = await pool.run({ kind: 'read', reads, ...(format && { format }) })
    tell(reads, damaged)
    return { json, damaged }
  }
  const reviewSegments = async (request: ReviewRequest, signal: AbortSignal) => {
    const { reviewed } = await pool.run({ kind: 'review', ...request }, signal)
    tell(request.reads, reviewed.damaged)
    return reviewed
  }
  return { readSegments, reviewSegments }
}
