/** What a silence is about: labels of alerts, as Alertmanager writes them. */
import type { GroupValues, RuleInfo } from './rule.ts'

export interface Matcher {
  readonly name: string
  readonly value: string
  readonly is_regex?: boolean
  readonly is_equal?: boolean
}

export interface SilenceInfo {
  readonly id: string
  readonly matchers: readonly Matcher[]
  readonly from: string
  readonly to: string
  readonly comment: string
  readonly author?: string
}

/** That are true for the alerts of this group of a rule. */
export function groupMatchers(rule: RuleInfo, group: GroupValues): readonly Matcher[] {
  const own = rule.group_by.map((field, at) => {
    const value = group?.[at] ?? null
    return {
      name: labelName(field),
      value: typeof value === 'string' ? value : JSON.stringify(value),
    }
  })
  return [{ name: 'alertname', value: rule.name }, ...(group === null ? [] : own)]
}

/** As messages name the label of a field. */
function labelName(field: string): string {
  const name = field.replace(/[^a-zA-Z0-9_]/g, '_')
  return /^[0-9]/.test(name) ? `_${name}` : name
}

const SIGNS = ['!~', '=~', '!=', '='] as const

/** `service=cart`, `service=~ca.*`, `service!=cart`, `service!~ca.*`. */
export function matcherText({
  name,
  value,
  is_regex: isRegex,
  is_equal: isEqual,
}: Matcher): string {
  const sign = isEqual === false ? (isRegex ? '!~' : '!=') : isRegex ? '=~' : '='
  return `${name}${sign}${value}`
}

/** One a line. Throws with what is wrong. */
export function readMatchers(text: string): readonly Matcher[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) throw new Error('Say of which labels, such as alertname=web-errors')
  return lines.map((line) => {
    const [, name, sign, value] = /^\s*([A-Za-z_]\w*)\s*(!~|=~|!=|=)(.*)$/.exec(line) ?? []
    if (name === undefined) throw new Error(`“${line.trim()}” is not like ${SIGNS.map(example)}`)
    const unquoted = /^\s*"(.*)"\s*$/.exec(value!)?.[1] ?? value!.trim()
    return {
      ...{ name, value: unquoted },
      ...(sign!.endsWith('~') && { is_regex: true }),
      ...(sign!.startsWith('!') && { is_equal: false }),
    }
  })
}

function example(sign: string): string {
  return ` service${sign}cart`
}

/** For addresses. */
export function matchersParam(matchers: readonly Matcher[]): string {
  return matchers.map(matcherText).join('\n')
}
