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

/** A node number of this process. It commits under one, and works off what is left of others. */
export interface NodeNumber {
  readonly lease: NodeLease
  readonly checkpoints: CheckpointStore
  /** Whether this process commits under this number. */
  readonly isOwn: boolean
}
