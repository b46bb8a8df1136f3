/** Labels of alerts. */
import type { RuleSettings } from '../../store/alerts/rule.ts'

type Labels = Readonly<Record<string, string>>
type Labelled = Pick<RuleSettings, 'labels' | 'severity' | 'group_by'>

/** The rule's own, those of the group, and who it is. Those of groups win over the rule's own. */
export function labelsOf(
  settings: Labelled | undefined,
  ruleName: string,
  groupJson: string,
): Labels {
  const values = JSON.parse(groupJson) as readonly unknown[]
  const fields = settings?.group_by ?? []
  const ofGroup = values.map((each, index) => {
    return [labelName(fields[index] ?? `group_${index}`), textOf(each)] as const
  })
  return {
    ...settings?.labels,
    ...Object.fromEntries(ofGroup),
    alertname: ruleName,
    ...(settings !== undefined && { severity: settings.severity }),
  }
}

/** Names of labels have letters, digits and `_`. */
function labelName(path: string): string {
  const name = path.replace(/[^a-zA-Z0-9_]/g, '_')
  return /^[0-9]/.test(name) ? `_${name}` : name
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
