/** The part of the composition root that builds commit and materialize. */

import { watchClock } from './app-clock.ts'
import type { Context } from './app-context.ts'
import type { Stores } from './app-stores.ts'
import { Committer } from './commit/committer.ts'
import { createRawStoreWriter } from './commit/raw-store-writer.ts'
import { type MaterializeObserver, Materializer } from './materialize/materializer.ts'
import { Rebuilds } from './materialize/rebuilds.ts'
import { type SegmentId, SegmentIdGenerator } from './model/segment-id.ts'
import type { Observer } from './observe/observer.ts'
import type { WorkerPool } from './pool/pool.ts'
import { ProjectionStore } from './store/projection/projection-store.ts'
import { CheckpointStore } from './store/raw/checkpoint-store.ts'
import type { NodeLease } from './store/raw/node-lease.ts'
import { SegmentStore } from './store/raw/segment-store.ts'
import { SetAsideStore } from './store/raw/set-aside-store.ts'
import { commitObserver, materializeObserver, projectionStalls } from './telemetry/observers.ts'

export async function startCommitter(
  context: Context,
  parts: {
    readonly pool: WorkerPool
    readonly materializer: Materializer
    readonly observer: Observer
  },
): Promise<Committer> {
  const { stores, metrics, buffers, stoppers, onLeaseLost } = context
  const { pool, materializer, observer } = parts
  const segments = new SegmentStore(stores.writes.postgres, stores.lease)
  stoppers.push(() => segments.stop())
  const ids = await createIds(stores)
  watchClock(context, ids)
  const committer = new Committer({
    store: createRawStoreWriter(segments, onLeaseLost),
    ids,
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

/** Ids go on above whatever this node has committed, even when the clock went back meanwhile. */
async function createIds(stores: Stores): Promise<SegmentIdGenerator> {
  const { nodeId } = stores.lease
  const { clock } = stores
  const checkpoints = new CheckpointStore(stores.postgres, nodeId)
  // The newest segment may have been removed since; the checkpoint remembers it.
  const [newest, checkpoint] = await Promise.all([checkpoints.readNewest(), checkpoints.read()])
  const latestMs = () => clock.latestMs
  const nowMs = () => clock.nowMs
  return new SegmentIdGenerator(nodeId, nowMs, later(newest, checkpoint), latestMs)
}

function later(a: SegmentId, b: SegmentId): SegmentId {
  return a > b ? a : b
}

/** That of our number; with it those of numbers that nothing more is committed under. */
export async function startMaterializer(context: Context, pool: WorkerPool): Promise<Materializer> {
  const { config, stores, log, metrics, health, stoppers } = context
  const stallReporter = projectionStalls(metrics, log, health)
  const setAside = new Map<NodeLease, number>()
  const start = async (lease: NodeLease) => {
    const materializer = await createMaterializer(context, lease, {
      pool,
      observer: { ...materializeObserver(metrics, log), onStall: stallReporter() },
      onSetAsideCount: (segments) => setAside.set(lease, segments),
    })
    materializer.start()
    stoppers.push(() => materializer.stop(config.drainTimeoutMs))
    return materializer
  }
  for (const left of stores.lease.leftBehind) await start(left)
  const materializer = await start(stores.lease)
  metrics.watch('materializeBufferBytes', () => materializer.bufferBytes)
  metrics.watch('laggingStreams', () => materializer.lagging)
  metrics.watch('segmentsSetAside', () => [...setAside.values()].reduce((a, b) => a + b, 0))
  metrics.watch('projectionLagSeconds', () => {
    const oldest = materializer.oldestPendingMs
    return oldest === undefined ? 0 : Math.max(0, (Date.now() - oldest) / 1000)
  })
  return materializer
}

async function createMaterializer(
  { config, stores, buffers }: Context,
  lease: NodeLease,
  parts: {
    readonly pool: WorkerPool
    readonly observer: MaterializeObserver
    readonly onSetAsideCount: (segments: number) => void
  },
): Promise<Materializer> {
  const { nodeId } = lease
  const checkpoints = new CheckpointStore(stores.postgres, nodeId)
  const setAside = new SetAsideStore(stores.postgres)
  const checkpoint = await checkpoints.read()
  await setAside.forgetAfter(nodeId, checkpoint)
  const assertSame = () => stores.projection.assertSame()
  const projection = new ProjectionStore(stores.writes.clickhouse, lease, assertSame)
  const rebuilds = new Rebuilds(async (streamId, segments) => {
    const replayed = await parts.pool.run({ kind: 'replay', streamId, segments })
    return replayed.segments.map(({ block }) => block)
  })
  return new Materializer({
    stores: {
      readAfter: (after, limit, streamId) => checkpoints.readAfter(after, limit, streamId),
      writeCheckpoint: (segmentId) => checkpoints.write(segmentId),
      settleInserts: () => projection.settleInserts(),
      findPresent: (segments) => projection.findPresent(segments),
      tryOpenSpool: (streamId) => projection.tryOpenSpool(streamId),
      insert: (streamId, blocks) => projection.insert(streamId, blocks),
      insertMixed: (blocks) => projection.insertMixed(blocks),
      setAside: (segments) => setAside.record(nodeId, segments),
      readRetries: async () => {
        const { segments, retries } = await setAside.count(nodeId)
        parts.onSetAsideCount(segments)
        return retries === 0 ? [] : await setAside.readRetries(nodeId)
      },
      forgetSetAside: (segments) => setAside.remove(segments),
      rebuild: (segment, part) => rebuilds.rebuild(segment, part),
    },
    observer: parts.observer,
    checkpoint,
    delayMs: config.materializeDelayMs,
    release: (block) => buffers.releaseView(block),
  })
}
