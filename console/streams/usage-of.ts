import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { callJson, failureText } from '../base/api.ts'
import type { Usage } from '../base/stream.ts'

const REFRESH_MS = 5_000
const ASKED_AT_A_TIME_MAX = 4
const waiting: (() => void)[] = []
const asked = { count: 0 }

export interface UsageState {
  readonly usage: Usage | undefined
  readonly failure: string | undefined
}

/** A stream's usage, asked for every few seconds while the tab is seen. */
export function useUsage(streamId: string): UsageState {
  const state = useSignal<UsageState>({ usage: undefined, failure: undefined })
  useEffect(() => {
    const gone = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      if (!document.hidden) {
        try {
          const usage = await inTurn(() => readUsage(streamId, gone.signal))
          if (!gone.signal.aborted) state.value = { usage, failure: undefined }
        } catch (cause) {
          const failure = failureText(cause)
          if (!gone.signal.aborted) state.value = { ...state.value, failure }
        }
      }
      if (!gone.signal.aborted) timer = setTimeout(() => void ask(), REFRESH_MS)
    }
    void ask()
    return () => {
      gone.abort()
      clearTimeout(timer)
    }
  }, [streamId])
  return state.value
}

function readUsage(streamId: string, signal: AbortSignal): Promise<Usage> {
  return callJson<Usage>(`streams/${streamId}/usage`, { signal })
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
