/** The follower that brings committed segments into the projection. */
import { type MaterializeObserver, Materializer } from '../materialize/materializer.ts'
import { Rebuilds } from '../materialize/rebuilds.ts'
import { TableNeedsStore } from '../store/catalog/table-needs-store.ts'
import { ProjectionStore } from '../store/projection/projection-store.ts'
import { SetAsideStore } from '../store/raw/set-aside-store.ts'
import { materializeObserver, projectionStalls, tableErrors } from '../telemetry/observers.ts'
import type { CellContext, NodeNumber } from './cell-context.ts'

export function materializeFollower(
  cell: CellContext,
): (number: NodeNumber) => Promise<Materializer> {
  const { stores, log, metrics, health, waiting } = cell
  const store = new SetAsideStore(stores.postgres)
  const stallReporter = projectionStalls(metrics, log, health)
  const setAside = new Map<NodeNumber, number>()
  metrics.watch('segmentsSetAside', () => [...setAside.values()].reduce((a, b) => a + b, 0))
  return async (number) => {
    const materializer = await createMaterializer(cell, number, {
      setAside: store,
      observer: { ...materializeObserver(metrics, log), onStall: stallReporter() },
      onSetAsideCount: (segments) => setAside.set(number, segments),
    })
    waiting.add(number.lease.nodeId, materializer)
    if (number.isOwn) {
      metrics.watch('materializeBufferBytes', () => materializer.bufferBytes)
      metrics.watch('laggingStreams', () => materializer.lagging)
      metrics.watch('projectionLagSeconds', () => {
        const oldest = materializer.oldestPendingMs
        return oldest === undefined ? 0 : Math.max(0, (Date.now() - oldest) / 1000)
      })
    }
    return materializer
  }
}

async function createMaterializer(
  { config, stores, streams, buffers, pool, log }: CellContext,
  { lease, checkpoints }: NodeNumber,
  parts: {
    readonly setAside: SetAsideStore
    readonly observer: MaterializeObserver
    readonly onSetAsideCount: (segments: number) => void
  },
): Promise<Materializer> {
  const { nodeId } = lease
  const { setAside } = parts
  const checkpoint = await checkpoints.read()
  await setAside.forgetAfter(nodeId, checkpoint)
  const needs = new TableNeedsStore(stores.writes.postgres, streams)
  const projection = new ProjectionStore(stores.writes.clickhouse, lease, {
    assertSame: () => stores.projection.assertSame(),
    readNeeds: (streamId) => needs.readOne(streamId),
    onFormError: tableErrors(log),
  })
  const rebuilds = new Rebuilds(async (streamId, segments) => {
    const replayed = await pool.run({ kind: 'replay', streamId, segments })
    return replayed.segments.map(({ block }) => block)
  })
  return new Materializer({
    stores: {
      readAfter: (...whose) => checkpoints.readAfter(...whose),
      writeCheckpoint: (segmentId, live) => checkpoints.write(segmentId, live),
      settleInserts: () => projection.settleInserts(),
      findPresent: (segments) => projection.findPresent(segments),
      tryOpenSpool: (streamId) => projection.tryOpenSpool(streamId),
      insert: (streamId, blocks, rows) => projection.insert(streamId, blocks, rows),
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
