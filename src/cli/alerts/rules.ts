/** Rules of alerts as the API tells them, and how they are put into words. */
import { EXIT_OK, type Invocation } from '../command.ts'

interface Aggregate {
  readonly fn?: string
  readonly field?: string
  readonly query?: string
}

export interface RuleSettings {
  readonly streams: '*' | readonly string[]
  readonly query: string
  readonly aggregate: Aggregate
  readonly relative_to?: Aggregate & { readonly before?: string }
  readonly group_by: readonly string[]
  readonly condition: { readonly op: string; readonly value: number }
  readonly window: string
  readonly every: string
  readonly for: { readonly of: number; readonly in: number }
  readonly channels: readonly string[]
  readonly severity: string
  readonly description: string
  readonly time_basis: string
  readonly paused: boolean
}

export interface Rule extends RuleSettings {
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly version: number
  readonly decided_until: string
  readonly groups_firing: number
  readonly groups_pending: number
  readonly failures: number
  readonly problem: string | null
}

/** What the service tells of a rule beside what is put. */
const TOLD = [
  ...['id', 'name', 'owner', 'created_at', 'updated_at', 'version', 'decided_until'],
  ...['groups_firing', 'groups_pending', 'failures', 'problem'],
]

export interface GroupState {
  readonly group: readonly unknown[] | null
  readonly fingerprint: string
  readonly state: 'inactive' | 'pending' | 'firing'
  readonly since: string
  readonly last_seen: string
  readonly value: number | null
  readonly acknowledged?: { readonly by?: string; readonly comment?: string } | null
  readonly silenced_by?: readonly string[]
}

export function rulePath(name: string): string {
  return `alerts/rules/${encodeURIComponent(name)}`
}

/** What can be put, of what was told, or of what is in a file. */
export function settingsOf(told: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(told).filter(([name]) => !TOLD.includes(name)))
}

export function stateOf(rule: Rule): string {
  if (rule.groups_firing > 0) return rule.paused ? 'firing, paused' : 'firing'
  if (rule.paused) return 'paused'
  if (rule.problem !== null) return 'failing'
  return rule.groups_pending > 0 ? 'pending' : 'quiet'
}

/** `count > 20 in 3 of 5 windows of 1m`. */
export function conditionText(rule: RuleSettings): string {
  const { aggregate, relative_to: relative, condition, for: patience, window, every } = rule
  const of =
    relative?.before === undefined ? relative && figureText(relative) : `${relative.before} before`
  const figure = figureText(aggregate) + (of === undefined ? '' : ` / ${of}`)
  const often = patience.in === 1 ? ' in' : ` in ${patience.of} of ${patience.in} windows of`
  const slides = every === window ? '' : `, every ${every}`
  return `${figure} ${condition.op} ${condition.value}${often} ${window}${slides}`
}

function figureText({ fn = 'count', field, query }: Aggregate): string {
  const of = field === undefined ? fn : `${fn} of ${field}`
  return query === undefined ? of : `${of} where ${query}`
}

/** As one types them behind `ack`. */
export function groupText(group: readonly unknown[] | null): string {
  if (group === null) return '-'
  return group.length === 0 ? 'all' : group.map(valueText).join(' ')
}

export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
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
  const rule = await client.json<Rule>(rulePath(name))
  const text = await client.text(rulePath(rule.name), {
    method: 'PUT',
    headers: { 'If-Match': `"${rule.version}"` },
    body: { ...settingsOf(rule), paused },
  })
  if (values.json === true) terminal.json(text)
  else terminal.note(`${rule.name} ${paused ? 'is paused' : 'goes on'}`)
  return EXIT_OK
}
