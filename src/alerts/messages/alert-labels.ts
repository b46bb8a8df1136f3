/** Labels of alerts: what silences match, and what messages have. */
import { quote, writeField } from '../../language/format.ts'
import { parse } from '../../language/parse.ts'
import { QueryError } from '../../language/query-error.ts'
import type { SystemFieldName } from '../../language/query-tree.ts'
import { readFieldRef } from '../../read/aggregate/field-ref.ts'
import type { RuleSettings } from '../../store/alerts/rule.ts'

type Labels = Readonly<Record<string, string>>
type Labelled = Pick<RuleSettings, 'labels' | 'severity' | 'group_by'>

/** From here on a value may be cut: it names no group for sure. */
const VALUE_CHARS_MAX = 1_024

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
  const values = JSON.parse(groupJson) as readonly unknown[]
  return Object.fromEntries(
    values.map((each, index) => [labelName(fields[index] ?? `group_${index}`), textOf(each)]),
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

/** Finds the events of a group, within a window; undefined where no query says that. */
export function groupQuery(
  { query, group_by: fields }: Pick<RuleSettings, 'query' | 'group_by'>,
  groupJson: string,
): string | undefined {
  const values = JSON.parse(groupJson) as readonly unknown[]
  const clauses = values.flatMap((value, index) => clauseOf(fields[index], value) ?? [])
  const isAll = query.trim() === ''
  const own = isAll || clauses.length === 0 ? query : `(${query})`
  const text = [...(isAll ? [] : [own]), ...clauses].join(' AND ')
  try {
    parse(text)
    return text
  } catch (cause) {
    if (cause instanceof QueryError) return undefined // Too long, with the values of its group.
    throw cause
  }
}

/** The stream that a group is of, where rules group by it. */
export function streamOfGroup(fields: readonly string[], groupJson: string): string | undefined {
  const value = (JSON.parse(groupJson) as readonly unknown[])[fields.indexOf('_stream')]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

/** Undefined: the query language has no words for it. */
function clauseOf(field: string | undefined, value: unknown): string | undefined {
  if (field === undefined || field === '_stream') return undefined
  const name = fieldText(field)
  if (value === null) return `NOT ${name}:*`
  if (typeof value === 'string' && value.length < VALUE_CHARS_MAX) return `${name}=${quote(value)}`
  if (typeof value === 'number' || typeof value === 'boolean') return `${name}=${value}`
  return undefined
}

function fieldText(name: string): string {
  const ref = readFieldRef('group_by', name)
  const span = { start: 0, end: 0 }
  return ref.kind === 'path'
    ? writeField({ kind: 'path', ...span, parts: [ref.path] })
    : writeField({ kind: 'system', ...span, name: ref.label as SystemFieldName })
}

/** Names of labels have letters, digits and `_`. */
function labelName(path: string): string {
  const name = path.replace(/[^a-zA-Z0-9_]/g, '_')
  return /^[0-9]/.test(name) ? `_${name}` : name
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
