/**
 * The composition root: builds every stage, wires them in pipeline order, stops them in reverse.
 *
 *   http ─ accept ─ batcher ─▶ pool (workers: decode ▶ transform ▶ encode) ─▶ commit ─▶ acknowledge
 *                                                                              │
 *                                             materialize (ClickHouse) ◀───────┘   serve reads both
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CredentialCache } from './accept/authenticate.ts'
import { Batcher } from './accept/batcher.ts'
import { bulkRoutes } from './accept/bulk.ts'
import { elasticFallback, elasticProbeRoutes, refusalByPath } from './accept/elastic-probes.ts'
import { InFlight } from './accept/in-flight.ts'
import type { IngestDeps } from './accept/ingest-handler.ts'
import { nativeIngestRoutes } from './accept/native.ts'
import { otlpRoutes } from './accept/otlp.ts'
import { Refusals } from './accept/refusals.ts'
import { createBudgets, startObserver } from './app-observe.ts'
import { startRetainer, startStorageCaps } from './app-retain.ts'
import { createServeRoutes } from './app-serve.ts'
import { BatchBuffers } from './bytes/batch-buffers.ts'
import { Committer } from './commit/committer.ts'
import { createRawStoreWriter } from './commit/raw-store-writer.ts'
import type { Config } from './config.ts'
import { loadEngine } from './http/engine.ts'
import type { Route } from './http/exchange.ts'
import { createServer } from './http/server.ts'
import { BATCH_BYTES_TARGET, BUFFERS_IDLE_MS } from './limits.ts'
import { Materializer } from './materialize/materializer.ts'
import type { EncodedBatch } from './model/batch.ts'
import { SegmentIdGenerator } from './model/segment-id.ts'
import type { Observer } from './observe/observer.ts'
import { WorkerPool } from './pool/pool.ts'
import { quarantineTask } from './pool/quarantine.ts'
import type { StorageCaps } from './retain/storage-caps.ts'
import { CheckpointStore } from './store/checkpoint-store.ts'
import { ControlStore } from './store/control-store.ts'
import { type DataDirectory, openDataDirectory } from './store/data-directory.ts'
import { IdempotencyStore } from './store/idempotency-store.ts'
import { openStores, type StoreName, type Stores } from './store/open-stores.ts'
import { ProjectionStore } from './store/projection-store.ts'
import { SegmentStore } from './store/segment-store.ts'
import { UsageStore } from './store/usage-store.ts'
import { Health } from './telemetry/health.ts'
import type { Log } from './telemetry/log.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import { commitObserver, ingestMeter, materializeObserver } from './telemetry/observers.ts'
import { createTelemetryRoutes } from './telemetry/routes.ts'
import { version } from './version.ts'

export interface App {
  readonly baseUrl: string
  /** The first admin token, when this start created it. */
  readonly adminToken: string | undefined
  /** Where the token is kept; absent when another node created it. */
  readonly tokenFile: string
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
const HEALTH_CHECK_MS = 2_000

/** What the parts of one running service share. */
export interface Context {
  readonly config: Config
  readonly log: Log
  readonly metrics: Metrics
  readonly health: Health
  readonly stores: Stores
  readonly buffers: BatchBuffers
  /** Ends parts of the service, the last one first. */
  readonly stoppers: (() => unknown)[]
  readonly onLeaseLost: () => void
}

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
    return await start(config, log, events, { stoppers, stopAll })
  } catch (cause) {
    await stopAll()
    throw cause
  }
}

async function start(
  config: Config,
  log: Log,
  events: AppEvents,
  { stoppers, stopAll }: { stoppers: (() => unknown)[]; stopAll: () => Promise<void> },
): Promise<App> {
  const directory = await openDataDirectory(config.dataDir)
  stoppers.push(() => directory.close())
  const engine = loadEngine()
  log.info({ engine: engine.name, engineVersion: engine.version }, 'http engine')
  const metrics = createMetrics({ version, engine: `${engine.name} ${engine.version}` })
  const context = await openContext(config, log, events, { directory, metrics, stoppers })

  const { stores } = context
  const control = new ControlStore(stores.postgres, () => credentials.invalidate())
  const credentials = new CredentialCache({ source: control })
  credentials.start()
  stoppers.push(() => credentials.stop())
  const pool = startPool(context, directory.path)
  const materializer = await startMaterializer(context, pool)
  const observer = await startObserver(context, pool)
  const committer = await startCommitter(context, { pool, materializer, observer })
  startRetainer(context, pool)
  const caps = await startStorageCaps(context)
  const usage = new UsageStore(stores.postgres)
  const state = { isStopping: false }
  const routes = [
    ...startIngest(context, { pool, committer, credentials, usage, caps, state }),
    ...createServeRoutes({ stores, pool, control, credentials, usage }),
    ...elasticProbeRoutes(credentials),
    ...createTelemetryRoutes(context.health, metrics),
  ]
  const tokenFile = join(directory.path, 'admin-token')
  const adminToken = await control.ensureAdminToken((text) => {
    writeFileSync(tokenFile, `${text}\n`, { mode: 0o600 })
  })
  const server = createServer({
    routes,
    fallback: elasticFallback(credentials),
    refusal: refusalByPath,
    engine,
    ...(config.tls && { tls: config.tls }),
    onError: (error, exchange) => log.error({ err: error, path: exchange.path }, 'request failed'),
  })
  const port = await server.listen(config.host, config.port)
  stoppers.push(() => server.close())
  return {
    baseUrl: `${config.tls ? 'https' : 'http'}://${urlHost(config.host)}:${port}`,
    adminToken,
    tokenFile,
    dataPath: directory.path,
    stop: async () => {
      if (state.isStopping) return
      state.isStopping = true
      context.health.stop()
      server.stopListening()
      const deadline = performance.now() + config.drainTimeoutMs
      while (server.activeRequests > 0 && performance.now() < deadline) await sleep(DRAIN_POLL_MS)
      await stopAll()
    },
  }
}

