/** Labels of alerts: what silences match, and what messages have. */
import { readElementTexts } from '../../api/json-text.ts'
import { labelName, labelValue } from '../../model/alerts/alert-matchers.ts'
import type { RuleSettings } from '../../store/alerts/rule.ts'

type Labels = Readonly<Record<string, string>>
type Labelled = Pick<RuleSettings, 'labels' | 'severity' | 'group_by'>

/** The rule's own, those of the group, and who it is. Those of groups win over the rule's own. */
export function labelsOf(
  settings: Labelled | undefined,
  ruleName: string,
  groupJson: string,
): Labels {
  return {
    ...settings?.labels,
    ...groupLabelsOf(settings?.group_by, groupJson),
    alertname: ruleName,
    ...(settings !== undefined && { severity: settings.severity }),
  }
}

/** Those of the group alone. */
export function groupLabelsOf(fields: readonly string[] = [], groupJson: string): Labels {
  const values = readElementTexts(groupJson)
  return Object.fromEntries(
    values.map((json, index) => [labelName(fields[index] ?? `group_${index}`), labelValue(json)]),
  )
}

/** Labels, or annotations, that all of them have in common. */
export function commonOf(all: readonly Labels[]): Labels {
  const [first = {}, ...others] = all
  const common = Object.entries(first).filter(([name, value]) => {
    return others.every((labels) => labels[name] === value)
  })
  return Object.fromEntries(common)
}
