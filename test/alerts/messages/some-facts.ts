/** What may be known of a rule and a channel, for tests of what is told. */
import { readRuleSettings } from '../../../src/alerts/rule-settings.ts'
import type {
  FiringGroup,
  QueueFacts,
  Told,
  WaitingGroup,
} from '../../../src/store/alerts/queue-facts.ts'
import type { Rule } from '../../../src/store/alerts/rule.ts'

export const NOW_MS = Date.parse('2026-05-05T05:05:00Z')
export const MINUTE_MS = 60_000

export function ruleOf(changes: object = {}): Rule {
  return {
    ...{ ruleId: 3, name: 'slow', owner: 'ann', asAdmin: false, streamIds: undefined, version: 2 },
    ...{ createdAtMs: 0, updatedAtMs: 0, cursorMs: NOW_MS, failures: 0, problem: undefined },
    ...{ isTold: false, everyMs: MINUTE_MS, delayMs: 0 },
    settings: readRuleSettings({
      ...{ condition: { op: '>', value: 2 }, window: '1m', group_by: ['http.path'] },
      ...{ severity: 'critical', labels: { team: 'web' }, annotations: { runbook: 'look' } },
      ...{ channels: ['ops'], query: 'level:error', ...changes },
    }),
  }
}

export function factsOf(changes: Partial<QueueFacts> = {}): QueueFacts {
  const rule = ruleOf()
  return {
    ...{ nowMs: NOW_MS, ruleId: 3, ruleName: 'slow', channel: 'ops', channelKind: 'webhook' },
    ...{ rule, groupedAtMs: undefined, isBusy: { groups: false, rule: false }, ofRule: [] },
    ...{ ofGroups: [], firing: [], told: new Map(), versions: new Map([[2, rule.settings]]) },
    holding: { silences: [], acknowledged: new Map() },
    ...changes,
  }
}

/** A group that began to fire, or is over, a minute ago. */
export function waiting(path: string, changes: Partial<WaitingGroup> = {}): WaitingGroup {
  const kind = changes.kind ?? 'firing'
  const untilMs = NOW_MS - MINUTE_MS
  return {
    ...{ noticeId: 7, transitionId: 9, fingerprint: path, kind, reason: undefined },
    ...{ groupJson: JSON.stringify([path]), fromMs: untilMs - MINUTE_MS, untilMs, value: 3.5 },
    ...{ events: 4, decidedAtMs: untilMs + 2_000, ruleVersion: 2, wasHeld: false },
    ...{ sinceMs: untilMs + 2_000, firedMs: kind === 'firing' ? untilMs : undefined },
    ...changes,
  }
}

export function fires(path: string, firedMs = NOW_MS - 10 * MINUTE_MS): FiringGroup {
  return { fingerprint: path, groupJson: JSON.stringify([path]), firedMs, value: 5 }
}

export function told(atMs: number, isDelivered = true): Told {
  return { transitionId: 8, firedMs: NOW_MS - 10 * MINUTE_MS, atMs, isDelivered }
}
