import type { Follower } from '../follow/follower.ts'
import type { WaitingSegments } from '../materialize/waiting-segments.ts'
import type { WorkerPool } from '../pool/pool.ts'
import type { CheckpointStore } from '../store/raw/checkpoint-store.ts'
import type { EventStore } from '../store/raw/event-store.ts'
import type { NodeLease } from '../store/raw/node-lease.ts'
import type { StreamDirectory } from '../store/stream-directory.ts'
import type { Context } from './context.ts'
import type { Stores } from './open-stores.ts'

/** What the parts of one cell share. */
export interface CellContext extends Context {
  readonly stores: Stores
  readonly pool: WorkerPool
  /** What the control plane knows of streams. */
  readonly streams: StreamDirectory
  readonly waiting: WaitingSegments
  /** In the lane of writes, for the followers. */
  readonly events: EventStore
}

/** A node number of this process. It commits under one, and does the work that others left. */
export interface NodeNumber {
  readonly lease: NodeLease
  readonly checkpoints: CheckpointStore
  /** Whether this process commits under this number. */
  readonly isOwn: boolean
  /** Ends what works for the number, the last one first. */
  readonly stoppers: (() => unknown)[]
}

/** Makes a follower for a number; what else it makes goes with the number. */
export type CreateFollower = (number: NodeNumber) => Promise<Follower>
