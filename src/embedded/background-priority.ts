/**
 * Merges, mutations and reads of the embedded engine yield to ingest: on a machine with few cores,
 * removing rows, merging or a few large queries would otherwise delay it for as long as they take.
 *
 * On Linux each thread has a nice value of its own. Ten more means a tenth of an ordinary thread's
 * share when all compete, and otherwise all idle time: where every core is busy for hours, parts
 * pile up, and are merged when there is time.
 *
 * Reads get the same: beside ingest one runs at a time, and below merges it would wait for them. A
 * thread inherits the priority of the one that makes it, so all that works for a read has that of
 * its first (`read-thread.ts`). It cannot be raised again without privileges. That is why the
 * engine keeps no idle threads (`max_thread_pool_free_size`): one that worked on a read ends with
 * it.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

const STEP = 10

/** What the threads get where the rest of the process has `own`, as its starter may have set. */
export function backgroundNice(own: number): number {
  return Math.min(own + STEP, constants.priority.PRIORITY_LOW)
}

/** Names of the threads that merge and mutate, as ClickHouse sets them. */
const BACKGROUND_THREADS: ReadonlySet<string> = new Set(['MergeMutate'])
const TASKS = '/proc/self/task'
const LOOK_MS = 5_000

/** Lowers these threads, now and then: the engine makes them when there is work for them. */
export function lowerBackgroundThreads(): void {
  lowerOnce()
  setInterval(lowerOnce, LOOK_MS).unref()
}

/**
 * Lowers the calling thread for good, and with it those that it makes. False where threads have no
 * priority of their own, as on systems other than Linux: then it stays as it is.
 */
export function lowerReadThread(): boolean {
  try {
    // `<pid>/task/<tid>`, proc(5).
    const thread = readlinkSync('/proc/thread-self').split('/').at(-1)
    setPriority(Number(thread), backgroundNice(getPriority()))
    return true
  } catch {
    return false
  }
}

function lowerOnce(): void {
  const nice = backgroundNice(getPriority())
  for (const thread of listThreads()) tryLower(thread, nice)
}

/** False for other threads, and when it has ended meanwhile or we may not: it stays as it is. */
function tryLower(thread: string, nice: number): boolean {
  try {
    const name = readFileSync(`${TASKS}/${thread}/comm`, 'utf8').trim()
    if (!BACKGROUND_THREADS.has(name)) return false
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
