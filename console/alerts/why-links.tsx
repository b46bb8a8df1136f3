import type { GroupValues, Range, RuleSettings } from './rule.ts'
import { whyLinks } from './why.ts'

interface WhyProps {
  readonly rule: RuleSettings
  readonly range: Range
  readonly group?: GroupValues
  readonly all?: readonly GroupValues[]
}

/** So many streams have a link of their own. */
const LINKS_MAX = 5

/** To the events that were counted. */
export function WhyLinks({ rule, range, group = null, all = [] }: WhyProps) {
  const links = whyLinks(rule, range, group, all)
  if (links.length === 0) return <span class="quiet">no query asks for just these</span>
  if (links.length === 1) return <a href={links[0]!.address}>Events</a>
  return (
    <>
      {links.slice(0, LINKS_MAX).map(({ label, address }) => (
        <span key={address}>
          <a href={address}>
            <bdi>{label}</bdi>
          </a>{' '}
        </span>
      ))}
      {links.length > LINKS_MAX && <span class="quiet">and {links.length - LINKS_MAX} more</span>}
    </>
  )
}
