/** What a screen loads: nothing yet, a value, or why there is none. An older answer never wins. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { failureText } from './api.ts'

export interface Loaded<T> {
  /** The newest value; it stays while another is loaded. */
  readonly value: T | undefined
  readonly failure: string | undefined
  readonly isLoading: boolean
}

/** Loads anew whenever `key` or `turn` changes, and gives up what is under way then. */
export function useLoaded<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  turn?: Signal<number>,
): Loaded<T> {
  const state = useSignal<Loaded<T>>({ value: undefined, failure: undefined, isLoading: true })
  useEffect(() => {
    const gone = new AbortController()
    state.value = { ...state.value, isLoading: true }
    load(gone.signal).then(
      (value) => {
        if (!gone.signal.aborted) state.value = { value, failure: undefined, isLoading: false }
      },
      (cause: unknown) => {
        const failure = failureText(cause)
        if (!gone.signal.aborted) state.value = { ...state.value, failure, isLoading: false }
      },
    )
    return () => gone.abort()
  }, [key, turn?.value])
  return state.value
}
