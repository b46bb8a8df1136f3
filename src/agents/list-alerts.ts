/** Which rules of alerts fire now, and which cannot be evaluated. */
import { conditionWords } from '../alerts/condition-words.ts'
import { listVisibleRules } from '../alerts/visible-rules.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { Lane } from '../read/lane.ts'
import type { StoredState } from '../store/alerts/decision-store.ts'
import type { ToldRule } from '../store/alerts/rule.ts'
import type { RuleStore } from '../store/alerts/rule-store.ts'
import type { WindowStore } from '../store/alerts/window-store.ts'
import type { AgentTool } from './agent-tool.ts'
import { cutStrings, fitRows } from './fit-text.ts'

export interface ListAlertsDeps {
  readonly lists: Lane
  readonly alerts: {
    readonly rules: Pick<RuleStore, 'list' | 'find' | 'findNamed'>
    readonly windows: Pick<WindowStore, 'list' | 'readGroups'>
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
        const sorted = found
          .filter((rule) => args.all === true || isActive(rule))
          .sort((a, b) => STATES.indexOf(stateOf(a)) - STATES.indexOf(stateOf(b)))
        const rows: string[] = []
        for (const [index, rule] of sorted.entries()) {
          const hasGroups = index < RULES_WITH_GROUPS_MAX && rule.groupsFiring > 0
          const groups = hasGroups ? await deps.alerts.windows.readGroups(rule.ruleId) : []
          rows.push(cutStrings(JSON.stringify(tellRule(rule, groups)), VALUE_CHARS_MAX))
        }
        const shown = fitRows(rows)
        const count = (state: RuleState) => found.filter((rule) => stateOf(rule) === state).length
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

/** The worst first. */
const STATES = ['firing', 'failing', 'pending', 'quiet', 'paused'] as const
export type RuleState = (typeof STATES)[number]

export function stateOf(rule: ToldRule): RuleState {
  if (rule.groupsFiring > 0) return 'firing'
  if (rule.settings.paused) return 'paused'
  if (rule.problem !== undefined) return 'failing'
  return rule.groupsPending > 0 ? 'pending' : 'quiet'
}

function isActive(rule: ToldRule): boolean {
  const state = stateOf(rule)
  return state !== 'quiet' && state !== 'paused'
}

function tellRule(rule: ToldRule, groups: readonly StoredState[]): object {
  const { settings, groupsFiring, problem } = rule
  const firing = groups.filter(({ state }) => state === 'firing')
  return {
    ...{ id: String(rule.ruleId), rule: rule.name, state: stateOf(rule) },
    ...{ severity: settings.severity, fires_when: conditionWords(settings) },
    ...(settings.description !== '' && { description: settings.description }),
    ...{ query: settings.query, streams: settings.streams },
    ...(groupsFiring > 0 && { groups_firing: groupsFiring }),
    ...(firing.length > 0 && {
      groups: firing.slice(0, GROUPS_SHOWN).map((state) => tellGroup(rule, state)),
    }),
    ...(problem !== undefined && { problem }),
  }
}

/** A group by the names of its fields. */
export function tellGroup({ settings }: Pick<ToldRule, 'settings'>, state: StoredState): object {
  const { groupJson, value, sinceMs, firedMs, fingerprint } = state
  return {
    group: namedValues(settings.group_by, groupJson),
    state: state.state,
    value: value ?? null,
    since: formatTimeMs(firedMs ?? sinceMs),
    fingerprint: fingerprint.slice(0, FINGERPRINT_CHARS),
  }
}

/** Enough to name one of a thousand. */
const FINGERPRINT_CHARS = 12

export function namedValues(names: readonly string[], groupJson: string | undefined): object {
  const values = JSON.parse(groupJson ?? '[]') as readonly unknown[]
  return Object.fromEntries(values.map((value, at) => [names[at] ?? `group_${at}`, value]))
}
