/** Rules of alerts as the API tells them, and how they are put and named. */
import { labelValue } from '../../model/alerts/alert-matchers.ts'
import { type Conditional, type RuleFacts, ruleState } from '../../model/alerts/rule-words.ts'
import { EXIT_OK, type Invocation, textOf, type Values } from '../command.ts'
import {
  jsonElements,
  jsonObject,
  jsonText,
  parseKeeping,
  wholeJson,
} from '../events/exact-json.ts'

export interface RuleSettings extends Conditional {
  readonly streams: '*' | readonly string[]
  readonly query: string
  readonly group_by: readonly string[]
  readonly channels: readonly string[]
  readonly severity: string
  readonly description: string
  readonly time_basis: string
  readonly paused: boolean
}

export interface Rule extends RuleSettings, RuleFacts {
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly version: number
  readonly decided_until: string
  readonly failures: number
}

/** What the service tells of a rule beside what is put. */
const TOLD = [
  ...['id', 'name', 'owner', 'created_at', 'updated_at', 'version', 'decided_until'],
  ...['groups_firing', 'groups_pending', 'failures', 'problem'],
]

/** The values of `group_by`, as JSON each; null: the rule as a whole. */
export type GroupValues = readonly string[] | null

export interface GroupState {
  readonly group: GroupValues
  readonly fingerprint: string
  readonly state: 'inactive' | 'pending' | 'firing'
  readonly since: string
  readonly last_seen: string
  readonly value: number | null
  readonly acknowledged?: { readonly by?: string; readonly comment?: string } | null
  readonly silenced_by?: readonly string[]
}

/** Whose rule a name is of, for admins. */
export function ownerQuery({ owner }: Values): { readonly owner: string | undefined } {
  return { owner: textOf(owner) }
}

export function rulePath(name: string): string {
  return `alerts/rules/${encodeURIComponent(name)}`
}

/** What can be put, of what was told, or of what is in a file. */
export function settingsOf(told: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(told).filter(([name]) => !TOLD.includes(name)))
}

export function stateOf(rule: Rule): string {
  const state = ruleState(rule)
  return state === 'firing' && rule.paused ? 'firing, paused' : state
}

/** An answer, of which groups keep the digits of their numbers. */
export function parseGroups(text: string): unknown {
  return parseKeeping(wholeJson(text), 'group')
}

/** A page of what happened, the newest last: each as it stands in the answer, and read. */
export function readHistory<T>(text: string, name: string) {
  const newestFirst = [...jsonElements(jsonObject(wholeJson(text)).get(name)!)]
  return newestFirst.toReversed().map((element) => {
    return { json: jsonText(element), read: parseKeeping(element, 'group') as T }
  })
}

/** As one types them behind `ack`. */
export function groupText(group: GroupValues): string {
  if (group === null) return '-'
  return group.length === 0 ? 'all' : group.map(labelValue).join(' ')
}

export function numberText(value: number | null): string {
  return value === null ? '-' : String(value)
}

/** Replaces the version that is there now, whoever made it. */
export async function changePaused(
  { client, terminal, values }: Invocation,
  name: string,
  paused: boolean,
): Promise<number> {
  const rule = await client.json<Rule>(rulePath(name), { query: ownerQuery(values) })
  const text = await client.text(rulePath(rule.name), {
    method: 'PUT',
    query: { owner: rule.owner },
    headers: { 'If-Match': `"${rule.version}"` },
    body: { ...settingsOf(rule), paused },
  })
  if (values.json === true) terminal.json(text)
  else terminal.note(`${rule.name} ${paused ? 'is paused' : 'goes on'}`)
  return EXIT_OK
}
