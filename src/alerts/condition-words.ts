import type { RuleSettings } from '../store/alerts/rule.ts'

/** `count > 20 in 3 of 5 windows of 1m, by service`. */
export function conditionWords(settings: RuleSettings): string {
  const { aggregate, condition, for: patience, window, every, group_by: by } = settings
  const figure =
    aggregate.field === undefined ? aggregate.fn : `${aggregate.fn}(${aggregate.field})`
  const often =
    patience.in === 1
      ? ` in ${window}`
      : ` in ${patience.of} of ${patience.in} windows of ${window}`
  const slides = every === window ? '' : `, every ${every}`
  const groups = by.length === 0 ? '' : `, by ${by.join(', ')}`
  return `${figure} ${condition.op} ${condition.value}${often}${slides}${groups}`
}
