/** Short messages at the page's lower edge, read out by screen readers; gone after some seconds. */
import { signal } from '@preact/signals'

interface Notice {
  readonly id: number
  readonly text: string
  readonly isError: boolean
}

const SHOWN_MS = 6_000
const notices = signal<readonly Notice[]>([])
const count = signal(0)

export function tell(text: string, isError = false): void {
  const id = ++count.value
  notices.value = [...notices.value.slice(-2), { id, text, isError }]
  setTimeout(() => dismiss(id), SHOWN_MS)
}

function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, text, isError }) => (
        <div key={id} class={isError ? 'notice is-error' : 'notice'}>
          <span>{text}</span>
          <button type="button" class="plain" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  )
}
