/**
 * A cell: one PostgreSQL, the projection of its events, and every stage that works on the two.
 *
 *   commit ─▶ raw store ─▶ followers: materialize (ClickHouse), observe (catalog)
 *                     └──▶ retain
 *
 * The control plane is outside the cell. A commit touches its cell's PostgreSQL and nothing else,
 * so a second PostgreSQL is a second cell, and no stage knows how many cells there are.
 */

import { ClosingMark } from '../commit/closing-mark.ts'
import { type CommitObserver, Committer, type Forward } from '../commit/committer.ts'
import { createRawStoreWriter } from '../commit/raw-store-writer.ts'
import type { Follower } from '../follow/follower.ts'
import { CLOCK_LEAD_MS_MAX } from '../limits.ts'
import type { WaitingSegments } from '../materialize/waiting-segments.ts'
import { type SegmentId, SegmentIdGenerator } from '../model/segment-id.ts'
import type { WorkerPool } from '../pool/pool.ts'
import { CheckpointStore } from '../store/raw/checkpoint-store.ts'
import { EventStore } from '../store/raw/event-store.ts'
import { IdempotencyStore } from '../store/raw/idempotency-store.ts'
import type { NodeLease } from '../store/raw/node-lease.ts'
import { SegmentStore } from '../store/raw/segment-store.ts'
import { StorageStore } from '../store/raw/storage-store.ts'
import { UsageHistory } from '../store/raw/usage-history.ts'
import { UsageStore } from '../store/raw/usage-store.ts'
import type { StreamDirectory } from '../store/stream-directory.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { CellContext, CreateFollower, NodeNumber } from './cell-context.ts'
import type { Context } from './context.ts'
import { materializeFollower } from './create-materializer.ts'
import { observeFollower } from './create-observer.ts'
import type { Stores } from './open-stores.ts'
import { settleHistory } from './settle-history.ts'
import { startRetainer } from './start-retainer.ts'
import { startTakeovers } from './take-over.ts'
import { startClosing, watchClock } from './times-of-ids.ts'
import { watchHistory } from './watch-history.ts'

/** What accept and serve need of a cell. */
export interface Cell {
  readonly committer: Committer
  readonly idempotency: IdempotencyStore
  readonly usage: UsageStore
  readonly usageHistory: UsageHistory
  readonly storage: StorageStore
  readonly nodeId: number
  readonly liveNodes: () => number
}

/** Is told of commits and keeps no checkpoint: live tails. */
export interface CommitListener {
  readonly add: Forward
  readonly mustCatchUp: () => void
}

/** The followers of commits. A new follower is one more entry. */
const FOLLOWERS = [materializeFollower, observeFollower]

/** `streams`: what the control plane knows. */
export async function openCell(
  context: Context,
  stores: Stores,
  {
    pool,
    streams,
    waiting,
    tails,
  }: {
    readonly pool: WorkerPool
    readonly streams: StreamDirectory
    readonly waiting: WaitingSegments
    readonly tails: CommitListener
  },
): Promise<Cell> {
  const { lease } = stores
  const events = new EventStore(stores.writes.postgres)
  const cell = { ...context, stores, pool, streams, waiting, events }
  const storage = new StorageStore(stores.postgres, streams)
  const number = numberOf(stores, lease, context.stoppers)
  const newest = await settleHistory(cell, number)
  await watchHistory(cell)
  const followers = await startFollowing(cell, number)
  const committer = startCommitter(cell, number, { followers, tails, newest })
  startRetainer(cell, storage)
  return {
    committer,
    idempotency: new IdempotencyStore(stores.writes.postgres, lease),
    usage: new UsageStore(stores.postgres),
    usageHistory: new UsageHistory(stores.postgres),
    storage,
    nodeId: lease.nodeId,
    liveNodes: () => lease.liveNodes,
  }
}

function numberOf(
  { postgres, lease: own }: Stores,
  lease: NodeLease,
  stoppers: NodeNumber['stoppers'],
): NodeNumber {
  const checkpoints = new CheckpointStore(postgres, lease)
  return { lease, checkpoints, isOwn: lease === own, stoppers }
}

