/** The screen of the address. The first events wait for Explore alone: others are loaded later. */
import type { Route } from '../base/route.ts'
import { ExploreScreen } from '../explore/explore-screen.tsx'
import { Later } from '../parts/later.tsx'

export function Screen({ current }: { current: Route }) {
  const { screen, streamId } = current
  if (screen === 'explore') return <ExploreScreen />
  return <Later show={({ OtherScreen }) => <OtherScreen screen={screen} streamId={streamId} />} />
}
