/** Why a rule fires: the window, its value, the events of it, and what else changed then. */

import { countedEventsQuery, countedStream } from '../alerts/counted-events-query.ts'
import { taskOf } from '../alerts/rule-settings.ts'
import { findVisibleRule } from '../alerts/visible-rules.ts'
import { readElementTexts, readMemberTexts, withMemberTexts } from '../api/json-text.ts'
import { IngestError } from '../errors.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { hasScope, type Stream } from '../model/stream.ts'
import { type AggregateDeps, aggregateText } from '../read/aggregate/aggregate.ts'
import { readAggregateRequest } from '../read/aggregate/aggregate-request.ts'
import type { Lane } from '../read/lane.ts'
import { type SearchDeps, search } from '../read/search/search.ts'
import { readSearchRequest } from '../read/search/search-request.ts'
import type { StoredState } from '../store/alerts/decision-store.ts'
import type { Rule, ToldRule } from '../store/alerts/rule.ts'
import type { Transition, TransitionStore } from '../store/alerts/transition-store.ts'
import type { DecidedWindow } from '../store/alerts/window-store.ts'
import type { AgentTool, ToolCall } from './agent-tool.ts'
import { cutStrings, fitRows } from './fit-text.ts'
import {
  firesWhen,
  type ListAlertsDeps,
  namedValues,
  stateOf,
  tellGroup,
  toldProblem,
} from './list-alerts.ts'
import { tellRecord } from './search-events.ts'

export interface ExplainAlertDeps extends ListAlertsDeps, AggregateDeps {
  readonly alerts: ListAlertsDeps['alerts'] & {
    readonly transitions: Pick<TransitionStore, 'list'>
    /** What a rule reads, with the rights of its owner. Throws when he may not any more. */
    readonly streamsOf: (rule: Rule) => Promise<readonly Stream[]>
  }
  readonly queries: Lane
  readonly search: SearchDeps
  readonly nowMs: () => number
}

const TRANSITIONS_LOOKED_AT = 200
const WINDOWS_SHOWN = 12
const GROUPS_SHOWN = 20
const SAMPLES_SHOWN = 5
const SAMPLE_CHARS_MAX = 2_000
const SAMPLES_CHARS_MAX = 8_000
const GROUPS_CHARS_MAX = 8_000
const CHANGES_SHOWN = 8
const CHANGES_LOOKED_AT = 200
const CHANGES_MS_MAX = 5_000

export function explainAlertTool(deps: ExplainAlertDeps): AgentTool {
  return {
    name: 'explain_alert',
    title: 'Explain an alert',
    description:
      'Why a rule of alerts fires, or last fired: the window that made it, its value against the ' +
      'threshold, the windows since, its groups, events of that window, the arguments with which ' +
      'search_events finds all of them, and what else changed in its streams at that time. ' +
      'Without "group" the group that fired last.',
    scope: 'alerts:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: {
        rule: { type: 'string', maxLength: 128, description: 'Its name or id' },
        group: {
          type: 'string',
          pattern: '^[0-9a-f]{4,64}$',
          must: 'the beginning of a "fingerprint"',
          description: 'The `fingerprint` of a group, as list_alerts tells it',
        },
      },
      required: ['rule'],
    },
    run: async (call) => {
      const { principal, args, signal } = call
      const told = await deps.lists.run(principal.tokenId, signal, async () => {
        const rule = await findVisibleRule(deps.alerts.rules, principal, String(args.rule))
        return await lookUp(deps, rule, args.group as string | undefined)
      })
      return await explain(deps, call, told)
    },
  }
}

interface Looked {
  readonly rule: ToldRule
  readonly groups: readonly StoredState[]
  /** The newest first. */
  readonly windows: readonly DecidedWindow[]
  /** With which it fired, or was about to; undefined: it never did, as far as is remembered. */
  readonly fired: Transition | undefined
}

