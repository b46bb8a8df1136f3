/**
 * The lock of an embedded store, a file beside its directory. Its processes inherit it and nobody
 * else has it, so whoever gets it knows that none of them is left: also of those that are just
 * ending, that are zombies, and that run in another container, where we do not see them.
 */
import { type FileLock, tryLockFile } from '../machine/file-lock.ts'
import { StoreError } from '../store/store-error.ts'
import type { StoreLog } from '../store/store-log.ts'

/** A PostgreSQL whose service was killed writes a checkpoint before it ends. */
const WAIT_MS_MAX = 60_000
/** How long a stop of the service waits for who waits here. */
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
