/**
 * Merges and mutations of the embedded engine give way to what clients wait for: on a machine with
 * few cores, removing rows or merging would otherwise hold up ingest for as long as they take.
 *
 * On Linux each thread has a nice value of its own. Ten more is a tenth of an ordinary thread's
 * share when all compete, and all that is idle otherwise: where every core is busy for hours,
 * parts pile up, and are merged when there is time.
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
const TASKS = '/proc/self/task'
const LOOK_MS = 5_000

/** Lowers these threads, now and then: the engine makes them when there is work for them. */
export function lowerBackgroundThreads(): void {
  lowerOnce()
  setInterval(lowerOnce, LOOK_MS).unref()
}

function lowerOnce(): void {
  for (const thread of listThreads()) tryLower(thread)
}

/** False when it has ended meanwhile, or we may not: then it stays as it is. */
function tryLower(thread: string): boolean {
  try {
    const name = readFileSync(`${TASKS}/${thread}/comm`, 'utf8').trim()
    if (!BACKGROUND_THREADS.has(name)) return false
    setPriority(Number(thread), backgroundNice(getPriority()))
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
