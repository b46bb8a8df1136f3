/** Which rules of alerts fire now, and which cannot be evaluated. */
import { problemOf } from '../alerts/rule-settings.ts'
import { listVisibleRules } from '../alerts/visible-rules.ts'
import { readElementTexts, withMemberTexts } from '../api/json-text.ts'
import {
  conditionWords,
  RULE_STATES,
  type RuleState,
  ruleState,
} from '../model/alerts/rule-words.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { Lane } from '../read/lane.ts'
import type { StoredState } from '../store/alerts/decision-store.ts'
import type { RuleSettings, ToldRule } from '../store/alerts/rule.ts'
import type { RuleStore } from '../store/alerts/rule-store.ts'
import type { WindowStore } from '../store/alerts/window-store.ts'
import type { AgentTool } from './agent-tool.ts'
import { cutStrings, fitRows } from './fit-text.ts'

export interface ListAlertsDeps {
  readonly lists: Lane
  readonly alerts: {
    readonly rules: Pick<RuleStore, 'list' | 'find' | 'findNamed'>
    readonly windows: Pick<WindowStore, 'list' | 'readGroups' | 'readGroupsOf'>
  }
}

const RULES_LOOKED_AT_MAX = 1_000
/** Of these many rules the groups are told, and of each so many. */
const RULES_WITH_GROUPS_MAX = 30
const GROUPS_SHOWN = 5
const VALUE_CHARS_MAX = 100

export function listAlertsTool(deps: ListAlertsDeps): AgentTool {
  return {
    name: 'list_alerts',
    title: 'List alerts',
    description:
      'Which rules of alerts fire now, of which groups, with their values and since when; which ' +
      'are about to (pending), and which cannot be evaluated and why (failing). With all=true ' +
      'those that are quiet or paused, too. explain_alert says why one fires.',
    scope: 'alerts:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: {
        all: { type: 'boolean', default: false, description: 'Also rules that do nothing now' },
      },
    },
    run: ({ principal, args, signal }) => {
      return deps.lists.run(principal.tokenId, signal, async () => {
        const found = await listVisibleRules(deps.alerts.rules, principal, {
          after: 0,
          limit: RULES_LOOKED_AT_MAX,
        })
        const all = found.map((rule) => ({ rule, state: stateOf(rule) }))
        const sorted = all
          .filter(({ state }) => args.all === true || (state !== 'quiet' && state !== 'paused'))
          .sort((a, b) => RULE_STATES.indexOf(a.state) - RULE_STATES.indexOf(b.state))
        const firing = sorted.slice(0, RULES_WITH_GROUPS_MAX).filter(isFiring)
        const groups =
          firing.length === 0
            ? new Map<number, readonly StoredState[]>()
            : await deps.alerts.windows.readGroupsOf(firing.map(({ rule }) => rule.ruleId))
        const rows = sorted.map(({ rule, state }) => {
          const told = tellRule(rule, state, groups.get(rule.ruleId) ?? [])
          return cutStrings(told, VALUE_CHARS_MAX)
        })
        const shown = fitRows(rows)
        const count = (state: RuleState) => all.filter((one) => one.state === state).length
        const tail = {
          ...{ firing: count('firing'), pending: count('pending'), failing: count('failing') },
          ...{ rules: found.length, left_out: rows.length - shown.count, truncated: shown.isCut },
          ...(found.length === RULES_LOOKED_AT_MAX && { hint: 'there may be more rules' }),
        }
        return `{"alerts":[${shown.json}],${JSON.stringify(tail).slice(1)}`
      })
    },
  }
}

export function stateOf(rule: ToldRule): RuleState {
  return ruleState({
    ...{ groups_firing: rule.groupsFiring, groups_pending: rule.groupsPending },
    ...{ paused: rule.settings.paused, problem: toldProblem(rule) ?? null },
  })
}

/** `count > 20 in 3 of 5 windows of 1m, by service`. */
export function firesWhen(settings: RuleSettings): string {
  const { group_by: by } = settings
  return `${conditionWords(settings)}${by.length === 0 ? '' : `, by ${by.join(', ')}`}`
}

function isFiring({ state }: { readonly state: RuleState }): boolean {
  return state === 'firing'
}

/** Why it is not evaluated. */
export function toldProblem({ settings, problem }: ToldRule): string | undefined {
  return problemOf(settings) ?? problem
}

function tellRule(rule: ToldRule, state: RuleState, groups: readonly StoredState[]): string {
  const { settings, groupsFiring } = rule
  const problem = toldProblem(rule)
  const firing = groups.filter(({ state }) => state === 'firing').slice(0, GROUPS_SHOWN)
  const members = {
    ...{ id: String(rule.ruleId), rule: rule.name, state },
    ...{ severity: settings.severity, fires_when: firesWhen(settings) },
    ...(settings.description !== '' && { description: settings.description }),
    ...{ query: settings.query, streams: settings.streams },
    ...(groupsFiring > 0 && { groups_firing: groupsFiring }),
    ...(problem !== undefined && { problem }),
  }
  const told = firing.map((state) => tellGroup(rule, state)).join(',')
  return withMemberTexts(members, firing.length === 0 ? {} : { groups: `[${told}]` })
}

/** A group by the names of its fields. */
export function tellGroup({ settings }: Pick<ToldRule, 'settings'>, state: StoredState): string {
  const { groupJson, value, sinceMs, firedMs, fingerprint } = state
  const members = {
    state: state.state,
    value: value ?? null,
    since: formatTimeMs(firedMs ?? sinceMs),
    fingerprint: fingerprint.slice(0, FINGERPRINT_CHARS),
  }
  return withMemberTexts(members, { group: namedValues(settings.group_by, groupJson) })
}

/** Enough to name one of a thousand. */
const FINGERPRINT_CHARS = 12

/** As a JSON object. */
export function namedValues(names: readonly string[], groupJson: string | undefined): string {
  const values = readElementTexts(groupJson ?? '[]')
  const named = values.map((value, at) => [names[at] ?? `group_${at}`, value] as const)
  return withMemberTexts({}, Object.fromEntries(named))
}
