/** How far back the screen looks, in all that it shows over time. */
import { clockParam } from '../base/clock.ts'
import { go, href, route, setParams } from '../base/route.ts'
import { Tabs } from '../parts/tabs.tsx'

export const RANGES = [
  ['-24h', '24 hours'],
  ['-7d', '7 days'],
  ['-30d', '30 days'],
  ['-90d', '90 days'],
] as const

/** What a stream takes is counted when it is taken. */
const basis = clockParam('ingested_at')

/** Of the address. */
export function shownRange(): string {
  const asked = route.value.params.get('last')
  return RANGES.find(([known]) => known === asked)?.[0] ?? '-7d'
}

export function RangeTabs() {
  return (
    <Tabs
      label="How far back"
      tabs={RANGES}
      selected={shownRange() as (typeof RANGES)[number][0]}
      onSelect={(last) => setParams({ last })}
    />
  )
}

/** Looks at a stretch that was drawn over. */
export function explore(streamId: string, from: string, to: string): void {
  go(href('explore', streamId, { from, to, basis }))
}