/** Opens the stores and watches them. */
async function openContext(
  config: Config,
  log: Log,
  events: AppEvents,
  parts: { directory: DataDirectory; metrics: Metrics; stoppers: (() => unknown)[] },
): Promise<Context> {
  const { directory, metrics, stoppers } = parts
  const health = new Health()
  health.declare('postgres', 'required')
  health.declare('clickhouse', 'degraded')
  const onLeaseLost = () => {
    const reason = 'the node number belongs to another process'
    metrics.nodeLeaseLost.inc()
    health.fail(reason)
    events.onFatal(reason)
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
  const checks = [
    watchStore('postgres', () => stores.postgres.ping(), health),
    watchStore('clickhouse', () => stores.clickhouse.ping(), health),
  ]
  stoppers.push(...checks.map((timer) => () => clearInterval(timer)))
  const buffers = new BatchBuffers(BATCH_BYTES_TARGET)
  const trim = setInterval(() => buffers.trim(), BUFFERS_IDLE_MS).unref()
  stoppers.push(() => clearInterval(trim))
  return { config, log, metrics, health, stores, buffers, stoppers, onLeaseLost }
}

/** Asks a store now and then whether it answers: an external one tells nobody that it went away. */
function watchStore(name: StoreName, ping: () => Promise<void>, health: Health): NodeJS.Timeout {
  health.report(name)
  let isAsking = false
  const timer = setInterval(() => {
    if (isAsking) return
    isAsking = true
    ping()
      .then(
        () => health.report(name),
        () => health.report(name, 'it does not answer'),
      )
      .finally(() => {
        isAsking = false
      })
  }, HEALTH_CHECK_MS)
  return timer.unref()
}

function startPool({ config, log, metrics, stoppers }: Context, dataPath: string): WorkerPool {
  const pool = new WorkerPool({
    workerFile: WORKER_FILE,
    threads: config.workers,
    quarantine: (task, reason) => {
      if (task.kind === 'ingest' && (task.batch.owners?.length ?? 0) > 1) {
        // The batcher now tries its streams' batches by themselves: the bad one comes here again.
        log.error({ reason }, 'a batch of several streams killed its worker twice')
        return
      }
      metrics.quarantinedBatches.inc()
      const file = quarantineTask(join(dataPath, 'quarantine'), task, Date.now())
      log.error({ file, reason, kind: task.kind }, 'a batch killed its worker twice')
    },
    onTaskSeconds: (_kind, seconds) => metrics.workerTaskSeconds.observe(seconds),
  })
  stoppers.push(() => pool.stop())
  metrics.watch('poolQueueBatches', () => pool.queueLength)
  return pool
}

async function startCommitter(
  { stores, metrics, buffers, stoppers, onLeaseLost }: Context,
  parts: {
    readonly pool: WorkerPool
    readonly materializer: Materializer
    readonly observer: Observer
  },
): Promise<Committer> {
  const { pool, materializer, observer } = parts
  const segments = new SegmentStore(stores.postgres, stores.lease)
  stoppers.push(() => segments.stop())
  const committer = new Committer({
    store: createRawStoreWriter(segments, onLeaseLost),
    ids: await createIds(stores),
    forward: (group) => {
      materializer.add(group)
      observer.add(group)
    },
    observer: commitObserver(metrics),
    onUnforwarded: () => {
      materializer.resync()
      observer.resync()
    },
    release: (payload) => buffers.releaseView(payload),
    isMoreComing: () => pool.isIngestBusy,
  })
  stoppers.push(() => committer.stop())
  return committer
}

/** Accept and batcher; returns the routes of the ingest surfaces. */
function startIngest(
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
  const idempotency = new IdempotencyStore(stores.postgres, stores.lease)
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
      encodeInTurn: async (supply) => {
        const result = await pool.runInTurn(() => {
          const task = supply()
          return task && { kind: 'ingest', ...task }
        })
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

/** Ids go on above whatever this node has committed, even when the clock went back meanwhile. */
async function createIds(stores: Stores): Promise<SegmentIdGenerator> {
  const { nodeId } = stores.lease
  const checkpoints = new CheckpointStore(stores.postgres, nodeId)
  // The newest segment may have been removed since; the checkpoint remembers it.
  const [newest, checkpoint] = await Promise.all([checkpoints.readNewest(), checkpoints.read()])
  return new SegmentIdGenerator(nodeId, Date.now, newest > checkpoint ? newest : checkpoint)
}

async function startMaterializer(
  { config, stores, buffers, log, metrics, stoppers }: Context,
  pool: WorkerPool,
): Promise<Materializer> {
  const checkpoints = new CheckpointStore(stores.postgres, stores.lease.nodeId)
  const projection = new ProjectionStore(stores.clickhouse, stores.lease)
  const materializer = new Materializer({
    stores: {
      readAfter: (after, limit) => checkpoints.readAfter(after, limit),
      writeCheckpoint: (segmentId) => checkpoints.write(segmentId),
      settleInserts: () => projection.settleInserts(),
      findPresent: (segments) => projection.findPresent(segments),
      tryOpenSpool: (streamId) => projection.tryOpenSpool(streamId),
      insert: (streamId, blocks) => projection.insert(streamId, blocks),
      insertMixed: (blocks) => projection.insertMixed(blocks),
      rebuild: async ({ streamId, payload }, part) => {
        const task = { kind: 'replay', streamId, payload, ...(part && { part }) } as const
        const { segment } = await pool.run(task)
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
  stoppers.push(() => materializer.stop(config.drainTimeoutMs))
  return materializer
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
