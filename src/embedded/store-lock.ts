/**
 * The lock of an embedded store, a file beside its directory. Only the store's processes hold it,
 * by inheritance. A start that gets the lock therefore knows that none of them is left: none that
 * is still ending, no zombie, and none in another container, where we could not see it.
 */
import { type FileLock, tryLockFile } from '../machine/file-lock.ts'
import { StoreError } from '../store/store-error.ts'
import type { StoreLog } from '../store/store-log.ts'

/** A PostgreSQL whose service was killed writes a checkpoint before it ends. */
const WAIT_MS_MAX = 60_000
/** How often a wait for the lock looks whether the service is stopping. */
const STEP_MS = 1_000

export interface StoreLockOptions {
  /** For messages. */
  readonly name: string
  readonly log: StoreLog
  readonly signal: AbortSignal
}

/** The caller hands the lock's descriptor to the store's process and closes it then. */
export async function takeStoreLock(
  directory: string,
  { name, log, signal }: StoreLockOptions,
): Promise<FileLock> {
  const path = `${directory}.lock`
  const deadline = performance.now() + WAIT_MS_MAX
  let lock = await tryLockFile(path)
  if (lock === undefined) log.warn({ path }, `waiting for an old ${name} to end`)
  while (lock === undefined && !signal.aborted && performance.now() < deadline) {
    lock = await tryLockFile(path, STEP_MS)
  }
  if (lock !== undefined) return lock
  const text = `${name} processes of an earlier start still work in ${directory}`
  throw new StoreError('unavailable', `${text}, perhaps in another container`)
}
