/** The screen of the address. The first events wait for Explore alone: others are loaded later. */
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Route } from '../base/route.ts'
import { ExploreScreen } from '../explore/explore-screen.tsx'
import { Failure } from '../parts/failure.tsx'
import type { OtherScreen } from './other-screens.tsx'

const others = signal<typeof OtherScreen | undefined>(undefined)
const isMissing = signal(false)

async function loadOthers(): Promise<void> {
  try {
    others.value = (await import('./other-screens.tsx')).OtherScreen
  } catch {
    isMissing.value = true // Told below: the service is away, or has another version by now.
  }
}

export function Screen({ current }: { current: Route }) {
  const { screen, streamId } = current
  const isExplore = screen === 'explore'
  useEffect(() => {
    if (!isExplore) void loadOthers()
  }, [isExplore])
  if (isExplore) return <ExploreScreen />
  const { value: Other } = others
  if (Other !== undefined) return <Other screen={screen} streamId={streamId} />
  if (!isMissing.value) return <p class="quiet">Loading…</p>
  return (
    <Failure text="This screen could not be loaded">
      <button type="button" onClick={() => location.reload()}>
        Load the page again
      </button>
    </Failure>
  )
}
