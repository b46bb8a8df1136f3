/**
 * What routes of alerts answer. Values of groups are passed on as JSON that is written already:
 * their numbers keep their digits.
 */

import type { Backtest, BacktestTransition } from '../alerts/backtest.ts'
import { problemOf, RULE_PROPERTIES } from '../alerts/rule-settings.ts'
import { withMemberTexts } from '../api/json-text.ts'
import { nullable, type ObjectSchema, RFC3339, type Schema } from '../api/schema.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { StoredState } from '../store/alerts/decision-store.ts'
import type { ToldRule } from '../store/alerts/rule.ts'
import type { Acknowledgement, Silence } from '../store/alerts/silence-store.ts'
import type { Transition } from '../store/alerts/transition-store.ts'
import type { DecidedWindow } from '../store/alerts/window-store.ts'

const WINDOW: ObjectSchema = {
  type: 'object',
  properties: { from: RFC3339, to: { ...RFC3339, description: 'Not itself in it' } },
}
const COUNT: Schema = { type: 'integer' }
const GROUP: Schema = nullable(
  { type: 'array', items: {} },
  { description: 'The values of `group_by`; null: the rule as a whole' },
)
const VALUE = nullable({ type: 'number' }, { description: 'Null: there was none' })

export const RULE: ObjectSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    name: { type: 'string' },
    owner: { type: 'string', description: 'With whose rights it reads' },
    ...RULE_PROPERTIES,
    created_at: RFC3339,
    updated_at: RFC3339,
    version: { type: 'integer', description: 'Rises with each change; also the `ETag`' },
    decided_until: { ...RFC3339, description: 'All windows that end up to here are decided' },
    groups_firing: { type: 'integer', description: 'How many of its groups fire' },
    groups_pending: { type: 'integer', description: 'How many are about to' },
    failures: { type: 'integer', description: 'Tries in a row that failed' },
    problem: nullable({ type: 'string' }, { description: 'Why its next window is not decided' }),
  },
}

export const GROUP_STATE: ObjectSchema = {
  type: 'object',
  properties: {
    group: GROUP,
    fingerprint: { type: 'string' },
    state: { type: 'string', enum: ['inactive', 'pending', 'firing'] },
    since: { ...RFC3339, description: 'The end of the window that brought it' },
    firing_since: nullable(RFC3339),
    last_seen: { ...RFC3339, description: 'The end of the last window with events of it' },
    value: VALUE,
    acknowledged: nullable(
      {
        type: 'object',
        properties: { by: { type: 'string' }, at: RFC3339, comment: { type: 'string' } },
      },
      { description: 'Who knows of it; it is not told until it is resolved' },
    ),
    silenced_by: {
      type: 'array',
      items: { type: 'string' },
      description: 'Ids of silences that hold it back now',
    },
  },
}

export const TRANSITION: ObjectSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    kind: { type: 'string', description: 'What became of it' },
    reason: nullable({ type: 'string' }),
    group: GROUP,
    fingerprint: nullable({ type: 'string' }),
    window: WINDOW,
    value: VALUE,
    event_count: nullable(COUNT),
    rule_version: COUNT,
    decided_at: RFC3339,
  },
}

const DECIDED = {
  from: RFC3339,
  to: RFC3339,
  outcome: { type: 'string', enum: ['clear', 'breach', 'no_data', 'gap'] },
  value: nullable(
    { type: 'number' },
    { description: 'Of several groups that of the nearest to breaking the rule' },
  ),
  event_count: COUNT,
  groups: COUNT,
  groups_not_judged: { type: 'integer', description: 'Past the bound of groups' },
  groups_in_breach: COUNT,
} as const satisfies Readonly<Record<string, Schema>>

export const DECIDED_WINDOW: ObjectSchema = {
  type: 'object',
  properties: {
    ...DECIDED,
    late_events: { type: 'integer', description: 'Of event time: those that came afterwards' },
    rule_version: COUNT,
    decided_at: RFC3339,
  },
}

