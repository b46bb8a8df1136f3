import { setTimeout as sleep } from 'node:timers/promises'

export interface Repeated {
  readonly signal: AbortSignal
  readonly everyMs: number
  /** True when there is more to do at once. What it throws is told, and it is called again. */
  readonly round: () => Promise<boolean>
  /** `failures`: in a row. */
  readonly onError: (cause: unknown, failures: number) => void
}

/** Until the signal is aborted, and the round under way is over. Never rejects. */
export async function repeat({ signal, everyMs, round, onError }: Repeated): Promise<void> {
  let failures = 0
  while (!signal.aborted) {
    let hasMore = false
    try {
      hasMore = await round()
      failures = 0
    } catch (cause) {
      failures++
      if (!signal.aborted) onError(cause, failures)
    }
    if (!hasMore) await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined)
  }
}
