/** What a silence is about: labels of alerts, as Alertmanager writes them. */
import {
  type AlertMatcher,
  labelName,
  labelValue,
  matcherText,
  tryReadMatcher,
} from '../../src/model/alerts/alert-matchers.ts'

export interface SilenceInfo {
  readonly id: string
  readonly matchers: readonly AlertMatcher[]
  readonly from: string
  readonly to: string
  readonly comment: string
  readonly author?: string
}

/** That are true for the alerts of this group of a rule: its values are JSON. */
export function groupMatchers(
  { name, group_by: by }: { readonly name: string; readonly group_by: readonly string[] },
  group: readonly string[] | null,
): readonly AlertMatcher[] {
  const own = by.map((field, at) => {
    return { name: labelName(field), value: labelValue(group?.[at] ?? 'null') }
  })
  return [{ name: 'alertname', value: name }, ...(group === null ? [] : own)]
}

const SIGNS = ['!~', '=~', '!=', '='] as const

/** One a line. Throws with what is wrong. */
export function readMatchers(text: string): readonly AlertMatcher[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) throw new Error('Say of which labels, such as alertname=web-errors')
  return lines.map((line) => {
    const matcher = tryReadMatcher(line)
    if (matcher === undefined) throw new Error(`“${line.trim()}” is not like ${SIGNS.map(example)}`)
    const { value } = matcher
    return { ...matcher, value: /^\s*"(.*)"\s*$/.exec(value)?.[1] ?? value.trim() }
  })
}

function example(sign: string): string {
  return ` service${sign}cart`
}

/** For addresses. */
export function matchersParam(matchers: readonly AlertMatcher[]): string {
  return matchers.map(matcherText).join('\n')
}
