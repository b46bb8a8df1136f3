/** The part of the composition root that builds the read side and management. */

import type { CredentialCache } from './accept/admission/authenticate.ts'
import type { Stores } from './app-stores.ts'
import { BodyBudget } from './http/body-budget.ts'
import type { Route } from './http/exchange.ts'
import type { DamagedRead, SegmentRead } from './model/batch.ts'
import type { ReviewRequest } from './model/redaction-review.ts'
import type { StreamId } from './model/stream.ts'
import type { WorkerPool } from './pool/pool.ts'
import { createLanes, isBusy } from './serve/lanes.ts'
import { serveRoutes } from './serve/routes.ts'
import { SchemaStore } from './store/catalog/schema-store.ts'
import { ControlStore } from './store/control/control-store.ts'
import { FieldStatsStore } from './store/projection/field-stats-store.ts'
import { PROJECTION_DATABASE } from './store/projection/projection-store.ts'
import { QueryStore } from './store/projection/query-store.ts'
import { EventStore } from './store/raw/event-store.ts'
import { SetAsideStore } from './store/raw/set-aside-store.ts'
import { StorageStore } from './store/raw/storage-store.ts'
import { UsageStore } from './store/raw/usage-store.ts'
import type { Log } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'

/** Damaged segments that the log has named; past it they are named again. */
const TOLD_MAX = 1_024

export function createServeRoutes(parts: {
  readonly log: Log
  readonly stores: Stores
  readonly pool: WorkerPool
  readonly control: ControlStore
  readonly credentials: CredentialCache
  readonly metrics: Metrics
}): Route[] {
  const { stores, pool, control, credentials, metrics } = parts
  const { postgres, clickhouse } = stores.reads
  const storage = new StorageStore(postgres)
  const readRemovedBefore = (streamId: StreamId) => storage.readRemovedBefore(streamId)
  // Sizes are asked for seldom and told at once: they need not wait behind queries.
  const sizes = new QueryStore(stores.clickhouse, PROJECTION_DATABASE, readRemovedBefore)
  const isIngestBusy = () => isBusy(pool.ingestLoad)
  const lanes = createLanes(isIngestBusy, stores.isClickHouseEmbedded)
  metrics.watchLanes(lanes)
  const bodies = new BodyBudget()
  metrics.watch('restBodyBytes', () => bodies.bytes)
  return serveRoutes({
    lanes,
    bodies,
    resolveToken: (text) => credentials.resolveToken(text),
    control,
    // It only reads here: what changes streams is `control`.
    streams: new ControlStore(postgres, () => undefined),
    usage: new UsageStore(postgres),
    setAside: new SetAsideStore(postgres),
    events: new EventStore(postgres),
    query: new QueryStore(clickhouse, PROJECTION_DATABASE, readRemovedBefore),
    readProjectionBytes: sizes.readProjectionBytes,
    schemas: new SchemaStore(postgres),
    fieldStats: new FieldStatsStore(clickhouse, PROJECTION_DATABASE, readRemovedBefore),
    ...segmentReaders(parts),
    isIngestBusy,
    previewRedaction: async (sample, redactFields) =>
      (await pool.run({ kind: 'preview', sample, redactFields })).preview,
  })
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
  const readSegments = async (reads: readonly SegmentRead[]) => {
    const { json, damaged } = await pool.run({ kind: 'read', reads })
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
