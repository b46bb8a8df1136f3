/** Parts of the composition root: the observe stage, and the streams' budgets. */
import { Budgets } from './accept/budgets.ts'
import type { Config } from './config.ts'
import { Observer } from './observe/observer.ts'
import type { WorkerPool } from './pool/pool.ts'
import { CheckpointStore } from './store/checkpoint-store.ts'
import { EventStore } from './store/event-store.ts'
import type { Stores } from './store/open-stores.ts'
import { SchemaWriter } from './store/schema-writer.ts'
import type { Log } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'
import { observeObserver } from './telemetry/observers.ts'

interface Context {
  readonly config: Config
  readonly log: Log
  readonly metrics: Metrics
  readonly stores: Stores
  readonly stoppers: (() => unknown)[]
}

/** How many shapes without a description a start looks up. */
const UNDESCRIBED_MAX = 1_000

/** Learns schemas from now on; ends with the service. */
export async function startObserver(
  { config, stores, log, metrics, stoppers }: Context,
  pool: WorkerPool,
): Promise<Observer> {
  const checkpoints = new CheckpointStore(stores.postgres, stores.lease.nodeId)
  const events = new EventStore(stores.postgres)
  const writer = new SchemaWriter(stores.postgres, stores.lease)
  const observer = new Observer({
    stores: {
      load: (streamIds) => writer.load(streamIds),
      write: (changes, checkpoint) => writer.write(changes, checkpoint),
      readAfter: (after, limit) => checkpoints.readAfter(after, limit),
      readPayload: async (streamId, segmentId) => {
        return (await events.readPayloads(streamId, [segmentId])).get(segmentId)
      },
      readUndescribed: () => writer.readUndescribed(UNDESCRIBED_MAX),
      learn: async ({ streamId, payload }) => {
        return (await pool.run({ kind: 'replay', streamId, payload })).segment.delta
      },
    },
    observer: observeObserver(metrics, log),
    checkpoint: await writer.readCheckpoint(),
  })
  metrics.watch('observeCacheBytes', () => observer.cacheBytes)
  observer.start()
  stoppers.push(() => observer.stop(config.drainTimeoutMs))
  return observer
}

/** To be asked at the head of each request, and told what it used. */
export function createBudgets({
  config,
  stores,
  metrics,
}: Pick<Context, 'config' | 'stores' | 'metrics'>): Budgets {
  const budgets = new Budgets({
    rateBudget: config.rateBudget,
    byteBudget: config.byteBudget,
    liveNodes: () => stores.lease.liveNodes,
    nowMs: () => performance.now(),
  })
  metrics.watch('budgetStreams', () => budgets.size)
  metrics.watch('liveNodes', () => stores.lease.liveNodes)
  return budgets
}
