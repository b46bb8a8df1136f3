/**
 * Merges, mutations and slow reads of the embedded engine yield to the work that clients wait for:
 * on a machine with few cores, removing rows, merging or a few large queries would otherwise hold
 * up ingest for as long as they take.
 *
 * On Linux each thread has a nice value of its own. Ten more means a tenth of an ordinary thread's
 * share when all compete, and otherwise all idle time: where every core is busy for hours, parts
 * pile up, and are merged when there is time.
 *
 * Slow reads get the lowest priority: there are more of them, and their shares add up. A
 * thread cannot be raised again without privileges. That is why the engine keeps no idle threads
 * (`max_thread_pool_free_size`): one that worked on a read ends with it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

const STEP = 10

/** What the threads get where the rest of the process has `own`, as its starter may have set. */
export function backgroundNice(own: number): number {
  return Math.min(own + STEP, constants.priority.PRIORITY_LOW)
}

/** Names of the threads that merge and mutate, as ClickHouse sets them. */
const BACKGROUND_THREADS: ReadonlySet<string> = new Set(['MergeMutate'])
/** Threads of Node itself, which run statements of all kinds one after another. */
const OWN_THREADS: ReadonlySet<string> = new Set(['node', 'libuv-worker', 'MainThread'])
const TASKS = '/proc/self/task'
const LOOK_MS = 5_000
export const SLOW_READ_NICE = constants.priority.PRIORITY_LOW
/** A read that takes no longer, and is the only one, is answered at full speed. */
const SLOW_READ_MS = 200
/** A look costs a millisecond, and there are none while nothing is read. */
const SLOW_READ_LOOK_MS = 50

export interface SlowReads {
  /** Threads that work on reads: on all of several, on one after `ms`. */
  threadsOfReads(ms: number): Promise<number[]>
}

/** Lowers these threads, now and then: the engine makes them when there is work for them. */
export function lowerBackgroundThreads(reads: SlowReads): void {
  lowerOnce()
  setInterval(lowerOnce, LOOK_MS).unref()
  let isLooking = false
  const lowerReads = async () => {
    if (isLooking) return
    isLooking = true
    // It fails while the engine is being closed: nothing is slow any more.
    const threads = await reads.threadsOfReads(SLOW_READ_MS).catch(() => [])
    for (const thread of threads) {
      tryLower(String(thread), SLOW_READ_NICE, (name) => !OWN_THREADS.has(name))
    }
    isLooking = false
  }
  setInterval(() => void lowerReads(), SLOW_READ_LOOK_MS).unref()
}

function lowerOnce(): void {
  const nice = backgroundNice(getPriority())
  for (const thread of listThreads()) {
    tryLower(thread, nice, (name) => BACKGROUND_THREADS.has(name))
  }
}

/** False when it has ended meanwhile, or we may not: then it stays as it is. */
function tryLower(thread: string, nice: number, isMeant: (name: string) => boolean): boolean {
  try {
    const name = readFileSync(`${TASKS}/${thread}/comm`, 'utf8').trim()
    if (!isMeant(name)) return false
    setPriority(Number(thread), nice)
    return true
  } catch {
    return false
  }
}

function listThreads(): string[] {
  try {
    return readdirSync(TASKS)
  } catch {
    return [] // Not Linux.
  }
}
