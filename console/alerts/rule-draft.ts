/** What is typed of a rule, from a rule or from the address of a search, and back. */
import { parse } from '../../src/language/parse.ts'
import { RULE_DEFAULTS, ruleTimes } from '../../src/model/alerts/alert-rule.ts'
import { failureText } from '../base/api.ts'
import type { Clock } from '../base/clock.ts'
import {
  apiField,
  fieldListText,
  fieldOfApi,
  fieldText,
  readFieldList,
  readFieldText,
} from '../base/field.ts'
import { type Route, readList } from '../base/route.ts'
import { findStream } from '../base/stream.ts'
import { FUNCTIONS, isOfEvents } from '../base/view.ts'
import { type RuleInfo, type RuleSettings, settingsOf } from './rule.ts'

export const OPERATORS = ['>', '>=', '<', '<=', '==', '!='] as const
export const SEVERITIES = ['info', 'warning', 'critical'] as const

/** Numbers are as they are typed; texts by names are a line each. */
export interface Draft {
  readonly name: string
  readonly description: string
  readonly streams: '*' | readonly string[]
  readonly query: string
  readonly fn: string
  readonly of: string
  /** Of what the figure is, beside the query. */
  readonly counts: string
  /** What it is divided by; `kept`: as the rule has it, which this page cannot say. */
  readonly relative: 'none' | 'share' | 'before' | 'kept'
  readonly before: string
  readonly by: string
  readonly op: string
  readonly value: string
  readonly window: string
  readonly every: string
  readonly ofWindows: string
  readonly inWindows: string
  readonly keepFiring: string
  readonly noData: RuleSettings['no_data']
  readonly basis: Clock
  readonly delay: string
  readonly severity: string
  readonly repeat: string
  readonly sendsResolved: boolean
  readonly labels: string
  readonly annotations: string
  readonly channels: readonly string[]
}

const WINDOW = '5m'
const NEW: RuleSettings = {
  ...RULE_DEFAULTS,
  ...ruleTimes(WINDOW, RULE_DEFAULTS.time_basis),
  condition: { op: '>', value: 0 },
  window: WINDOW,
}

/** Of a search in Explore, by the parameters that the address of it has. */
export function draftOfSearch({ streamId, params }: Route): Draft {
  const query = params.get('q') ?? ''
  const fn = FUNCTIONS.find((known) => known === params.get('fn')) ?? 'count'
  return {
    ...draftOf(NEW, ''),
    ...{ query, fn, of: isOfEvents(fn) ? '' : (params.get('of') ?? '') },
    by: fieldListText(readFieldList(params.get('by') ?? '')),
    streams: streamId === undefined ? '*' : [streamId],
    name: nameFor(findStream(streamId)?.name ?? '', query),
    channels: readList(params.get('channels')),
  }
}

const NAME_CHARS_MAX = 60

/** `level:error timeout` in web is `web-level-error-timeout`. */
function nameFor(streamName: string, query: string): string {
  const words = `${streamName} ${query}`.match(/[A-Za-z0-9_]+/g) ?? []
  const name = words.join('-').slice(0, NAME_CHARS_MAX).replace(/-+$/, '')
  return /^[A-Za-z_]/.test(name) ? name : name === '' ? 'events' : `rule-${name}`
}

export function draftOfRule(rule: RuleInfo): Draft {
  return draftOf(rule, rule.name)
}

function draftOf(rule: RuleSettings, name: string): Draft {
  const { aggregate, condition, for: patience } = rule
  const measured = aggregate.field === undefined ? undefined : fieldOfApi(aggregate.field)
  const by = rule.group_by.flatMap((path) => fieldOfApi(path) ?? [])
  return {
    ...{ name, description: rule.description, streams: rule.streams, query: rule.query },
    ...{ fn: aggregate.fn, of: measured === undefined ? '' : fieldText(measured) },
    ...{ counts: aggregate.query ?? '', relative: relativeOf(rule) },
    before: rule.relative_to?.before ?? '1w',
    ...{ by: fieldListText(by), op: condition.op, value: String(condition.value) },
    window: rule.window,
    every: rule.every === rule.window ? '' : rule.every,
    ...{ ofWindows: String(patience.of), inWindows: String(patience.in) },
    ...{ keepFiring: String(rule.keep_firing), noData: rule.no_data },
    ...{ basis: rule.time_basis, delay: rule.time_basis === 'event_time' ? rule.delay : '' },
    ...{ severity: rule.severity, repeat: rule.repeat, sendsResolved: rule.send_resolved },
    ...{ labels: linesOf(rule.labels), annotations: linesOf(rule.annotations) },
    channels: rule.channels,
  }
}