/** Of our own number, and of those whose work is taken over. Returns our own. */
export async function startFollowing(
  cell: CellContext,
  own: NodeNumber,
  takeOverPollMs?: number,
): Promise<readonly Follower[]> {
  const creates = FOLLOWERS.map((follow) => follow(cell))
  const followers = await startFollowers(cell, creates, own)
  const startTaken = async (lease: NodeLease, stoppers: NodeNumber['stoppers']) => {
    const number = numberOf(cell.stores, lease, stoppers)
    await settleHistory(cell, number)
    return await startFollowers(cell, creates, number)
  }
  startTakeovers(cell, startTaken, takeOverPollMs)
  return followers
}

async function startFollowers(
  { config }: CellContext,
  creates: readonly CreateFollower[],
  number: NodeNumber,
): Promise<readonly Follower[]> {
  const followers: Follower[] = []
  for (const create of creates) {
    const follower = await create(number)
    follower.start()
    number.stoppers.push(() => follower.stop(config.drainTimeoutMs))
    followers.push(follower)
  }
  return followers
}

function startCommitter(
  cell: CellContext,
  number: NodeNumber,
  {
    followers,
    tails,
    newest,
  }: {
    readonly followers: readonly Follower[]
    readonly tails: CommitListener
    readonly newest: SegmentId
  },
): Committer {
  const { stores, pool, metrics, buffers, stoppers } = cell
  const segments = new SegmentStore(stores.writes.postgres, number.lease)
  stoppers.push(() => segments.stop())
  const ids = createIds(stores, newest)
  watchClock(cell, ids)
  const closing = new ClosingMark(ids, stores.clock, { lagMsMax: CLOCK_LEAD_MS_MAX })
  const committer = new Committer({
    closing,
    store: createRawStoreWriter(segments, stores.onLeaseLost),
    ids,
    forward: (group, rows) => {
      stores.history.committed(group)
      for (const follower of followers) follower.add(group)
      tails.add(group, rows)
    },
    observer: commitObserver(metrics),
    mustCatchUp: () => {
      for (const follower of followers) follower.mustCatchUp()
      tails.mustCatchUp()
    },
    release: (payload) => buffers.releaseView(payload),
    isMoreComing: () => pool.isIngestBusy,
  })
  startClosing(cell, { closing, committer })
  stoppers.push(() => committer.stop())
  return committer
}

/** Ids continue above all that this node has committed, even if the clock was set back since. */
function createIds({ clock, lease }: Stores, newest: SegmentId): SegmentIdGenerator {
  const latestMs = () => clock.latestMs
  const nowMs = () => clock.nowMs
  const ids = new SegmentIdGenerator(lease.nodeId, nowMs, newest, latestMs)
  ids.moveTo(lease.closedMs)
  return ids
}

function commitObserver(metrics: Metrics): CommitObserver {
  const groups = metrics.counter('ingest_commit_groups_total', 'Transactions committed')
  const committed = metrics.counter('ingest_commit_segments_total', 'Segments committed')
  const mixedRuns = metrics.counter(
    'ingest_commit_runs_total',
    "Streams' events in mixed segments, each a segment of its stream",
  )
  const payloadBytes = metrics.counter('ingest_commit_bytes_total', 'Compressed bytes committed')
  const commitSeconds = metrics.histogram('ingest_commit_seconds', 'One COPY transaction')
  const retries = metrics.counter(
    'ingest_commit_retries_total',
    'Commits tried again after one that provably stored nothing',
  )
  const unknown = metrics.tally(
    'ingest_commit_ambiguous_total',
    'Commits whose outcome was unknown at first, by what it turned out to be',
    'outcome',
    ['committed', 'absent', 'unresolved'],
  )
  return {
    onGroup: ({ segments, runs, bytes, seconds }) => {
      groups.inc()
      committed.inc(segments)
      if (runs > 0) mixedRuns.inc(runs)
      payloadBytes.inc(bytes)
      commitSeconds.observe(seconds)
    },
    onRetry: () => retries.inc(),
    onUnknown: (outcome) => unknown.add(outcome === 'dropped' ? 'unresolved' : outcome),
  }
}
