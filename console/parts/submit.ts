import { useSignal } from '@preact/signals'
import { failureText } from '../base/api.ts'
import { tell } from './notices.tsx'

/**
 * What a form does, or a button that changes something: once at a time, as who presses Enter twice
 * means it once. `failure` is that of the last time.
 */
export function useSubmit(run: () => Promise<void>) {
  const isBusy = useSignal(false)
  const failure = useSignal<string | undefined>(undefined)
  const submit = async () => {
    if (isBusy.value) return
    isBusy.value = true
    failure.value = undefined
    try {
      await run()
    } catch (cause) {
      failure.value = failureText(cause)
    } finally {
      isBusy.value = false
    }
  }
  const onSubmit = (event: Event) => {
    event.preventDefault()
    void submit()
  }
  return { onSubmit, isBusy: isBusy.value, failure: failure.value }
}

/**
 * What a button does that tells what came of it, once at a time. `run` says what is told, unless it
 * has told that itself; `after` is called in any case.
 */
export function useTold(
  run: () => Promise<string | undefined>,
  after: () => void = () => undefined,
) {
  const { onSubmit, isBusy } = useSubmit(async () => {
    try {
      const text = await run()
      if (text !== undefined) tell(text)
    } catch (cause) {
      tell(failureText(cause) ?? '', true)
    }
    after()
  })
  return { onClick: onSubmit, isBusy }
}
