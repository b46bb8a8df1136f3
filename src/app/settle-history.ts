/**
 * At the start, before anything is committed under a node number, and when the work of a node that
 * is gone is taken over: the projection must have nothing of it that PostgreSQL does not have. It
 * has, when a standby was promoted without the last commits and they had been projected already;
 * queries would count events that no list shows.
 *
 * What is newer there than all that PostgreSQL has of the node is such a rest, as ids rise and
 * nobody else commits under the number; so is what a process noted that met the failover. Those
 * segments are removed from the projection, no others. If they are of more than an hour, PostgreSQL
 * was rather restored to an earlier time, or is the wrong one: then nothing is removed.
 */
import {
  NODE_ID_MAX,
  SEGMENT_ID_MAX,
  type SegmentId,
  segmentIdAt,
  segmentIdMs,
} from '../model/segment-id.ts'
import type { Queryable } from '../store/postgres.ts'
import { LostSegments, type ProjectedSegment } from '../store/projection/lost-segments.ts'
import { ProjectionStore } from '../store/projection/projection-store.ts'
import { findMissing } from '../store/raw/history.ts'
import { LostHistoryStore } from '../store/raw/lost-history-store.ts'
import { StoreError } from '../store/store-error.ts'
import type { StoreLog } from '../store/store-log.ts'
import type { NodeIdentity } from '../store/under-lease.ts'
import { reasonOf } from '../telemetry/log.ts'
import type { CellContext, NodeNumber } from './cell-context.ts'

/** From the first to the last segment that is removed from the projection, at most. */
export const LOST_SPAN_MS_MAX = 3_600_000
/** Segments of a table that are looked at. */
const LOST_SEGMENTS_MAX = 200_000
/**
 * How far back is looked: a node that comes back after days would read what all others have sent
 * since. Under a number that PostgreSQL knows no segment of, a failover has just lost the first.
 */
const LOOK_BACK_MS_MAX = 86_400_000
const LOOK_BACK_UNKNOWN_MS = LOST_SPAN_MS_MAX
const NO_SEGMENT = 0n as SegmentId

interface SettleContext {
  readonly stores: Pick<CellContext['stores'], 'postgres' | 'clickhouse'> &
    Partial<Pick<CellContext['stores'], 'insertPlace'>>
  readonly log: StoreLog
}

/** Returns the id that new ones must be above. Throws `StoreError`. */
export async function settleHistory(
  { stores, log }: SettleContext,
  number: Pick<NodeNumber, 'checkpoints'> &
    Partial<Pick<NodeNumber, 'stoppers'>> & { readonly lease: NodeIdentity },
): Promise<SegmentId> {
  const { lease, checkpoints, stoppers = [] } = number
  const { nodeId } = lease
  const record = new LostHistoryStore(stores.postgres)
  const projection = new LostSegments(stores.clickhouse)
  // An insert of an earlier process would come in behind our back. One that does not end is no
  // reason not to start.
  const place = await stores.insertPlace?.(nodeId, stoppers)
  const inserts = new ProjectionStore(stores.clickhouse, lease, { place })
  await inserts.settleInserts().catch((cause) => {
    log.warn({ reason: reasonOf(cause) }, 'inserts of an earlier process were not awaited')
  })
  const find = async (after: SegmentId, upTo: SegmentId) => {
    const there = await projection.list(nodeId, { after, upTo }, LOST_SEGMENTS_MAX)
    return await missingOf(stores.postgres, there)
  }
  for (const { lossId, after, upTo } of await record.readUnsettled(nodeId)) {
    const lost = await find(after, upTo)
    assertShort(nodeId, lost)
    await projection.remove(lost)
    await record.settle(lossId)
    const fields = { nodeId, segments: lost.length, events: eventsOf(lost) }
    log.warn(fields, 'what a failover lost was removed from the projection')
  }
  const [newest, checkpoint] = await Promise.all([checkpoints.readNewest(), checkpoints.read()])
  const known = later(newest, checkpoint)
  const backMs = known === NO_SEGMENT ? LOOK_BACK_UNKNOWN_MS : LOOK_BACK_MS_MAX
  const after = later(known, segmentIdAt(Date.now() - backMs))
  const lost = await find(after, SEGMENT_ID_MAX as SegmentId)
  const [first, last] = [lost[0], lost.at(-1)]
  if (first !== undefined && last !== undefined) {
    assertShort(nodeId, lost)
    const events = eventsOf(lost)
    const fields = { nodeId, from: String(first.segmentId), to: String(last.segmentId), events }
    log.error(
      { ...fields, segments: lost.length },
      'PostgreSQL lost acknowledged events; they are removed from the projection, too',
    )
    await projection.remove(lost)
    const loss = { what: 'segments', after, upTo: last.segmentId, events } as const
    await record.record(nodeId, loss, true)
  }
  return later(known, await record.readLastLost(nodeId))
}

function later(a: SegmentId, b: SegmentId): SegmentId {
  return a > b ? a : b
}

async function missingOf(
  postgres: Queryable,
  there: readonly ProjectedSegment[],
): Promise<ProjectedSegment[]> {
  const missing = new Set<bigint>()
  for (let at = 0; at < there.length; at += NODE_ID_MAX) {
    for (const id of await findMissing(postgres, there.slice(at, at + NODE_ID_MAX))) missing.add(id)
  }
  const lost = there.filter(({ segmentId }) => missing.has(segmentId))
  return lost.toSorted((a, b) => (a.segmentId < b.segmentId ? -1 : 1))
}

function assertShort(nodeId: number, lost: readonly ProjectedSegment[]): void {
  const [first, last] = [lost[0], lost.at(-1)]
  if (first === undefined || last === undefined) return
  const [fromMs, toMs] = [segmentIdMs(first.segmentId), segmentIdMs(last.segmentId)]
  if (toMs - fromMs <= LOST_SPAN_MS_MAX) return
  const text = (ms: number) => new Date(ms).toISOString()
  throw new StoreError(
    'other',
    `ClickHouse has events of node ${nodeId} from ${text(fromMs)} to ${text(toMs)} that ` +
      'PostgreSQL does not have: it was restored to an earlier time, or is not theirs. If it is ' +
      'right, rebuild the projection: docs/operations.md, "Rebuild the projection"',
  )
}

function eventsOf(lost: readonly ProjectedSegment[]): number {
  return lost.reduce((sum, { events }) => sum + events, 0)
}
