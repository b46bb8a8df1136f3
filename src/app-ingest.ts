/** The part of the composition root that builds accept: the ingest surfaces and their batcher. */
import type { CredentialCache } from './accept/admission/authenticate.ts'
import { Refusals } from './accept/admission/refusals.ts'
import type { StorageCaps } from './accept/admission/storage-caps.ts'
import { Batcher } from './accept/batching/batcher.ts'
import type { IngestDeps } from './accept/request/ingest-handler.ts'
import { bulkRoutes } from './accept/surfaces/bulk.ts'
import { nativeIngestRoutes } from './accept/surfaces/native.ts'
import { otlpRoutes } from './accept/surfaces/otlp.ts'
import type { Context } from './app-context.ts'
import { createBudgets } from './app-observe.ts'
import type { Committer } from './commit/committer.ts'
import type { Route } from './http/exchange.ts'
import { InFlight } from './http/in-flight.ts'
import type { EncodedBatch } from './model/batch.ts'
import type { WorkerPool } from './pool/pool.ts'
import { IdempotencyStore } from './store/raw/idempotency-store.ts'
import type { UsageStore } from './store/raw/usage-store.ts'
import { ingestMeter } from './telemetry/observers.ts'

const IDEMPOTENCY_PURGE_MS = 60_000

/** Accept and batcher; returns the routes of the ingest surfaces. */
export function startIngest(
  { config, stores, log, metrics, buffers, stoppers }: Context,
  parts: {
    readonly pool: WorkerPool
    readonly committer: Committer
    readonly credentials: CredentialCache
    readonly usage: UsageStore
    readonly caps: StorageCaps
    readonly state: { readonly isStopping: boolean }
  },
): Route[] {
  const { pool, committer, credentials, usage, caps, state } = parts
  const inFlight = new InFlight(config.inFlightBytesMax)
  metrics.watch('inFlightBytes', () => inFlight.bytes)
  metrics.watch('inFlightRequests', () => inFlight.requests)
  const { nodeId } = stores.lease
  const refusals = new Refusals((counts) => usage.recordRefusals(nodeId, counts), Date.now)
  stoppers.push(() => refusals.stop())
  const rejects = new Refusals((counts) => usage.recordRejects(nodeId, counts), Date.now)
  stoppers.push(() => rejects.stop())
  const idempotency = new IdempotencyStore(stores.writes.postgres, stores.lease)
  const purge = setInterval(() => void idempotency.purge().catch(() => 0), IDEMPOTENCY_PURGE_MS)
  stoppers.push(() => clearInterval(purge))
  const count = (encoded: EncodedBatch) => {
    metrics.batches.inc()
    metrics.countTransforms(encoded.transforms)
    for (const { pathsSkipped } of encoded.segments) {
      if (pathsSkipped > 0) metrics.projectionPathsSkipped.inc(pathsSkipped)
    }
    return encoded
  }
  const batcher = new Batcher(
    {
      get hasIdleThread() {
        return pool.hasIdleThread
      },
      encode: async (batch, output) => {
        return count((await pool.run({ kind: 'ingest', batch, output })).batch)
      },
      encodeInTurn: async (supply, streamId) => {
        const result = await pool.runInTurn(() => {
          const task = supply()
          return task && { kind: 'ingest', ...task }
        }, streamId)
        return result && count(result.batch)
      },
    },
    buffers,
    (streamId, encoded) => committer.submit(streamId, encoded),
    Date.now,
  )
  pool.watchIdle(() => batcher.threadIdle())
  const deps: IngestDeps = {
    batcher,
    inFlight,
    commit: (streamId, encoded, completion) => committer.submit(streamId, encoded, completion),
    credentials,
    idempotency,
    meter: ingestMeter(metrics, refusals, rejects),
    checkStorage: (stream) => caps.check(stream),
    budgets: createBudgets({ config, stores, metrics }),
    isStopping: () => state.isStopping,
    onFault: (cause) => log.error({ err: cause }, 'an ingest request failed'),
  }
  return [...nativeIngestRoutes(deps), ...bulkRoutes(deps), ...otlpRoutes(deps)]
}