/** What is put; of a rule that is there, what this page does not know stays. */
export function settingsOfDraft(draft: Draft, opened?: RuleInfo): RuleSettings {
  const before = opened === undefined ? NEW : settingsOf(opened)
  const { every: _, delay: __, relative_to: relativeTo, ...kept } = before
  const of = isOfEvents(draft.fn) ? undefined : readFieldText(draft.of)
  const field = of && apiField(of)
  const counts = draft.counts.trim()
  const settings = {
    ...kept,
    ...{ description: draft.description, streams: draft.streams, query: draft.query.trim() },
    aggregate: { ...{ fn: draft.fn, field }, ...(counts !== '' && { query: counts }) },
    ...relativeMembers(draft, relativeTo),
    group_by: readFieldList(draft.by).map(apiField),
    condition: { op: draft.op, value: Number(draft.value) },
    window: draft.window.trim(),
    ...(draft.every.trim() !== '' && { every: draft.every.trim() }),
    for: { of: Number(draft.ofWindows), in: Number(draft.inWindows) },
    ...{ keep_firing: Number(draft.keepFiring), no_data: draft.noData },
    time_basis: draft.basis,
    ...(draft.basis === 'event_time' && draft.delay.trim() !== '' && { delay: draft.delay.trim() }),
    ...{ severity: draft.severity, repeat: draft.repeat.trim() },
    send_resolved: draft.sendsResolved,
    labels: textsOf(draft.labels),
    annotations: textsOf(draft.annotations),
    channels: draft.channels,
  }
  return settings as RuleSettings
}

/** Why nothing is asked of the service yet; the rest is judged there. */
export function mistakeOf(draft: Draft): string | undefined {
  try {
    parse(draft.query)
    parse(draft.counts)
  } catch (cause) {
    return `The query: ${failureText(cause)}`
  }
  if (!isOfEvents(draft.fn) && draft.of.trim() === '') return `${draft.fn} is of a field: name it`
  const numbers = [draft.value, draft.ofWindows, draft.inWindows, draft.keepFiring]
  const isNumber = (text: string) => text.trim() !== '' && Number.isFinite(Number(text))
  if (!numbers.every(isNumber)) return 'A number is missing'
  if (draft.streams !== '*' && draft.streams.length === 0) return 'Choose a stream, or several'
  return undefined
}

/** Of all that the query finds; another aggregate is one that the API alone can give. */
function relativeOf({ relative_to: relative }: RuleSettings): Draft['relative'] {
  if (relative === undefined) return 'none'
  if (relative.before !== undefined) return 'before'
  const { fn, ...more } = relative
  return fn === 'count' && Object.keys(more).length === 0 ? 'share' : 'kept'
}

function relativeMembers({ relative, before }: Draft, kept: RuleSettings['relative_to']) {
  switch (relative) {
    case 'share':
      return { relative_to: { fn: 'count' } }
    case 'before':
      return { relative_to: { before: before.trim() } }
    case 'kept':
      return { relative_to: kept }
    default:
      return {}
  }
}

function linesOf(texts: Readonly<Record<string, string>>): string {
  return Object.entries(texts)
    .map(([name, text]) => `${name}: ${text}`)
    .join('\n')
}

function textsOf(lines: string): Readonly<Record<string, string>> {
  const pairs = lines.split('\n').flatMap((line): [string, string][] => {
    const at = line.indexOf(':')
    if (line.trim() === '') return []
    return [at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]]
  })
  return Object.fromEntries(pairs)
}
