/**
 * What every follower has in common: how it learns of commits, and how it waits.
 *
 * What it does when it falls behind differs from follower to follower: see decision 46.
 */
import type { CommittedGroup } from '../model/batch/committed-group.ts'

/** What goes through the committed segments of a node number, once each, in the order of ids. */
export interface Follower {
  start(): void
  /** Told of each group after it is durable, in id order. Never waits. */
  add(group: CommittedGroup): void
  /** Something may have been committed that `add` was not told of. */
  mustCatchUp(): void
  /** Whether it knows of nothing that is left to do. */
  readonly isIdle: boolean
  /** Ends within `msMax`; what is left is found at the next start. */
  stop(msMax: number): Promise<void>
}

const RETRY_MS_MAX = 5_000

/** How long to wait, in milliseconds, after so many failures in a row. */
export function retryMs(failures: number): number {
  return Math.min(RETRY_MS_MAX, 100 * 2 ** failures)
}
