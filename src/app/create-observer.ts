/** The follower that learns fields and shapes from committed segments. */
import type { MixedRun } from '../model/mixed-runs.ts'
import { segmentIdNode } from '../model/segment-id.ts'
import { Observer } from '../observe/observer.ts'
import type { StoredSegment } from '../observe/stored-segment.ts'
import { SchemaWriter } from '../store/catalog/schema-writer.ts'
import type { CommittedRow } from '../store/raw/checkpoint-store.ts'
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

/** This node's segments of a row: other nodes count their own segments in a merged row. */
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

/** All runs are of one node. Reading continues after the last run, so none is delivered twice. */
function runsOf(payload: Uint8Array, runs: readonly MixedRun[]): StoredSegment[] {
  let first = 0
  return runs.map(({ streamId, segmentId, eventCount }) => {
    const part = { first, counts: [eventCount] }
    first += eventCount
    return { streamId, segmentId, payload, part }
  })
}
