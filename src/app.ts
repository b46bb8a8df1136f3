/**
 * The composition root: builds every stage, wires them in pipeline order, stops them in reverse.
 *
 *   http ─ accept ─ batcher ─▶ pool (workers: decode ▶ transform ▶ encode) ─▶ commit ─▶ acknowledge
 *                                                                              │
 *                                             materialize (ClickHouse) ◀───────┘   serve reads both
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CredentialCache } from './accept/authenticate.ts'
import { Batcher } from './accept/batcher.ts'
import { InFlight } from './accept/in-flight.ts'
import { nativeIngestRoutes } from './accept/native.ts'
import { Refusals } from './accept/refusals.ts'
import { Committer } from './commit/committer.ts'
import { createRawStoreWriter } from './commit/raw-store-writer.ts'
import type { Config } from './config.ts'
import type { Route } from './http/exchange.ts'
import { createServer } from './http/server.ts'
import { Materializer } from './materialize/materializer.ts'
import { SegmentIdGenerator } from './model/segment-id.ts'
import { BatchBuffers } from './pool/batch-buffers.ts'
import { WorkerPool } from './pool/pool.ts'
import { quarantineTask } from './pool/quarantine.ts'
import { serveRoutes } from './serve/routes.ts'
import { CheckpointStore } from './store/checkpoint-store.ts'
import { ControlStore } from './store/control-store.ts'
import { openDataDirectory } from './store/data-directory.ts'
import { EventStore } from './store/event-store.ts'
import { IdempotencyStore } from './store/idempotency-store.ts'
import { openStores, type Stores } from './store/open-stores.ts'
import { PROJECTION_DATABASE, ProjectionStore } from './store/projection-store.ts'
import { QueryStore } from './store/query-store.ts'
import { SegmentStore } from './store/segment-store.ts'
import { UsageStore } from './store/usage-store.ts'
import { Health } from './telemetry/health.ts'
import type { Log } from './telemetry/log.ts'
import { commitObserver, ingestMeter, materializeObserver } from './telemetry/observers.ts'
import { createMetrics } from './telemetry/metrics.ts'
import { createTelemetryRoutes } from './telemetry/routes.ts'
import { version } from './version.ts'

export interface App {
  readonly baseUrl: string
  /** The first admin token, when this start created it. */
  readonly adminToken: string | undefined
  readonly dataPath: string
  /** Acknowledges what was accepted, then stops everything. Safe to call twice. */
  stop(): Promise<void>
}

/** What happens outside the requests: to be logged, and in the end fatal. */
export interface AppEvents {
  /** This process can do no more good: stop it, so that it is started again. */
  readonly onFatal: (reason: string) => void
}

const WORKER_FILE = fileURLToPath(new URL('../workers/main.js', import.meta.url))
const IDEMPOTENCY_PURGE_MS = 60_000
const DRAIN_POLL_MS = 20

/** Starts the service. Rejects when it cannot; nothing is left running then. */
export async function startApp(config: Config, log: Log, events: AppEvents): Promise<App> {
  const stoppers: (() => unknown)[] = []
  const stopAll = async () => {
    for (const stopper of stoppers.splice(0).reverse()) {
      try {
        await stopper()
      } catch (cause) {
        log.error({ err: cause }, 'a part of the service did not stop cleanly')
      }
    }
  }
  try {
    return await start(config, log, events, stoppers, stopAll)
  } catch (cause) {
    await stopAll()
    throw cause
  }
}

