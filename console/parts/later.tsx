/** What the first rows do not wait for: one file, loaded when something of it is first shown. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { Failure } from './failure.tsx'

type Others = typeof import('../shell/other-screens.tsx')

const others = signal<Others | undefined>(undefined)
const isMissing = signal(false)

async function loadOthers(): Promise<void> {
  try {
    others.value = await import('../shell/other-screens.tsx')
  } catch {
    isMissing.value = true // Told below: the service is away, or has another version by now.
  }
}

export function Later({ show }: { show: (from: Others) => ComponentChildren }) {
  useEffect(() => void loadOthers(), [])
  if (others.value !== undefined) return <>{show(others.value)}</>
  if (!isMissing.value) return <p class="quiet">Loading…</p>
  return (
    <Failure text="This could not be loaded">
      <button type="button" onClick={() => location.reload()}>
        Load the page again
      </button>
    </Failure>
  )
}
