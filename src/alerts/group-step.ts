/**
 * The state of one group of a rule, from window to window. It depends on nothing but whether the
 * condition held in each window so far:
 *
 *   met      it held in at least `of` of the last `in` windows
 *   firing   it was met in this window, or in one of the `keepFiring` windows before
 *   pending  it held in one of the last `in` windows, and the group does not fire
 */

export type GroupState = 'inactive' | 'pending' | 'firing'

export interface Patience {
  /** M of N windows. */
  readonly of: number
  readonly in: number
  /** Windows for which a group goes on to fire. */
  readonly keepFiring: number
}

/** What is remembered of a group. */
export interface GroupMemory {
  readonly state: GroupState
  /** Whether the condition held in the last windows, at most `in`, the newest last. */
  readonly breaches: readonly boolean[]
  /** Windows since it was met; undefined: it never was. */
  readonly unmet: number | undefined
  /** The end of the window that brought the state, and of the one with which it began to fire. */
  readonly sinceMs: number
  readonly firedMs: number | undefined
  /** The end of the last window with events of the group. */
  readonly seenMs: number
  /** In the last window; undefined: there was none. */
  readonly value: number | undefined
}

/** What one window says of a group; `holds`: `as_before` is as in the window before. */
export interface GroupSight {
  readonly holds: boolean | 'as_before'
  readonly value: number | undefined
  readonly hasEvents: boolean
}

export function stepGroup(
  before: GroupMemory | undefined,
  { holds, value, hasEvents }: GroupSight,
  patience: Patience,
  endMs: number,
): GroupMemory {
  const known = before?.breaches ?? []
  const isHeld = holds === 'as_before' ? (known.at(-1) ?? false) : holds
  const breaches = [...known, isHeld].slice(-patience.in)
  const isMet = breaches.filter(Boolean).length >= patience.of
  const before1 = before?.unmet
  const unmet = isMet ? 0 : before1 === undefined ? undefined : before1 + 1
  const state = stateOf(breaches, unmet, patience)
  const isSame = state === before?.state
  return {
    state,
    breaches,
    // Past that it makes no difference.
    unmet: unmet !== undefined && unmet > patience.keepFiring ? undefined : unmet,
    sinceMs: isSame ? before.sinceMs : endMs,
    firedMs: state !== 'firing' ? undefined : isSame ? before.firedMs : endMs,
    seenMs: hasEvents ? endMs : (before?.seenMs ?? endMs),
    value,
  }
}

function stateOf(
  breaches: readonly boolean[],
  unmet: number | undefined,
  { keepFiring }: Patience,
): GroupState {
  if (unmet !== undefined && unmet <= keepFiring) return 'firing'
  return breaches.includes(true) ? 'pending' : 'inactive'
}

/** Nothing that happened before makes a difference to what comes. */
export function isForgettable({ state, breaches }: GroupMemory): boolean {
  return state === 'inactive' && !breaches.includes(true)
}
