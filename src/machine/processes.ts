/** Inspects and ends processes that are not our children. */
import { readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Whether a process with this id exists (and is not a zombie, where that can be known). */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (cause) {
    return cause instanceof Error && 'code' in cause && cause.code === 'EPERM'
  }
  const stat = tryRead(`/proc/${pid}/stat`)
  // The state follows the name, which is in parentheses and may hold any character.
  return stat === undefined || stat[stat.lastIndexOf(')') + 2] !== 'Z'
}

/** Arguments of a process, undefined when it is gone or this is not Linux. */
export function commandLine(pid: number): readonly string[] | undefined {
  return tryRead(`/proc/${pid}/cmdline`)?.split('\0')
}

/**
 * Whether a process's working directory is this one. To compare paths would not do: in another
 * container the same path is another directory, perhaps with a live instance in it.
 */
export function worksIn(pid: number, directory: string): boolean {
  try {
    const [its, ours] = [statSync(`/proc/${pid}/cwd`), statSync(directory)]
    return its.ino === ours.ino && its.dev === ours.dev
  } catch {
    return false // Gone, or not ours to look at, or not Linux.
  }
}

/** Resolves true when the process is gone, false after `waitMs`. */
export async function waitUntilGone(pid: number, waitMs: number): Promise<boolean> {
  const deadline = performance.now() + waitMs
  while (isAlive(pid)) {
    if (performance.now() > deadline) return false
    await sleep(20)
  }
  return true
}

/** Sends a signal; a process that is already gone is fine. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ESRCH')) throw cause
  }
}

export function tryRead(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined // Absent: callers only want to know that.
  }
}
