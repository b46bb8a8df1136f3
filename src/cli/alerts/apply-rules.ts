/** Puts rules that are in files, and says what that changes; or what they would have done. */
import { isDeepStrictEqual } from 'node:util'
import { wholeRule } from '../../model/alerts/alert-rule.ts'
import { ApiFailure, type Client } from '../client.ts'
import { rangeOf } from '../clock.ts'
import { EXIT_FAILED, EXIT_OK, type Invocation } from '../command.ts'
import { type FiledRule, readRuleFiles } from './rule-files.ts'
import {
  type GroupValues,
  groupText,
  numberText,
  ownerQuery,
  parseGroups,
  type Rule,
  rulePath,
  settingsOf,
} from './rules.ts'

const NOT_FOUND = 404

/** One after another; a rule that is refused keeps none of the others from being put. */
export async function applyRules(
  invocation: Invocation,
  [path]: readonly string[],
): Promise<number> {
  const { terminal, values } = invocation
  let failed = 0
  for (const rule of readRuleFiles(path!)) {
    try {
      const { done, members } = await apply(invocation, rule)
      if (values.json === true) terminal.json(JSON.stringify({ rule: rule.name, done, members }))
      else terminal.line(`${rule.name}: ${wordsOf(done, members, values['dry-run'] === true)}`)
    } catch (cause) {
      if (!(cause instanceof ApiFailure) || cause.status === undefined) throw cause
      failed++
      terminal.note(`${rule.name} (${rule.place}): ${cause.message}`)
    }
  }
  return failed === 0 ? EXIT_OK : EXIT_FAILED
}

type Done = 'made' | 'changed' | 'unchanged'

interface Applied {
  readonly done: Done
  /** What is another than before. */
  readonly members: readonly string[]
}

async function apply({ client, values }: Invocation, rule: FiledRule): Promise<Applied> {
  const { name, settings } = rule
  const query = ownerQuery(values)
  // Others make their rules themselves.
  const before =
    query.owner === undefined
      ? await tryRead(client, name)
      : await client.json<Rule>(rulePath(name), { query })
  if (values['dry-run'] === true) {
    await judge(client, settings)
    if (before === undefined) return { done: 'made', members: [] }
    return appliedOf(settingsOf(before), wholeRule(await withViewSearch(client, settings)))
  }
  const headers: Record<string, string> =
    before === undefined ? { 'If-None-Match': '*' } : { 'If-Match': `"${before.version}"` }
  const after = await client.json<Rule>(rulePath(name), {
    ...{ method: 'PUT', headers, query, body: settings },
  })
  if (before === undefined) return { done: 'made', members: [] }
  const applied = appliedOf(settingsOf(before), settingsOf(after))
  // Rights are no member of it.
  return before.version === after.version
    ? { done: 'unchanged', members: [] }
    : { ...applied, done: 'changed' }
}

async function tryRead(client: Client, name: string): Promise<Rule | undefined> {
  try {
    return await client.json<Rule>(rulePath(name))
  } catch (cause) {
    if (cause instanceof ApiFailure && cause.status === NOT_FOUND) return undefined
    throw cause
  }
}

/** The service judges a rule also when it is only tried: over a range without a window. */
async function judge(client: Client, rule: object): Promise<void> {
  await client.call('alerts/backtest', { body: { rule, from: '-1s' } })
}

/** As the service does it, which has judged the rule: with the search of its view. */
async function withViewSearch(client: Client, rule: FiledRule['settings']) {
  const { view_id: viewId, query, streams } = rule
  if (viewId === undefined || query !== undefined) return rule
  const view = await client.json<{ query: string }>(`streams/${streams}/views/${viewId}`)
  return { ...rule, query: view.query }
}

function appliedOf(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Applied {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const members = [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]))
  members.sort()
  return { done: members.length === 0 ? 'unchanged' : 'changed', members }
}

function wordsOf(done: Done, members: readonly string[], isDry: boolean): string {
  if (done === 'unchanged') return 'unchanged'
  const what = members.length === 0 ? '' : `: ${members.join(', ')}`
  return `${isDry ? 'would be ' : ''}${done}${what}`
}

interface Backtest {
  readonly decided_until: string
  readonly gap: { readonly from: string; readonly to: string } | null
  readonly windows: readonly { readonly outcome: string }[]
  readonly transitions: readonly {
    readonly kind: string
    readonly group: GroupValues
    readonly window: { readonly to: string }
    readonly value: number | null
    readonly event_count: number | null
  }[]
  readonly transition_count: number
}

/** What rules would have done over a past range. */
export async function backtestRules(
  { client, terminal, values }: Invocation,
  [path]: readonly string[],
): Promise<number> {
  for (const { name, settings } of readRuleFiles(path!)) {
    const body = { rule: settings, from: '-7d', ...rangeOf(values) }
    const text = await client.text('alerts/backtest', { body })
    if (values.json === true) terminal.json(text)
    else tellBacktest(terminal, name, parseGroups(text) as Backtest)
  }
  return EXIT_OK
}

function tellBacktest(terminal: Invocation['terminal'], name: string, test: Backtest): void {
  const { windows, transitions, transition_count: count, gap } = test
  const fired = transitions.filter(({ kind }) => kind === 'firing').length
  const least = count > transitions.length ? 'at least ' : ''
  const breaches = windows.filter(({ outcome }) => outcome === 'breach').length
  const rows = transitions.map((one) => [
    ...[one.window.to, one.kind, groupText(one.group), numberText(one.value)],
    numberText(one.event_count),
  ])
  const heading = ['TIME', 'WHAT', 'GROUP', 'VALUE', 'EVENTS']
  if (rows.length > 0) terminal.line(terminal.table([heading, ...rows]))
  terminal.note(
    `${name} would have fired ${least}${fired} times: ${windows.length} windows until ` +
      `${test.decided_until}, ${breaches} in breach`,
  )
  if (gap !== null) terminal.note(`events before ${gap.to} are gone`)
}