export const BACKTEST: ObjectSchema = {
  type: 'object',
  properties: {
    decided_until: { ...RFC3339, description: 'Later windows are not due yet' },
    gap: nullable(WINDOW, { description: 'Windows of which retention has removed events' }),
    windows: { type: 'array', items: { type: 'object', properties: DECIDED } },
    transitions: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          kind: { type: 'string', enum: ['pending', 'firing', 'resolved', 'inactive'] },
          group: GROUP,
          window: WINDOW,
          value: VALUE,
          event_count: COUNT,
        },
      },
    },
    transition_count: { type: 'integer', description: 'Of all, also those past the list' },
  },
}

export function ruleJson(rule: ToldRule): object {
  return {
    id: String(rule.ruleId),
    name: rule.name,
    owner: rule.owner,
    ...rule.settings,
    created_at: formatTimeMs(rule.createdAtMs),
    updated_at: formatTimeMs(rule.updatedAtMs),
    version: rule.version,
    decided_until: formatTimeMs(rule.cursorMs),
    groups_firing: rule.groupsFiring,
    groups_pending: rule.groupsPending,
    failures: rule.failures,
    problem: problemOf(rule.settings) ?? rule.problem ?? null,
  }
}

/** As JSON. */
export function groupStateText(
  state: StoredState,
  held: {
    readonly acknowledged: Acknowledgement | undefined
    readonly silences: readonly Silence[]
  },
): string {
  const { author, atMs, comment } = held.acknowledged ?? {}
  const members = {
    fingerprint: state.fingerprint,
    state: state.state,
    since: formatTimeMs(state.sinceMs),
    firing_since: state.firedMs === undefined ? null : formatTimeMs(state.firedMs),
    last_seen: formatTimeMs(state.seenMs),
    value: state.value ?? null,
    acknowledged: atMs === undefined ? null : { by: author, at: formatTimeMs(atMs), comment },
    silenced_by: held.silences.map(({ silenceId }) => String(silenceId)),
  }
  return withMemberTexts(members, { group: state.groupJson })
}

/** As JSON. */
export function transitionText(transition: Transition): string {
  const { transitionId, kind, reason, groupJson, fingerprint, value, events } = transition
  const members = {
    id: String(transitionId),
    kind,
    reason: reason ?? null,
    fingerprint: fingerprint ?? null,
    window: windowJson(transition.fromMs, transition.untilMs),
    value: value ?? null,
    event_count: events ?? null,
    rule_version: transition.ruleVersion,
    decided_at: formatTimeMs(transition.decidedAtMs),
  }
  return withMemberTexts(members, { group: groupJson ?? 'null' })
}

export function decidedWindowJson(window: DecidedWindow): object {
  return {
    ...windowJson(window.fromMs, window.untilMs),
    outcome: window.outcome,
    value: window.value ?? null,
    event_count: window.events,
    groups: window.groupCount,
    groups_not_judged: window.uncounted,
    groups_in_breach: window.breachCount,
    late_events: window.lateEvents,
    rule_version: window.ruleVersion,
    decided_at: formatTimeMs(window.decidedAtMs),
  }
}

/** As JSON. */
export function backtestText(test: Backtest): string {
  const members = {
    decided_until: formatTimeMs(test.untilMs),
    gap: test.gap === undefined ? null : windowJson(test.gap.afterMs, test.gap.untilMs),
    windows: test.windows.map(({ seen, decision }) => ({
      ...windowJson(seen.fromMs, seen.endMs),
      outcome: decision.outcome,
      value: decision.value ?? null,
      event_count: seen.events,
      groups: seen.groupCount,
      groups_not_judged: decision.uncounted,
      groups_in_breach: decision.breachCount,
    })),
    transition_count: test.transitionCount,
  }
  return withMemberTexts(members, {
    transitions: `[${test.transitions.map(changeText).join(',')}]`,
  })
}

function changeText(change: BacktestTransition): string {
  const { kind, groupJson, fromMs, untilMs, value, events } = change
  const members = { kind, window: windowJson(fromMs, untilMs), value: value ?? null }
  return withMemberTexts({ ...members, event_count: events }, { group: groupJson })
}

function windowJson(fromMs: number, untilMs: number) {
  return { from: formatTimeMs(fromMs), to: formatTimeMs(untilMs) }
}