async function start(
  config: Config,
  log: Log,
  events: AppEvents,
  stoppers: (() => unknown)[],
  stopAll: () => Promise<void>,
): Promise<App> {
  const directory = await openDataDirectory(config.dataDir)
  stoppers.push(() => directory.close())
  const health = new Health()
  health.declare('postgres', 'required')
  health.declare('clickhouse', 'degraded')
  const metrics = createMetrics({ version, engine: 'uWebSockets.js' })
  const onLeaseLost = () => {
    metrics.nodeLeaseLost.inc()
    health.fail('the node number belongs to another process')
    events.onFatal('the node number belongs to another process')
  }
  const stores = await openStores({
    directory,
    postgresUrl: config.postgresUrl,
    clickhouseUrl: config.clickhouseUrl,
    log,
    onStateChange: (store, state) => {
      health.report(store, state === 'running' ? undefined : state)
      if (state === 'restarting') metrics.storeRestarts.add(store)
    },
    onLeaseLost,
  })
  stoppers.push(() => stores.close())
  health.report('postgres')
  health.report('clickhouse')

  const control = new ControlStore(stores.postgres, () => credentials.invalidate())
  const credentials = new CredentialCache({ source: control })
  credentials.start()
  stoppers.push(() => credentials.stop())

  const pool = new WorkerPool({
    workerFile: WORKER_FILE,
    threads: config.workers,
    quarantine: (task, reason) => {
      metrics.quarantinedBatches.inc()
      const file = quarantineTask(join(directory.path, 'quarantine'), task, Date.now())
      log.error({ file, reason, kind: task.kind }, 'a batch killed its worker twice')
    },
    onTaskSeconds: (_kind, seconds) => metrics.workerTaskSeconds.observe(seconds),
  })
  stoppers.push(() => pool.stop())
  const buffers = new BatchBuffers()
  const materializer = await startMaterializer(config, stores, pool, buffers, log, metrics)
  stoppers.push(() => materializer.stop(config.drainTimeoutMs))
  const segments = new SegmentStore(stores.postgres, stores.lease)
  stoppers.push(() => segments.stop())
  const committer = new Committer({
    store: createRawStoreWriter(segments, onLeaseLost),
    ids: await createIds(stores),
    forward: (group) => materializer.add(group),
    observer: commitObserver(metrics),
    onUnforwarded: () => materializer.resync(),
    release: (payload) => buffers.releaseView(payload),
  })
  stoppers.push(() => committer.stop())

  const inFlight = new InFlight(config.inFlightBytesMax)
  const usage = new UsageStore(stores.postgres)
  const refusals = new Refusals(
    (counts) => usage.recordRefusals(stores.lease.nodeId, counts),
    Date.now,
  )
  stoppers.push(() => refusals.stop())
  const idempotency = new IdempotencyStore(stores.postgres, stores.lease)
  const purge = setInterval(() => void idempotency.purge().catch(() => 0), IDEMPOTENCY_PURGE_MS)
  stoppers.push(() => clearInterval(purge))
  let isStopping = false
  const batcher = new Batcher(
    {
      get hasIdleThread() {
        return pool.hasIdleThread
      },
      encode: async (batch, output) => {
        metrics.batches.inc()
        return (await pool.run({ kind: 'ingest', batch, output })).batch
      },
    },
    buffers,
    (streamId, encoded) => committer.submit(streamId, encoded),
    Date.now,
  )
  pool.watchIdle(() => batcher.threadIdle())
  metrics.watch('inFlightBytes', () => inFlight.bytes)
  metrics.watch('inFlightRequests', () => inFlight.requests)
  metrics.watch('poolQueueBatches', () => pool.queueLength)

  const routes: Route[] = [
    ...nativeIngestRoutes({
      batcher,
      inFlight,
      commit: (streamId, encoded, completion) => committer.submit(streamId, encoded, completion),
      credentials,
      idempotency,
      meter: ingestMeter(metrics, refusals),
      isStopping: () => isStopping,
    }),
    ...serveRoutes({
      credentials,
      control,
      usage,
      events: new EventStore(stores.postgres),
      query: new QueryStore(stores.clickhouse, PROJECTION_DATABASE),
      readSegments: async (reads) => (await pool.run({ kind: 'read', reads })).json,
    }),
    ...createTelemetryRoutes(health, metrics),
  ]
  const adminToken = await control.ensureAdminToken()
  const server = createServer({
    routes,
    ...(config.tls && { tls: config.tls }),
    onError: (error, exchange) => log.error({ err: error, path: exchange.path }, 'request failed'),
  })
  log.info({ engine: server.engine.name, engineVersion: server.engine.version }, 'http engine')
  const port = await server.listen(config.host, config.port)
  stoppers.push(() => server.close())

  return {
    baseUrl: `${config.tls ? 'https' : 'http'}://${urlHost(config.host)}:${port}`,
    adminToken,
    dataPath: directory.path,
    stop: async () => {
      if (isStopping) return
      isStopping = true
      health.stop()
      server.stopListening()
      const deadline = performance.now() + config.drainTimeoutMs
      while (server.activeRequests > 0 && performance.now() < deadline) await sleep(DRAIN_POLL_MS)
      await stopAll()
    },
  }
}

/** Ids go on above whatever this node has committed, even when the clock went back meanwhile. */
async function createIds(stores: Stores): Promise<SegmentIdGenerator> {
  const { nodeId } = stores.lease
  const checkpoints = new CheckpointStore(stores.postgres, nodeId)
  // The newest segment may have been removed since; the checkpoint remembers it.
  const [newest, checkpoint] = await Promise.all([checkpoints.readNewest(), checkpoints.read()])
  return new SegmentIdGenerator(nodeId, Date.now, newest > checkpoint ? newest : checkpoint)
}

async function startMaterializer(
  config: Config,
  stores: Stores,
  pool: WorkerPool,
  buffers: BatchBuffers,
  log: Log,
  metrics: ReturnType<typeof createMetrics>,
): Promise<Materializer> {
  const checkpoints = new CheckpointStore(stores.postgres, stores.lease.nodeId)
  const projection = new ProjectionStore(stores.clickhouse, stores.lease)
  const materializer = new Materializer({
    stores: {
      readAfter: (after, limit) => checkpoints.readAfter(after, limit),
      writeCheckpoint: (segmentId) => checkpoints.write(segmentId),
      settleInserts: () => projection.settleInserts(),
      findPresent: (streamId, ids) => projection.findPresent(streamId, ids),
      insert: (streamId, blocks) => projection.insert(streamId, blocks),
      rebuild: async ({ streamId, payload }) => {
        const { segment } = await pool.run({ kind: 'replay', streamId, payload })
        return segment.block
      },
    },
    observer: materializeObserver(metrics, log),
    checkpoint: await checkpoints.read(),
    delayMs: config.materializeDelayMs,
    release: (block) => buffers.releaseView(block),
  })
  metrics.watch('materializeBufferBytes', () => materializer.bufferBytes)
  metrics.watch('projectionLagSeconds', () => {
    const oldest = materializer.oldestPendingMs
    return oldest === undefined ? 0 : Math.max(0, (Date.now() - oldest) / 1000)
  })
  materializer.start()
  return materializer
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
