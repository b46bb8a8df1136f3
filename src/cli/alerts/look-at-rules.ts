/** What rules do now, and what they did. */
import type { Client } from '../client.ts'
import { EXIT_NOTHING, EXIT_OK, type Invocation, textOf } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import {
  conditionText,
  type GroupState,
  groupText,
  numberText,
  type Rule,
  rulePath,
  stateOf,
} from './rules.ts'

/** The worst first. */
const STATES = ['firing', 'firing, paused', 'failing', 'pending', 'quiet', 'paused']
const LIMIT_DEFAULT = 50
const LIMIT_MAX = 1_000

export async function list({ client, terminal, values }: Invocation): Promise<number> {
  const rank = (rule: Rule) => STATES.indexOf(stateOf(rule))
  const all = (await client.listAll<Rule>('alerts/rules', 'rules'))
    .filter(({ groups_firing: firing }) => values.firing !== true || firing > 0)
    .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
  if (values.json === true) {
    for (const rule of all) terminal.json(JSON.stringify(rule))
  } else {
    const rows = all.map((rule) => {
      const { groups_firing: firing, group_by: by } = rule
      const state = stateOf(rule) + (firing > 0 && by.length > 0 ? ` ${firing}` : '')
      const query = rule.query === '' ? 'all events' : rule.query
      const tells = rule.channels.join(',') || '-'
      return [state, rule.name, conditionText(rule), by.join(',') || '-', query, tells]
    })
    terminal.line(terminal.table([['STATE', 'RULE', 'FIRES WHEN', 'BY', 'OF', 'TELLS'], ...rows]))
    for (const { name, problem, paused } of all) {
      if (problem !== null && !paused) terminal.note(`${name} is not evaluated: ${problem}`)
    }
  }
  return values.firing === true && all.length === 0 ? EXIT_NOTHING : EXIT_OK
}

export async function show(
  { client, terminal, values }: Invocation,
  [name]: readonly string[],
): Promise<number> {
  const text = await client.text(rulePath(name!))
  const groupsText = await client.text(`${rulePath(name!)}/groups`)
  if (values.json === true) {
    terminal.json(text)
    terminal.json(groupsText)
    return EXIT_OK
  }
  const rule = JSON.parse(text) as Rule
  const { groups } = JSON.parse(groupsText) as { readonly groups: readonly GroupState[] }
  terminal.line(terminal.table(await linesOf(client, rule)))
  if (groups.length === 0) return EXIT_OK
  const rows = groups.map((one) => [
    ...[one.state + heldText(one), groupText(one.group), numberText(one.value)],
    ...[one.since, one.last_seen],
  ])
  terminal.line('')
  terminal.line(terminal.table([['STATE', 'GROUP', 'VALUE', 'SINCE', 'LAST EVENTS'], ...rows]))
  return EXIT_OK
}

function heldText({ acknowledged, silenced_by: silences = [] }: GroupState): string {
  const told = [
    ...(acknowledged ? ['acknowledged'] : []),
    ...(silences.length > 0 ? ['silenced'] : []),
  ]
  return told.map((word) => `, ${word}`).join('')
}

async function linesOf(client: Client, rule: Rule): Promise<string[][]> {
  const { streams, group_by: by, description, time_basis: basis, problem } = rule
  const names =
    streams === '*' ? 'all that its owner sees' : (await streamNames(client, streams)).join(', ')
  return [
    ['RULE', rule.name],
    ['state', stateOf(rule)],
    ...(problem === null ? [] : [['problem', `${problem} (${rule.failures} tries)`]]),
    ['fires when', conditionText(rule)],
    ...(by.length === 0 ? [] : [['by', by.join(', ')]]),
    ['of', rule.query === '' ? 'all events' : rule.query],
    ['streams', names],
    ['time', basis === 'event_time' ? 'event time' : 'receipt'],
    ['severity', rule.severity],
    ['tells', rule.channels.join(', ') || 'nobody'],
    ...(description === '' ? [] : [['what for', description]]),
    ['owner', rule.owner],
    ['version', String(rule.version)],
    ['decided until', rule.decided_until],
  ]
}

/** Ids where the token may not list streams. */
async function streamNames(client: Client, ids: readonly string[]): Promise<readonly string[]> {
  const all = await client.listStreams().catch(() => [])
  return ids.map((id) => all.find((stream) => stream.id === id)?.name ?? id)
}

interface Happened {
  readonly kind: string
  readonly reason: string | null
  readonly group: readonly unknown[] | null
  readonly window: { readonly from: string; readonly to: string }
  readonly value: number | null
  readonly event_count: number | null
}

interface Decided {
  readonly from: string
  readonly to: string
  readonly outcome: string
  readonly value: number | null
  readonly event_count: number
  readonly groups: number
  readonly groups_in_breach: number
}

/** Throws `UsageError`. */
export function limitOf(value: string | boolean | undefined): number {
  const text = textOf(value)
  const limit = text === undefined ? LIMIT_DEFAULT : Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit
  throw new UsageError(`--limit takes 1 to ${LIMIT_MAX}`)
}

export async function history(
  { client, terminal, values }: Invocation,
  [name]: readonly string[],
): Promise<number> {
  const what = values.windows === true ? 'windows' : 'transitions'
  const query = { limit: String(limitOf(values.limit)) }
  const page = await client.json<Readonly<Record<string, unknown>>>(`${rulePath(name!)}/${what}`, {
    query,
  })
  const found = (page[what] as readonly unknown[]).toReversed()
  if (values.json === true) {
    for (const one of found) terminal.json(JSON.stringify(one))
  } else if (what === 'windows') {
    const rows = (found as readonly Decided[]).map((one) => [
      ...[one.from, one.to, one.outcome, numberText(one.value), String(one.event_count)],
      `${one.groups_in_breach} of ${one.groups}`,
    ])
    const heading = ['FROM', 'TO', 'OUTCOME', 'VALUE', 'EVENTS', 'GROUPS IN BREACH']
    terminal.line(terminal.table([heading, ...rows]))
  } else {
    const rows = (found as readonly Happened[]).map((one) => [
      ...[one.window.to, one.kind, groupText(one.group), numberText(one.value)],
      ...[numberText(one.event_count), one.reason ?? ''],
    ])
    terminal.line(terminal.table([['TIME', 'WHAT', 'GROUP', 'VALUE', 'EVENTS', 'WHY'], ...rows]))
  }
  return found.length === 0 ? EXIT_NOTHING : EXIT_OK
}
