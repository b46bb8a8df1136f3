/**
 * The composition root: builds every stage, wires them in pipeline order, stops them in reverse.
 *
 *   http ─ accept ─ batcher ─▶ pool (workers: decode ▶ transform ▶ encode) ─▶ cell ─▶ acknowledge
 *                                                                              │
 *                            commit ▶ followers, retain ◀──────────────────────┘   serve reads it
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { CredentialCache } from '../accept/admission/authenticate.ts'
import { elasticFallback, refusalByPath } from '../accept/surfaces/elastic/elastic-probes.ts'
import { BatchBuffers } from '../bytes/batch-buffers.ts'
import type { Config } from '../config.ts'
import { BodyBudget } from '../http/body-budget.ts'
import { describeRoutes } from '../http/describe-routes.ts'
import type { Guard } from '../http/guard.ts'
import { type LoadedEngine, loadEngine } from '../http/load-engine.ts'
import { assertCanListen } from '../http/probe-port.ts'
import { createServer } from '../http/server.ts'
import { BATCH_BYTES_TARGET } from '../limits.ts'
import { openDataDirectory } from '../machine/data-directory.ts'
import { WaitingSegments } from '../materialize/waiting-segments.ts'
import { WorkerPool } from '../pool/pool.ts'
import { quarantineIn } from '../pool/quarantine.ts'
import { prometheusRoutes } from '../prometheus/prometheus-routes.ts'
import { ingestNeedsAllCores } from '../read/lanes.ts'
import { serveRoutes } from '../serve/routes.ts'
import { parseSyslogAddresses } from '../syslog-address.ts'
import { Health } from '../telemetry/health.ts'
import type { Log } from '../telemetry/log.ts'
import { Metrics } from '../telemetry/metrics.ts'
import { ReadWatch } from '../telemetry/read-watch.ts'
import { createTelemetryRoutes } from '../telemetry/routes.ts'
import { version } from '../version.ts'
import { openCell } from './cell.ts'
import type { Context } from './context.ts'
import { createAgentRoutes } from './create-agents.ts'
import { createConsole } from './create-console.ts'
import { createElasticRoutes } from './create-elastic.ts'
import { createReading } from './create-reading.ts'
import { createSessions } from './create-sessions.ts'
import { createTails } from './create-tails.ts'
import { listenHttp } from './listen-http.ts'
import { openStores } from './open-stores.ts'
import { openReadStores } from './read-stores.ts'
import { startAlerts } from './start-alerts.ts'
import { startControl } from './start-control.ts'
import { startIngest } from './start-ingest.ts'
import { startPromoter } from './start-promoter.ts'

/** Buffers that were not used for this long are given up. */
export const BUFFERS_IDLE_MS = 15_000

export interface App {
  readonly baseUrl: string
  /** The first admin token, when this start created it. */
  readonly adminToken: string | undefined
  /** For the console, once; when this start created the token. */
  readonly signInCode: string | undefined
  /** Where the token is kept; absent when another node created it. */
  readonly tokenFile: string
  readonly dataPath: string
  /** Acknowledges what was accepted, then stops everything. Safe to call twice. */
  stop(): Promise<void>
}

/** What happens outside the requests: to be logged, and in the end fatal. */
export interface AppEvents {
  /** The data directory is ours and the port is free: what takes a while begins. */
  readonly onStarting: () => void
  /** This process can do no more good: stop it, so that it is started again. */
  readonly onFatal: (reason: string) => void
}

const WORKER_FILE = fileURLToPath(new URL('../../workers/main.js', import.meta.url))
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
    const loaded = loadEngine()
    const context = createContext(config, log, { events, stoppers, loaded })
    return await start(context, { ...loaded, ...events, stopAll })
  } catch (cause) {
    await stopAll()
    throw cause
  }
}

interface Starting extends LoadedEngine, AppEvents {
  readonly stopAll: () => Promise<void>
}

async function assertPortsFree({ host, port, otlpGrpcPort, syslog }: Config): Promise<void> {
  await assertCanListen(host, port)
  if (otlpGrpcPort !== undefined) {
    const options = '--host and --otlp-grpc-port (SLUICE_HOST, SLUICE_OTLP_GRPC_PORT)'
    await assertCanListen(host, otlpGrpcPort, options)
  }
  for (const { transport, host, port } of parseSyslogAddresses(syslog ?? [])) {
    if (transport !== 'udp') await assertCanListen(host, port, '--syslog (SLUICE_SYSLOG)')
  }
}

