/** The part of the composition root that builds accept: the ingest surfaces and their batcher. */
import type { CredentialCache } from '../accept/admission/authenticate.ts'
import { Budgets } from '../accept/admission/budgets.ts'
import { KeyUsage } from '../accept/admission/key-usage.ts'
import { RefusalHistory, type RefusalStore } from '../accept/admission/refusal-history.ts'
import { Refusals } from '../accept/admission/refusals.ts'
import { StorageCaps } from '../accept/admission/storage-caps.ts'
import { Batcher } from '../accept/batching/batcher.ts'
import { Cors } from '../accept/request/cors.ts'
import type { IngestDeps } from '../accept/request/ingest.ts'
import { preflightRoutes } from '../accept/request/preflight-routes.ts'
import { agentIngest } from '../accept/surfaces/agent/agent-ingest.ts'
import { SURFACES } from '../accept/surfaces/all-surfaces.ts'
import type { Route } from '../http/exchange.ts'
import { InFlight } from '../http/in-flight.ts'
import type { IngestEvents } from '../model/batch/agent-events.ts'
import type { StreamId } from '../model/stream.ts'
import type { WorkerPool } from '../pool/pool.ts'
import { streamNamed } from '../read/stream-named.ts'
import type { ControlStore } from '../store/control/control-store.ts'
import type { TailHub } from '../tail/tail-hub.ts'
import type { Cell } from './cell.ts'
import type { Context } from './context.ts'
import { batchCounter, ingestMeter, type StreamMeters } from './ingest-meter.ts'

/** Accept and batcher; returns the ingest surfaces. */
export async function startIngest(
  context: Context,
  parts: {
    readonly pool: WorkerPool
    readonly cell: Cell
    readonly credentials: CredentialCache
    readonly findKeyOwners: RefusalStore['findOwners']
    readonly control: ControlStore
    readonly isStopping: () => boolean
    readonly tails: Pick<TailHub, 'tailQueriesFor'>
  },
): Promise<{ readonly routes: Route[]; readonly ingestByAgent: IngestEvents }> {
  const { config, log, metrics, stoppers } = context
  const { cell, credentials, control, isStopping } = parts
  const { idempotency } = cell
  const caps = await startStorageCaps(context, cell)
  const inFlight = new InFlight(config.inFlightBytesMax)
  metrics.gauge(
    'ingest_in_flight_bytes',
    'Bytes received and not yet acknowledged',
    () => inFlight.bytes,
  )
  metrics.gauge(
    'ingest_in_flight_requests',
    'Requests received and not yet acknowledged',
    () => inFlight.requests,
  )
  const stopPurging = idempotency.startPurging((err) =>
    log.warn({ err }, 'old Idempotency-Keys could not be removed; will retry'),
  )
  stoppers.push(stopPurging)
  const deps: IngestDeps = {
    batcher: createBatcher(context, parts),
    inFlight,
    credentials,
    idempotency,
    meter: ingestMeter(metrics, streamMeters(context, parts)),
    checkStorage: (stream) => caps.check(stream),
    budgets: createBudgets(context, cell),
    isStopping,
    cors: config.corsOrigins === undefined ? undefined : new Cors(config.corsOrigins),
    onFault: (cause) => log.error({ err: cause }, 'an ingest request failed'),
  }
  const routes: Route[] = []
  const findStream = (id: StreamId) => control.findStream(id)
  const findOrMakeStream = (wanted: string) => {
    return streamNamed(control, wanted, ({ streamId, name }) => {
      log.info({ stream: streamId, name }, 'a stream was made, as an option names it')
    })
  }
  for (const open of SURFACES) {
    const surface = await open({ deps, config, log, metrics, findStream, findOrMakeStream })
    routes.push(...surface.routes)
    if (surface.stop !== undefined) stoppers.push(surface.stop)
  }
  if (deps.cors !== undefined) routes.push(...preflightRoutes(routes, deps.cors))
  return { routes, ingestByAgent: agentIngest(deps) }
}

/** Counters by stream, written a second later or some. */
function streamMeters(
  { stoppers }: Context,
  { cell, findKeyOwners }: Pick<Parameters<typeof startIngest>[1], 'cell' | 'findKeyOwners'>,
): StreamMeters {
  const { nodeId, usage, usageHistory } = cell
  const history = {
    record: (refused: Parameters<RefusalStore['record']>[0]) => {
      return usageHistory.recordRefusals(nodeId, refused)
    },
    findOwners: findKeyOwners,
  }
  const meters = {
    refusals: new Refusals((counts) => usage.recordRefusals(nodeId, counts), Date.now),
    rejects: new Refusals((counts) => usage.recordRejects(nodeId, counts), Date.now),
    history: new RefusalHistory(history, Date.now),
    keys: new KeyUsage((counts) => usageHistory.recordKeys(nodeId, counts), Date.now),
  }
  for (const meter of Object.values(meters)) stoppers.push(() => meter.stop())
  return meters
}

function createBatcher(
  { metrics, buffers }: Context,
  { pool, cell, tails }: Pick<Parameters<typeof startIngest>[1], 'pool' | 'cell' | 'tails'>,
): Batcher {
  const count = batchCounter(metrics)
  const batcher = new Batcher(
    {
      get hasIdleThread() {
        return pool.hasIdleThread
      },
      encode: async (batch, output) => {
        const task = {
          kind: 'ingest',
          batch,
          output,
          watched: tails.tailQueriesFor(batch),
        } as const
        return count((await pool.run(task)).batch)
      },
      encodeWhenIdle: async (makeTask, streamId) => {
        const result = await pool.runWhenIdle(() => {
          const task = makeTask()
          return task && { kind: 'ingest', ...task, watched: tails.tailQueriesFor(task.batch) }
        }, streamId)
        return result && count(result.batch)
      },
    },
    buffers,
    (streamId, segments, answer) => cell.committer.submit(streamId, segments, answer),
    Date.now,
  )
  pool.watchIdle(() => batcher.threadIdle())
  return batcher
}

async function startStorageCaps(
  { config, metrics, stoppers }: Context,
  { storage }: Cell,
): Promise<StorageCaps> {
  const caps = new StorageCaps({
    readState: (options) => storage.readState(options),
    storageBytesMax: config.storageBytesMax,
  })
  metrics.gauge(
    'ingest_storage_bytes',
    'Stored bytes of all streams in both stores; read only with --storage-max-bytes',
    () => caps.totalBytes,
  )
  metrics.gauge(
    'ingest_streams_over_cap',
    'Streams that refuse ingest for their size',
    () => caps.streamsOverCap,
  )
  await caps.start()
  stoppers.push(() => caps.stop())
  return caps
}

/** To be asked at the head of each request, and told what it used. */
function createBudgets({ config, metrics }: Context, { liveNodes }: Cell): Budgets {
  const { rateBudget, byteBudget } = config
  const nowMs = () => performance.now()
  const budgets = new Budgets({ rateBudget, byteBudget, liveNodes, nowMs })
  metrics.gauge('ingest_budget_streams', 'Streams whose budgets are in memory', () => budgets.size)
  metrics.gauge('ingest_live_nodes', 'Nodes that share the budgets of streams', liveNodes)
  return budgets
}
