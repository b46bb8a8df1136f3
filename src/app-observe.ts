/** Parts of the composition root: the observe stage, and the streams' budgets. */

import { Budgets } from './accept/admission/budgets.ts'
import type { Stores } from './app-stores.ts'
import type { Config } from './config.ts'
import type { MixedRun } from './model/mixed-runs.ts'
import { segmentIdNode } from './model/segment-id.ts'
import { Observer } from './observe/observer.ts'
import type { StoredSegment } from './observe/stored-segment.ts'
import type { WorkerPool } from './pool/pool.ts'
import { SchemaWriter } from './store/catalog/schema-writer.ts'
import { CheckpointStore, type CommittedRow } from './store/raw/checkpoint-store.ts'
import { EventStore } from './store/raw/event-store.ts'
import type { NodeLease } from './store/raw/node-lease.ts'
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

/**
 * Learns schemas from now on; ends with the service. Also from what is left of numbers that nothing
 * more is committed under.
 */
export async function startObserver(context: Context, pool: WorkerPool): Promise<Observer> {
  const { config, stores, metrics, stoppers } = context
  const start = async (lease: NodeLease) => {
    const observer = await createObserver(context, lease, pool)
    observer.start()
    stoppers.push(() => observer.stop(config.drainTimeoutMs))
    return observer
  }
  for (const left of stores.lease.leftBehind) await start(left)
  const observer = await start(stores.lease)
  metrics.watch('observeCacheBytes', () => observer.cacheBytes)
  return observer
}

async function createObserver(
  { stores, log, metrics }: Context,
  lease: NodeLease,
  pool: WorkerPool,
): Promise<Observer> {
  const checkpoints = new CheckpointStore(stores.postgres, lease.nodeId)
  const events = new EventStore(stores.writes.postgres)
  const writer = new SchemaWriter(stores.writes.postgres, lease)
  return new Observer({
    stores: {
      load: (streamIds) => writer.load(streamIds),
      write: (changes, checkpoint) => writer.write(changes, checkpoint),
      readAfter: async (after, limit) => {
        const rows = await checkpoints.readAfter(after, limit)
        return rows.flatMap((row) => segmentsOf(row, lease.nodeId))
      },
      readSegment: (streamId, segmentId) => events.readSegment(streamId, segmentId),
      readUndescribed: () => writer.readUndescribed(UNDESCRIBED_MAX),
      learn: async ({ streamId, payload, part }) => {
        const task = { kind: 'describe' as const, streamId, payload, ...(part && { part }) }
        return (await pool.run(task)).deltas
      },
    },
    observer: observeObserver(metrics, log),
    checkpoint: await writer.readCheckpoint(),
  })
}

/** This node's segments of a row: those of others in a merged row are for their nodes to count. */
export function segmentsOf(row: CommittedRow, nodeId: number): StoredSegment[] {
  if (row.runs !== undefined) return runsOf(row.payload, row.runs)
  if (row.members === undefined) return [row]
  const { streamId, segmentId: rowId, payload } = row
  const own: StoredSegment[] = []
  let first = 0
  for (const { segmentId, eventCount } of row.members) {
    const part = { first, counts: [eventCount] }
    if (segmentIdNode(segmentId) === nodeId) own.push({ streamId, segmentId, payload, part, rowId })
    first += eventCount
  }
  return own
}

/** All of one node. Rows after it are read on from the last run: nothing of it is told again. */
function runsOf(payload: Uint8Array, runs: readonly MixedRun[]): StoredSegment[] {
  let first = 0
  return runs.map(({ streamId, segmentId, eventCount }) => {
    const part = { first, counts: [eventCount] }
    first += eventCount
    return { streamId, segmentId, payload, part }
  })
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