async function start(context: Context, { engine, onStarting, stopAll }: Starting): Promise<App> {
  const { config, log, metrics, health, stoppers } = context
  const directory = await openDataDirectory(config.dataDir, log)
  stoppers.push(() => directory.close())
  await assertPortsFree(config)
  onStarting()
  const stores = await openStores(context, directory)
  const plane = startControl(context, stores)
  const { control, credentials, streams } = plane
  const pool = startPool(context, directory.path)
  const waiting = new WaitingSegments()
  const watch = new ReadWatch({ metrics, health, log, nowMs: () => performance.now() })
  stoppers.push(watch.start())
  const shouldYieldToIngest = () => ingestNeedsAllCores(pool.ingestLoad)
  const reads = openReadStores(stores, { shouldYieldToIngest, waiting, watch })
  const tails = createTails(context, stores, { pool, streams: plane.streams, watch })
  const cellParts = { pool, streams: plane.directory, waiting, tails }
  const cell = await openCell(context, stores, cellParts)
  startPromoter(context, stores.postgres, cell.usage)
  const { isClickHouseEmbedded } = stores
  let isStopping = false
  const browsers = await createSessions(context, plane)
  const page = createConsole(control, browsers)
  const ingestParts = { ...plane, pool, cell, tails, isStopping: () => isStopping }
  const { routes: ingestRoutes, ingestByAgent } = await startIngest(context, ingestParts)
  const views = watch.watchAll('views', plane.views)
  const reading = createReading(context, { reads, waiting, isClickHouseEmbedded, pool, streams })
  const guard = createGuard(context, credentials)
  const alerts = startAlerts(context, stores, { reading, control, ingest: ingestByAgent })
  const routes = describeRoutes(version, [
    ...ingestRoutes,
    ...serveRoutes({ ...guard, ...browsers, ...reading, control, views, tails, alerts }),
    ...prometheusRoutes({ ...guard, lane: reading.lanes.lists, ...alerts }),
    ...createElasticRoutes(context, { guard, reading, credentials }),
    ...createAgentRoutes(context, { guard, reading, pool, tails, ingestByAgent, alerts }),
    ...createTelemetryRoutes(health, metrics),
    ...page.routes,
  ])
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
  const port = await listenHttp(context, server)
  return {
    baseUrl: `${config.tls ? 'https' : 'http'}://${urlHost(config.host)}:${port}`,
    adminToken,
    signInCode: adminToken && page.createCode(),
    tokenFile,
    dataPath: directory.path,
    stop: async () => {
      if (isStopping) return
      isStopping = true
      health.stop()
      const ending = tails.stop()
      server.stopListening()
      const deadline = performance.now() + config.drainTimeoutMs
      while (server.activeRequests > 0 && performance.now() < deadline) await sleep(DRAIN_POLL_MS)
      await ending
      await stopAll()
    },
  }
}

function createContext(
  config: Config,
  log: Log,
  parts: {
    readonly events: AppEvents
    readonly stoppers: (() => unknown)[]
    readonly loaded: LoadedEngine
  },
): Context {
  const { events, stoppers, loaded } = parts
  const { engine, notLoaded } = loaded
  log.info({ engine: engine.name, engineVersion: engine.version, notLoaded }, 'http engine')
  const metrics = new Metrics({ version, engine: `${engine.name} ${engine.version}` })
  const health = new Health()
  const buffers = new BatchBuffers(BATCH_BYTES_TARGET)
  const trim = setInterval(() => buffers.trim(), BUFFERS_IDLE_MS).unref()
  stoppers.push(() => clearInterval(trim))
  const onFatal = (reason: string) => {
    health.fail(reason)
    events.onFatal(reason)
  }
  return { config, log, metrics, health, buffers, stoppers, onFatal }
}

/** What requests to manage and to read have to pass. */
function createGuard({ metrics }: Context, credentials: CredentialCache): Guard {
  const bodies = new BodyBudget()
  metrics.gauge(
    'ingest_rest_body_bytes',
    'Bodies of management and queries, in memory',
    () => bodies.bytes,
  )
  return { resolveToken: (text) => credentials.resolveToken(text), bodies }
}

function startPool({ config, log, metrics, stoppers }: Context, dataPath: string): WorkerPool {
  const taskSeconds = metrics.histogram(
    'ingest_worker_task_seconds',
    'From handing a batch to a worker to its result',
  )
  const pool = new WorkerPool({
    workerFile: WORKER_FILE,
    threads: config.workers,
    quarantine: quarantineIn(join(dataPath, 'quarantine'), { log, metrics }),
    onTaskSeconds: (_kind, seconds) => taskSeconds.observe(seconds),
  })
  stoppers.push(() => pool.stop())
  metrics.gauge('ingest_pool_queue_batches', 'Batches waiting for a worker', () => pool.queueLength)
  return pool
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