async function lookUp(
  { alerts }: ExplainAlertDeps,
  rule: ToldRule,
  wanted: string | undefined,
): Promise<Looked> {
  const before = Number.MAX_SAFE_INTEGER
  const [groups, windows, transitions] = await Promise.all([
    alerts.windows.readGroups(rule.ruleId),
    alerts.windows.list(rule.ruleId, { before, limit: WINDOWS_SHOWN }),
    alerts.transitions.list(rule.ruleId, { before, limit: TRANSITIONS_LOOKED_AT }),
  ])
  const own = transitions.filter(({ fingerprint }) => {
    return wanted === undefined || fingerprint?.startsWith(wanted) === true
  })
  const isKnown = groups.some(({ fingerprint }) => fingerprint.startsWith(wanted ?? ''))
  if (wanted !== undefined && own.length === 0 && !isKnown) {
    throw new IngestError('not_found', 'the rule has no such group; list_alerts names them')
  }
  const fired =
    own.find(({ kind }) => kind === 'firing') ?? own.find(({ kind }) => kind === 'pending')
  return { rule, groups, windows, fired }
}

async function explain(deps: ExplainAlertDeps, call: ToolCall, looked: Looked): Promise<string> {
  const { rule, fired, windows } = looked
  const { settings } = rule
  const groups = fitRows(groupRows(looked), GROUPS_CHARS_MAX)
  const head = {
    ...{ id: String(rule.ruleId), rule: rule.name, state: stateOf(rule) },
    ...{ severity: settings.severity, fires_when: firesWhen(settings) },
    ...{ description: settings.description, query: settings.query, streams: settings.streams },
    ...{ time_basis: settings.time_basis, changed_at: formatTimeMs(rule.updatedAtMs) },
    ...{ annotations: settings.annotations, problem: toldProblem(rule) ?? null },
  }
  const parts = [
    `"rule":${cutStrings(JSON.stringify(head))}`,
    `"fired":${fired === undefined ? 'null' : cutStrings(tellFired(rule, fired))}`,
    `"groups":[${groups.json}],"groups_left_out":${looked.groups.length - groups.count}`,
    `"last_windows":${JSON.stringify(windows.map(tellWindow))}`,
  ]
  if (fired === undefined) {
    const hint = 'it did not fire, as far as is remembered'
    return `{${[...parts, `"hint":${JSON.stringify(hint)}`].join(',')}}`
  }
  return `{${[...parts, ...(await events(deps, call, rule, fired))].join(',')}}`
}

const STATES = ['firing', 'pending', 'inactive']

function groupRows({ rule, groups }: Looked): string[] {
  return groups
    .toSorted((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state))
    .slice(0, GROUPS_SHOWN)
    .map((state) => cutStrings(tellGroup(rule, state)))
}

function tellFired({ settings, version }: ToldRule, fired: Transition): string {
  const { condition, group_by: names } = settings
  const members = {
    kind: fired.kind,
    window: { from: formatTimeMs(fired.fromMs), to: formatTimeMs(fired.untilMs) },
    ...{ value: fired.value ?? null, op: condition.op, threshold: condition.value },
    event_count: fired.events ?? null,
    ...(fired.ruleVersion !== version && { by_version: fired.ruleVersion, now_version: version }),
  }
  return withMemberTexts(members, { group: namedValues(names, fired.groupJson) })
}

function tellWindow({ untilMs, outcome, value, events }: DecidedWindow): object {
  return { to: formatTimeMs(untilMs), outcome, value: value ?? null, events }
}

