/**
 * Values that are relative: divided by another aggregate of the same window, or by what a window
 * some time before had. `"relative_to": {"fn": "count"}` makes a share of all events of a count of
 * failures; `{"before": "1w"}` says how traffic is against a week ago.
 */
import { malformed } from '../errors.ts'
import { ALERT_BEFORE_MS_MAX, ALERT_GROUPS_MAX } from '../limits.ts'
import { formatDuration, tryParseDuration } from '../model/duration.ts'
import type { RuleSettings } from '../store/alerts/rule.ts'
import type { SeenGroup, SeenWindow } from './decide-window.ts'

/** How long before its own window a rule looks as well; 0: it does not. */
export function beforeMsOf({ relative_to: relative }: RuleSettings): number {
  return relative?.before === undefined ? 0 : (tryParseDuration(relative.before) ?? 0)
}

/** Throws `malformed`. */
export function assertRelative({ relative_to: relative }: RuleSettings, everyMs: number): void {
  if (relative === undefined) return
  const { before, ...aggregate } = relative
  const isOther = Object.keys(aggregate).length > 0
  if (isOther === (before !== undefined) || (isOther && relative.fn === undefined)) {
    throw malformed('"relative_to" is another aggregate, with "fn", or {"before": "1d"}')
  }
  if (before === undefined) {
    const isOfEvents = relative.fn === 'count' || relative.fn === 'rate'
    if (isOfEvents || relative.field !== undefined) return
    throw malformed(`"relative_to.field" is required: "${relative.fn}" is of the values of a field`)
  }
  const ms = tryParseDuration(before)
  if (ms === undefined || ms > ALERT_BEFORE_MS_MAX || ms % everyMs !== 0) {
    const limit = `${formatDuration(ALERT_BEFORE_MS_MAX)} (ALERT_BEFORE_MS_MAX)`
    throw malformed(`"relative_to.before" must be a multiple of "every" of at most ${limit}`)
  }
}

/** Undefined where there is nothing to compare with. */
export function ratio(value: number | undefined, of: number | undefined): number | undefined {
  return value === undefined || of === undefined || of === 0 ? undefined : value / of
}

/**
 * Each group against what it was. One that has no events any more counts as 0, of counts; more of
 * those than fit are told as not judged.
 */
export function comparedWith(
  window: SeenWindow,
  earlier: readonly SeenGroup[],
  isCount: boolean,
): SeenWindow {
  const was = new Map(earlier.map(({ groupJson, value }) => [groupJson, value]))
  const groups = window.groups.map((group): SeenGroup => {
    return { ...group, value: ratio(group.value, was.get(group.groupJson)) }
  })
  const now = new Set(groups.map(({ groupJson }) => groupJson))
  const gone = earlier.filter(({ groupJson }) => !now.has(groupJson))
  const judged = gone.slice(0, Math.max(0, ALERT_GROUPS_MAX - groups.length))
  for (const { groupJson, value } of judged) {
    groups.push({ groupJson, value: isCount ? ratio(0, value) : undefined, events: 0 })
  }
  return { ...window, groups, groupCount: window.groupCount + gone.length }
}
