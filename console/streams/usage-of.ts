import { callJson } from '../base/api.ts'
import { type Loaded, useLoaded } from '../base/loaded.ts'
import type { Usage } from '../base/stream.ts'

const REFRESH_MS = 5_000
const ASKED_AT_A_TIME_MAX = 4
const waiting: (() => void)[] = []
const asked = { count: 0 }

/** A stream's usage, asked for every few seconds while the tab is seen. */
export function useUsage(streamId: string): Loaded<Usage> {
  return useLoaded(
    streamId,
    (signal) => inTurn(() => callJson<Usage>(`streams/${streamId}/usage`, { signal })),
    { refreshMs: REFRESH_MS },
  )
}

/** A list of hundreds of streams must not take all of the service's places for reads. */
async function inTurn<T>(run: () => Promise<T>): Promise<T> {
  if (asked.count >= ASKED_AT_A_TIME_MAX) {
    await new Promise<void>((resolve) => waiting.push(resolve))
  }
  asked.count++
  try {
    return await run()
  } finally {
    asked.count--
    waiting.shift()?.()
  }
}