/** Samples, how to find all of them, and what else changed: for who may read events. */
async function events(
  deps: ExplainAlertDeps,
  { principal, signal }: ToolCall,
  rule: ToldRule,
  fired: Transition,
): Promise<readonly string[]> {
  const { settings } = rule
  const query = countedEventsQuery(settings, fired.groupJson)
  const range = { from: formatTimeMs(fired.fromMs), to: formatTimeMs(fired.untilMs) }
  const one = countedStream(settings, fired.groupJson ?? '[]')
  const named = one === undefined ? settings.streams : [one]
  const stream = named !== '*' && named.length === 1 ? named[0]! : '*'
  const asked = { stream, query, ...range, time_basis: settings.time_basis }
  const parts =
    query === undefined
      ? ['"search_events":null,"search_hint":"no query finds exactly this group"']
      : [`"search_events":${JSON.stringify(asked)}`]
  if (!hasScope(principal, 'events:read')) {
    return [...parts, '"samples":null,"samples_hint":"that takes the scope events:read"']
  }
  const read = await tryStreams(deps, rule)
  // Of an owner without rights, or a stream that is gone; the rest is worth telling.
  if (typeof read === 'string') {
    return [...parts, `"samples":null,"samples_hint":${JSON.stringify(read)}`]
  }
  const streams = one === undefined ? read : read.filter(({ streamId }) => String(streamId) === one)
  return await deps.queries.run(principal.tokenId, signal, async () => {
    const [samples, changes] = await Promise.all([
      query === undefined ? [] : readSamples(deps, streams, { ...asked, query }, signal),
      readChanges(deps, streams, rule, fired, signal),
    ])
    const shown = fitRows(samples, SAMPLES_CHARS_MAX)
    return [...parts, `"samples":[${shown.json}]`, `"changed":${changes}`]
  })
}

/** The streams of the rule, or why there are none to read. */
async function tryStreams(
  { alerts }: ExplainAlertDeps,
  rule: Rule,
): Promise<readonly Stream[] | string> {
  try {
    return await alerts.streamsOf(rule)
  } catch (cause) {
    if (cause instanceof IngestError) return cause.message
    throw cause
  }
}

interface AskedEvents {
  readonly query: string
  readonly from: string
  readonly to: string
  readonly time_basis: string
}

async function readSamples(
  deps: ExplainAlertDeps,
  streams: readonly Stream[],
  { query, from, to, time_basis }: AskedEvents,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const members = { query, from, to, time_basis, limit: SAMPLES_SHOWN }
  const request = readSearchRequest(members, deps.nowMs())
  const task = { request, streams, includesStreamId: false }
  const answer = readMemberTexts(Buffer.from(await search(deps.search, task, signal)).toString())
  const records = readElementTexts(answer.get('events') ?? '[]')
  return records.map((record) => tellRecord(record, { eventCharsMax: SAMPLE_CHARS_MAX }))
}

/**
 * Counts of all events of the streams by service and level, in the window and in the one before:
 * those that changed the most.
 */
async function readChanges(
  deps: ExplainAlertDeps,
  streams: readonly Stream[],
  { settings }: ToldRule,
  { fromMs, untilMs }: Transition,
  signal: AbortSignal,
): Promise<string> {
  const { windowMs } = taskOf(settings)
  const time = settings.time_basis === 'event_time' ? '_event_time' : '_ingested_at'
  const members = {
    ...{ from: formatTimeMs(fromMs - windowMs), to: formatTimeMs(untilMs) },
    time_basis: settings.time_basis,
    aggregates: [
      { fn: 'count', as: 'both' },
      { fn: 'count', as: 'now', query: `${time}:>="${formatTimeMs(fromMs)}"` },
    ],
    group_by: ['_service', '_level'],
    limit: CHANGES_LOOKED_AT,
    timeout_ms: CHANGES_MS_MAX,
  }
  try {
    const request = readAggregateRequest(members, deps.nowMs())
    const answer = readMemberTexts(await aggregateText(deps, request, streams, signal))
    const rows = JSON.parse(answer.get('rows') ?? '[]') as readonly {
      readonly _service: string | null
      readonly _level: string | null
      readonly both: number
      readonly now: number
    }[]
    const changes = rows
      .map(({ _service, _level, both, now }) => ({ _service, _level, before: both - now, now }))
      .filter(({ before, now }) => before !== now)
      .sort((a, b) => Math.abs(b.now - b.before) - Math.abs(a.now - a.before))
      .slice(0, CHANGES_SHOWN)
    return cutStrings(JSON.stringify(changes))
  } catch (cause) {
    if (signal.aborted) throw cause
    return 'null' // The rest of the answer is worth telling.
  }
}
