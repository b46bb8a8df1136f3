/**
 * What one window makes of a rule: a pure function of the rule, of what is remembered of its groups
 * and of what a query says of the window. Live rules and backtests are decided by it alike.
 */
import { ALERT_GROUP_MEMORY_MS, ALERT_GROUPS_MAX } from '../limits.ts'
import { type Condition, isBreach, isOfSmall } from './condition.ts'
import {
  type GroupMemory,
  type GroupSight,
  type GroupState,
  isForgettable,
  type Patience,
  stepGroup,
} from './group-step.ts'

export const NO_DATA = ['ok', 'fire', 'keep'] as const
export type NoData = (typeof NO_DATA)[number]

/** What a decision depends on. */
export interface Judgement extends Patience {
  readonly condition: Condition
  readonly noData: NoData
  /** Without events the value is 0: counts. Else there is none. */
  readonly isCount: boolean
  readonly isGrouped: boolean
}

/** One group in a window, by the JSON of its values. */
export interface SeenGroup {
  readonly groupJson: string
  /** Undefined: none of its events has one. */
  readonly value: number | undefined
  readonly events: number
}

export interface SeenWindow {
  readonly fromMs: number
  readonly endMs: number
  /** At most ALERT_GROUPS_MAX; without `group_by` the one group `[]`, if it has events. */
  readonly groups: readonly SeenGroup[]
  /** Events that match, and groups that they are of. */
  readonly events: number
  readonly groupCount: number
}

/** A change of a group's state: what it became. */
export type TransitionKind = 'pending' | 'firing' | 'resolved' | 'inactive'

export interface GroupTransition {
  readonly groupJson: string
  readonly kind: TransitionKind
  readonly value: number | undefined
  readonly events: number
}

export type Outcome = 'clear' | 'breach' | 'no_data'

export interface WindowDecision {
  readonly outcome: Outcome
  /** Of the one group; of several that of the one that is the nearest to breaking the rule. */
  readonly value: number | undefined
  /** Groups in which the condition held, and those that were not looked at. */
  readonly breachCount: number
  readonly uncounted: number
  /** By their JSON: what is remembered from now on. */
  readonly memories: ReadonlyMap<string, GroupMemory>
  readonly transitions: readonly GroupTransition[]
}

export type Memories = ReadonlyMap<string, GroupMemory>

const ALL = '[]'
const ABSENT = { value: undefined, events: 0 }

export function decideWindow(
  rule: Judgement,
  before: Memories,
  window: SeenWindow,
): WindowDecision {
  const { endMs } = window
  const seen = new Map(window.groups.map((group) => [group.groupJson, group]))
  const memories = new Map<string, GroupMemory>()
  const transitions: GroupTransition[] = []
  const names = rule.isGrouped ? [...new Set([...before.keys(), ...seen.keys()])] : [ALL]
  const remembers = remembersAbsence(rule)
  let breachCount = 0
  let value: number | undefined
  let uncounted = Math.max(0, window.groupCount - window.groups.length)
  let active = [...before.values()].filter(({ state }) => state !== 'inactive').length
  for (const name of names) {
    const memory = before.get(name)
    const { value: own, events } = seen.get(name) ?? ABSENT
    if (memory === undefined && active >= ALERT_GROUPS_MAX) {
      uncounted++
      continue
    }
    const isGone = memory !== undefined && endMs - memory.seenMs > ALERT_GROUP_MEMORY_MS
    const sight = sightOf(rule, { value: own, events }, rule.isGrouped && isGone)
    if (!isGone) value = nearer(rule.condition, value, sight.value)
    const after = stepGroup(memory, sight, rule, endMs)
    if (after.breaches.at(-1) === true) breachCount++
    if (memory === undefined && after.state !== 'inactive') active++
    const kind = changeOf(memory?.state ?? 'inactive', after.state)
    if (kind !== undefined) {
      transitions.push({ groupJson: name, kind, value: sight.value, events })
    }
    if (!isForgettable(after) || (remembers && !isGone)) memories.set(name, after)
  }
  const none = window.events === 0
  return {
    outcome: breachCount > 0 ? 'breach' : none ? 'no_data' : 'clear',
    value,
    breachCount,
    uncounted,
    memories: bounded(memories),
    transitions,
  }
}

function sightOf(
  { condition, noData, isCount }: Judgement,
  { value, events }: Pick<SeenGroup, 'value' | 'events'>,
  isGone: boolean,
): GroupSight {
  const hasEvents = events > 0
  const none = { value: isCount ? (value ?? 0) : value, hasEvents }
  if (isGone) return { ...none, holds: false }
  const isNone = !hasEvents || (value === undefined && !isCount)
  if (isNone && noData === 'fire') return { ...none, holds: true }
  if (isNone && noData === 'keep') return { ...none, holds: 'as_before' }
  const counted = none.value
  return { ...none, holds: counted !== undefined && isBreach(condition, counted) }
}

/** Which of the two is nearer to breaking the rule. */
function nearer(condition: Condition, a: number | undefined, b: number | undefined) {
  if (a === undefined || b === undefined) return a ?? b
  return isOfSmall(condition) ? Math.min(a, b) : Math.max(a, b)
}

/** Whether a group without events may break the rule: it has to be remembered for that. */
function remembersAbsence({ condition, noData, isCount, isGrouped }: Judgement): boolean {
  if (!isGrouped) return true
  if (noData === 'ok') return isCount && isBreach(condition, 0)
  return noData === 'fire'
}

/** Of groups that do nothing those go that were not seen for longest. */
function bounded(memories: Map<string, GroupMemory>): Memories {
  const excess = memories.size - ALERT_GROUPS_MAX
  if (excess <= 0) return memories
  const idle = [...memories].filter(([, { state }]) => state === 'inactive')
  const oldest = idle.toSorted(([, a], [, b]) => a.seenMs - b.seenMs).slice(0, excess)
  for (const [name] of oldest) memories.delete(name)
  return memories
}

function changeOf(from: GroupState, to: GroupState): TransitionKind | undefined {
  if (from === to) return undefined
  if (from === 'firing') return 'resolved'
  return to
}
