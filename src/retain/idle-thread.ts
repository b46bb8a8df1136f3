import { pause } from './retainer.ts'

const WAIT_MS_MAX = 1_000
const POLL_MS = 20

/** Ingest has the pool first; but a pool that is never idle must not end compaction. */
export async function waitForThread(hasIdleThread: () => boolean, signal: AbortSignal) {
  const deadline = performance.now() + WAIT_MS_MAX
  while (!hasIdleThread() && performance.now() < deadline && !signal.aborted) {
    await pause(POLL_MS, signal)
  }
}
