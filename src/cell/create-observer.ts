/** The follower that learns fields and shapes from committed segments. */
import { segmentIdNode } from '../model/segment-id.ts'
import type { LoadedRow } from '../model/stored-row.ts'
import { Observer } from '../observe/observer.ts'
import { SchemaWriter } from '../store/catalog/schema-writer.ts'
import { observeObserver } from '../telemetry/observers.ts'
import type { CellContext, NodeNumber } from './cell-context.ts'

/** How many shapes without a description are looked up at the start. */
const UNDESCRIBED_MAX = 1_000

export function observeFollower(cell: CellContext): (number: NodeNumber) => Promise<Observer> {
  return async (number) => {
    const observer = await createObserver(cell, number)
    if (number.isOwn) cell.metrics.watch('observeCacheBytes', () => observer.cacheBytes)
    return observer
  }
}

async function createObserver(
  { stores, streams, log, metrics, pool, events }: CellContext,
  { lease, checkpoints }: NodeNumber,
): Promise<Observer> {
  const writer = new SchemaWriter(stores.writes.postgres, streams, lease)
  return new Observer({
    stores: {
      load: (streamIds) => writer.load(streamIds),
      write: (changes, checkpoint) => writer.write(changes, checkpoint),
      readAfter: async (after, limit) => {
        const rows = await checkpoints.readAfter(after, limit)
        return rows.map((row) => ownSegments(row, lease.nodeId))
      },
      readSegment: async (key) => (await events.readPayloads([key])).get(key.segmentId),
      readUndescribed: () => writer.readUndescribed(UNDESCRIBED_MAX),
      learn: async (task) => (await pool.run({ kind: 'describe', ...task })).deltas,
    },
    observer: observeObserver(metrics, log),
    checkpoint: await writer.readCheckpoint(),
  })
}

/** The row with this node's segments only: other nodes count their own in a merged row. */
export function ownSegments(row: LoadedRow, nodeId: number): LoadedRow {
  const segments = row.segments.filter(({ segmentId }) => segmentIdNode(segmentId) === nodeId)
  return { ...row, segments }
}
