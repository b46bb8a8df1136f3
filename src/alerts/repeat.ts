import { setTimeout as sleep } from 'node:timers/promises'

export interface Repeated {
  readonly signal: AbortSignal
  readonly everyMs: number
  /** True when there is more to do at once. What it throws is told, and it is called again. */
  readonly round: () => Promise<boolean>
  readonly onError: (cause: unknown) => void
}

/** Until the signal is aborted, and the round under way is over. Never rejects. */
export async function repeat({ signal, everyMs, round, onError }: Repeated): Promise<void> {
  while (!signal.aborted) {
    let hasMore = false
    try {
      hasMore = await round()
    } catch (cause) {
      if (!signal.aborted) onError(cause)
    }
    if (!hasMore) await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined)
  }
}
