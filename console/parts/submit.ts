import { useSignal } from '@preact/signals'
import { failureText } from '../base/api.ts'

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
