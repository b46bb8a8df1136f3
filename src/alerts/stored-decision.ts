/** What is decided, as it is stored. */
import { createHash } from 'node:crypto'
import type { NewDecision, StoredState } from '../store/alerts/decision-store.ts'
import type { Rule } from '../store/alerts/rule.ts'
import type { NewTransition } from '../store/alerts/transitions-sql.ts'
import { decideWindow, type Memories, type SeenWindow } from './decide-window.ts'
import type { GroupMemory } from './group-step.ts'
import { taskOf } from './rule-settings.ts'

function fingerprintOf(groupJson: string): string {
  return createHash('sha256').update(groupJson).digest('hex')
}

export function memoriesOf(states: readonly StoredState[]): Memories {
  return new Map(states.map(({ groupJson, ...memory }) => [groupJson, memory]))
}

/** Of one window, and what is remembered after it. */
export function decisionOf(
  rule: Pick<Rule, 'settings' | 'isTold'>,
  before: Memories,
  window: SeenWindow,
): { readonly decision: NewDecision; readonly memories: Memories } {
  const decided = decideWindow(taskOf(rule.settings), before, window)
  const { outcome, value, breachCount, uncounted, memories } = decided
  const { fromMs, endMs: untilMs, events, groupCount } = window
  const range = { fromMs, untilMs }
  const transitions: NewTransition[] = decided.transitions.map((one) => ({
    ...range,
    kind: one.kind,
    group: { fingerprint: fingerprintOf(one.groupJson), json: one.groupJson },
    value: one.value,
    events: one.events,
  }))
  if (rule.isTold) transitions.push({ ...range, kind: 'evaluation_restored' })
  const changed: StoredState[] = []
  for (const [groupJson, memory] of memories) {
    if (isSame(before.get(groupJson), memory)) continue
    changed.push({ fingerprint: fingerprintOf(groupJson), groupJson, ...memory })
  }
  const forgotten = [...before.keys()].filter((name) => !memories.has(name)).map(fingerprintOf)
  const counts = { events, groupCount, uncounted, breachCount }
  return {
    decision: { window: { ...range, outcome, ...counts, value }, changed, forgotten, transitions },
    memories,
  }
}

/** Windows that are given up, stored and told. */
export function gapOf(
  { afterMs, untilMs }: { readonly afterMs: number; readonly untilMs: number },
  reason: string,
): NewDecision {
  const range = { fromMs: afterMs, untilMs }
  const none = { events: 0, groupCount: 0, uncounted: 0, breachCount: 0, value: undefined }
  return {
    window: { ...range, outcome: 'gap', ...none },
    changed: [],
    forgotten: [],
    transitions: [{ ...range, kind: 'gap', reason }],
  }
}

function isSame(a: GroupMemory | undefined, b: GroupMemory): boolean {
  if (a === undefined) return false
  return (
    a.state === b.state &&
    a.value === b.value &&
    a.seenMs === b.seenMs &&
    a.unmet === b.unmet &&
    a.breaches.join() === b.breaches.join()
  )
}
