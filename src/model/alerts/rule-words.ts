/** A rule of alerts in words: what it does now, and when it fires. */

/** The worst first. */
export const RULE_STATES = ['firing', 'failing', 'pending', 'quiet', 'paused'] as const
export type RuleState = (typeof RULE_STATES)[number]

/** As the API tells it. */
export interface RuleFacts {
  readonly groups_firing: number
  readonly groups_pending: number
  readonly paused: boolean
  readonly problem: string | null
}

/** A rule that is paused while it fires goes on to fire. */
export function ruleState(rule: RuleFacts): RuleState {
  if (rule.groups_firing > 0) return 'firing'
  if (rule.paused) return 'paused'
  if (rule.problem !== null) return 'failing'
  return rule.groups_pending > 0 ? 'pending' : 'quiet'
}

interface Figure {
  readonly fn?: string
  readonly field?: string
  readonly query?: string
}

/** What a value is divided by: another figure, or what it was so long before. */
interface Divisor extends Figure {
  readonly before?: string
}

interface Judged {
  readonly aggregate: Figure
  readonly relative_to?: Divisor
}

export interface Conditional extends Judged {
  readonly condition: { readonly op: string; readonly value: number }
  readonly for: { readonly of: number; readonly in: number }
  readonly window: string
  readonly every: string
}

/** `count > 20 in 3 of 5 windows of 1m`. */
export function conditionWords(rule: Conditional): string {
  const { condition, for: patience, window, every } = rule
  const often = patience.in === 1 ? ' in' : ` in ${patience.of} of ${patience.in} windows of`
  const slides = every === window ? '' : `, every ${every}`
  return `${judgedWords(rule)} ${condition.op} ${condition.value}${often} ${window}${slides}`
}

/** `count where status:>=500 / count`. */
export function judgedWords({ aggregate, relative_to: relative }: Judged): string {
  const figure = figureWords(aggregate)
  return relative === undefined ? figure : `${figure} / ${divisorWords(relative)}`
}

export function divisorWords(relative: Divisor): string {
  return relative.before === undefined ? figureWords(relative) : `${relative.before} before`
}

function figureWords({ fn = 'count', field, query }: Figure): string {
  const figure = field === undefined ? fn : `${fn} of ${field}`
  return query === undefined ? figure : `${figure} where ${query}`
}
