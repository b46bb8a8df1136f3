/** Another stream on the same screen: in Explore the question stays, with its range and clock. */
import { href, route } from './route.ts'

/** What is asked, which holds of any stream; columns, groups and a view are of one. */
const KEPT = ['q', 'from', 'to', 'basis'] as const

/** The address of the screen for this stream; undefined: for all. */
export function streamAddress(streamId: string | undefined, screen = route.value.screen): string {
  const { screen: current, params } = route.value
  const isKept = screen === 'explore' && current === 'explore'
  const kept = KEPT.map((name) => [name, params.get(name) ?? undefined] as const)
  return href(screen, streamId, isKept ? Object.fromEntries(kept) : {})
}
