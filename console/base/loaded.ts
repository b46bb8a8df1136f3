/** What a screen loads: nothing yet, a value, or why there is none. An older answer never wins. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { failureText } from './api.ts'

export interface Loaded<T> {
  /** The newest value; it stays while another is loaded. */
  readonly value: T | undefined
  readonly failure: string | undefined
  readonly isLoading: boolean
  /** The value is of another key than the one that is asked for now. */
  readonly isStale: boolean
}

export interface LoadOptions {
  /** Loads anew when it changes. */
  readonly turn?: Signal<number>
  /** How long after an answer the next one is asked for, while the tab is seen. */
  readonly refreshMs?: number
}

/** Loads anew whenever `key` or `turn` changes, and gives up what is under way then. */
export function useLoaded<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { turn, refreshMs }: LoadOptions = {},
): Loaded<T> {
  const state = useSignal<State<T>>({ value: undefined, failure: undefined, isLoading: true, key })
  useEffect(() => {
    const gone = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      state.value = { ...state.value, isLoading: true }
      const next = await answerOf(load, gone.signal)
      if (gone.signal.aborted) return
      state.value = { ...state.value, ...next, isLoading: false, key }
      askLater()
    }
    const askLater = () => {
      if (refreshMs === undefined) return
      timer = setTimeout(() => (document.hidden ? askLater() : void ask()), refreshMs)
    }
    void ask()
    return () => {
      gone.abort()
      clearTimeout(timer)
    }
  }, [key, turn?.value, refreshMs])
  return { ...state.value, isStale: state.value.key !== key }
}

interface State<T> extends Omit<Loaded<T>, 'isStale'> {
  readonly key: string
}

/** A failure leaves the value that is there as it is. */
async function answerOf<T>(load: (signal: AbortSignal) => Promise<T>, signal: AbortSignal) {
  try {
    return { value: await load(signal), failure: undefined }
  } catch (cause) {
    return { failure: failureText(cause) }
  }
}
