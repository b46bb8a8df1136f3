/** What rules do now, and what they did. */
import { conditionWords, RULE_STATES, ruleState } from '../../model/alerts/rule-words.ts'
import type { Client } from '../client.ts'
import { EXIT_NOTHING, EXIT_OK, type Invocation, textOf } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import {
  type GroupState,
  type GroupValues,
  groupText,
  numberText,
  ownerQuery,
  parseGroups,
  type Rule,
  readHistory,
  rulePath,
  stateOf,
} from './rules.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 1_000

export async function list({ client, terminal, values }: Invocation): Promise<number> {
  // What fires and is paused comes behind what fires.
  const rank = (rule: Rule) => {
    const state = ruleState(rule)
    return 2 * RULE_STATES.indexOf(state) + Number(state === 'firing' && rule.paused)
  }
  const { owner } = ownerQuery(values)
  const all = (await client.listAll<Rule>('alerts/rules', 'rules'))
    .filter((rule) => owner === undefined || rule.owner === owner)
    .filter(({ groups_firing: firing }) => values.firing !== true || firing > 0)
    .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
  if (values.json === true) {
    for (const rule of all) terminal.json(JSON.stringify(rule))
  } else {
    const isOfSeveral = new Set(all.map((rule) => rule.owner)).size > 1
    const ofOwner = (text: string) => (isOfSeveral ? [text] : [])
    const rows = all.map((rule) => {
      const { groups_firing: firing, group_by: by } = rule
      const state = stateOf(rule) + (firing > 0 && by.length > 0 ? ` ${firing}` : '')
      const query = rule.query === '' ? 'all events' : rule.query
      const tells = rule.channels.join(',') || '-'
      const meaning = [conditionWords(rule), by.join(',') || '-', query, tells]
      return [state, ...ofOwner(rule.owner), rule.name, ...meaning]
    })
    const heading = ['RULE', 'FIRES WHEN', 'BY', 'OF', 'TELLS']
    terminal.line(terminal.table([['STATE', ...ofOwner('OWNER'), ...heading], ...rows]))
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
  const query = ownerQuery(values)
  const text = await client.text(rulePath(name!), { query })
  const groupsText = await client.text(`${rulePath(name!)}/groups`, { query })
  if (values.json === true) {
    terminal.json(text)
    terminal.json(groupsText)
    return EXIT_OK
  }
  const rule = JSON.parse(text) as Rule
  const { groups } = parseGroups(groupsText) as { readonly groups: readonly GroupState[] }
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
    ['fires when', conditionWords(rule)],
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
  readonly group: GroupValues
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
  const query = { ...ownerQuery(values), limit: String(limitOf(values.limit)) }
  const text = await client.text(`${rulePath(name!)}/${what}`, { query })
  const found = readHistory<Happened & Decided>(text, what)
  if (values.json === true) {
    for (const { json } of found) terminal.json(json)
  } else if (what === 'windows') {
    const rows = found.map(({ read: one }) => [
      ...[one.from, one.to, one.outcome, numberText(one.value), String(one.event_count)],
      `${one.groups_in_breach} of ${one.groups}`,
    ])
    const heading = ['FROM', 'TO', 'OUTCOME', 'VALUE', 'EVENTS', 'GROUPS IN BREACH']
    terminal.line(terminal.table([heading, ...rows]))
  } else {
    const rows = found.map(({ read: one }) => [
      ...[one.window.to, one.kind, groupText(one.group), numberText(one.value)],
      ...[numberText(one.event_count), one.reason ?? ''],
    ])
    terminal.line(terminal.table([['TIME', 'WHAT', 'GROUP', 'VALUE', 'EVENTS', 'WHY'], ...rows]))
  }
  return found.length === 0 ? EXIT_NOTHING : EXIT_OK
}
