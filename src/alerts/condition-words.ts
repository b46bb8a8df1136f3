import type { RuleSettings } from '../store/alerts/rule.ts'

type Figure = Omit<NonNullable<RuleSettings['relative_to']>, 'before'>

/** `count > 20 in 3 of 5 windows of 1m, by service`. */
export function conditionWords(settings: RuleSettings): string {
  const {
    aggregate,
    relative_to: relative,
    condition,
    for: patience,
    window,
    every,
    group_by: by,
  } = settings
  const figure = figureWords(aggregate) + (relative === undefined ? '' : ` / ${ofWords(relative)}`)
  const often =
    patience.in === 1
      ? ` in ${window}`
      : ` in ${patience.of} of ${patience.in} windows of ${window}`
  const slides = every === window ? '' : `, every ${every}`
  const groups = by.length === 0 ? '' : `, by ${by.join(', ')}`
  return `${figure} ${condition.op} ${condition.value}${often}${slides}${groups}`
}

function figureWords({ fn = 'count', field, query }: Figure): string {
  const figure = field === undefined ? fn : `${fn}(${field})`
  return query === undefined ? figure : `${figure} where ${query}`
}

/** What a value is divided by. */
export function ofWords(relative: NonNullable<RuleSettings['relative_to']>): string {
  return relative.before === undefined ? figureWords(relative) : `${relative.before} before`
}
