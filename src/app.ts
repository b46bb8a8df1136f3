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
import { CredentialCache } from './accept/admission/authenticate.ts'
import {
  elasticFallback,
  elasticProbeRoutes,
  refusalByPath,
} from './accept/surfaces/elastic-probes.ts'
import { startCommitter, startMaterializer } from './app-commit.ts'
import type { Context } from './app-context.ts'
import { listenHttp } from './app-http.ts'
import { startIngest } from './app-ingest.ts'
import { startObserver } from './app-observe.ts'
import { startRetainer, startStorageCaps } from './app-retain.ts'
import { createServeRoutes } from './app-serve.ts'
import { openStores, type StoreName } from './app-stores.ts'
import { BatchBuffers } from './bytes/batch-buffers.ts'
import type { Config } from './config.ts'
import { loadEngine } from './http/load-engine.ts'
import { createServer } from './http/server.ts'
import { BATCH_BYTES_TARGET, BUFFERS_IDLE_MS } from './limits.ts'
import { type DataDirectory, openDataDirectory } from './machine/data-directory.ts'
import { WorkerPool } from './pool/pool.ts'
import { quarantineTask } from './pool/quarantine.ts'
import { ControlStore } from './store/control/control-store.ts'
import { CredentialStore } from './store/control/credential-store.ts'
import { UsageStore } from './store/raw/usage-store.ts'
import { Health } from './telemetry/health.ts'
import type { Log } from './telemetry/log.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
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
const DRAIN_POLL_MS = 20
const HEALTH_CHECK_MS = 2_000

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
  const directory = await openDataDirectory(config.dataDir, log)
  stoppers.push(() => directory.close())
  const { engine, notLoaded } = loadEngine()
  log.info({ engine: engine.name, engineVersion: engine.version, notLoaded }, 'http engine')
  const metrics = createMetrics({ version, engine: `${engine.name} ${engine.version}` })
  const context = await openContext(config, log, events, { directory, metrics, stoppers })

  const { stores } = context
  const control = new ControlStore(stores.postgres, (change) => credentials.forget(change))
  const credentials = new CredentialCache({
    source: new CredentialStore(stores.postgres, (count) => {
      metrics.credentialLookups.inc(count)
      metrics.credentialQueries.inc()
    }),
  })
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
    ...createServeRoutes({ stores, pool, control, credentials, metrics, log }),
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
  metrics.watch('replyBytes', () => server.replyBytes)
  const port = await listenHttp(context, server)
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
  health.declare('clock', 'required')
  health.declare('projection', 'degraded')
  const onLeaseLost = () => {
    const reason = 'the node number belongs to another process'
    metrics.nodeLeaseLost.inc()
    onFatal(reason)
  }
  const onFatal = (reason: string) => {
    health.fail(reason)
    events.onFatal(reason)
  }
  const stores = await openStores({
    directory,
    postgresUrl: config.postgresUrl,
    clickhouseUrl: config.clickhouseUrl,
    mayRebuild: config.rebuildProjection,
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
  return { config, log, metrics, health, stores, buffers, stoppers, onLeaseLost, onFatal }
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

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
