/**
 * What a rule would have decided over a past range, had it been made at its beginning: the same
 * questions, the same judgement, nothing stored.
 */

import { malformed } from '../errors.ts'
import { ALERT_BACKTEST_WINDOWS_MAX, QUERY_MS_MAX } from '../limits.ts'
import type { Stream } from '../model/stream.ts'
import type { RuleSettings } from '../store/alerts/rule.ts'
import { type AskDeps, askWindows, NotYetError, RemovedError } from './asking/ask-windows.ts'
import {
  decideWindow,
  type GroupTransition,
  type Memories,
  type SeenWindow,
  type WindowDecision,
} from './decide-window.ts'
import { taskOf } from './rule-settings.ts'
import { lastEnd } from './windows.ts'

export interface BacktestRange {
  readonly fromMs: number
  readonly toMs: number
  /** Nothing of a time before it will ever be committed any more. */
  readonly closedMs: number
}

export interface BacktestWindow {
  readonly seen: Pick<SeenWindow, 'fromMs' | 'endMs' | 'events' | 'groupCount'>
  readonly decision: Pick<WindowDecision, 'outcome' | 'value' | 'breachCount' | 'uncounted'>
}

export interface BacktestTransition extends GroupTransition {
  readonly fromMs: number
  readonly untilMs: number
}

export interface Backtest {
  readonly windows: readonly BacktestWindow[]
  /** The first ones, BACKTEST_TRANSITIONS_MAX at most. */
  readonly transitions: readonly BacktestTransition[]
  readonly transitionCount: number
  /** Of which retention has removed events. */
  readonly gap: { readonly afterMs: number; readonly untilMs: number } | undefined
  /** All windows that end up to here are decided: fewer than asked for, while some are not due. */
  readonly untilMs: number
}

const BACKTEST_TRANSITIONS_MAX = 10_000

/** Throws `malformed` past ALERT_BACKTEST_WINDOWS_MAX, and the errors of queries. */
export async function backtest(
  deps: AskDeps,
  {
    settings,
    streams,
    range,
  }: {
    readonly settings: RuleSettings
    readonly streams: readonly Stream[]
    readonly range: BacktestRange
  },
  signal: AbortSignal,
): Promise<Backtest> {
  const task = taskOf(settings)
  const { everyMs, delayMs, windowMs } = task
  const afterMs = lastEnd(everyMs, range.fromMs)
  const last = lastEnd(everyMs, Math.min(range.toMs, range.closedMs - delayMs))
  let ends = endsBetween(afterMs, last, everyMs)
  const windows: BacktestWindow[] = []
  const transitions: BacktestTransition[] = []
  let transitionCount = 0
  let memories: Memories = new Map()
  let gap: Backtest['gap']
  let untilMs = afterMs
  while (ends.length > 0) {
    const question = { rules: [settings], streams, ends, timeoutMs: QUERY_MS_MAX }
    try {
      for await (const [one] of askWindows(deps, question, signal)) {
        const seen = one!
        const { fromMs, endMs, events, groupCount } = seen
        const decision = decideWindow(task, memories, seen)
        const { outcome, value, breachCount, uncounted } = decision
        windows.push({
          seen: { fromMs, endMs, events, groupCount },
          decision: { outcome, value, breachCount, uncounted },
        })
        transitionCount += decision.transitions.length
        for (const each of decision.transitions) {
          if (transitions.length === BACKTEST_TRANSITIONS_MAX) break
          transitions.push({ ...each, fromMs, untilMs: endMs })
        }
        memories = decision.memories
        untilMs = endMs
      }
      break
    } catch (cause) {
      if (cause instanceof NotYetError) break
      if (!(cause instanceof RemovedError)) throw cause
      // The oldest go first: what was decided before is past them.
      const gone = ends.findLast((end) => end - windowMs < cause.beforeMs) ?? untilMs
      gap = { afterMs: gap?.afterMs ?? untilMs, untilMs: gone }
      untilMs = gone
      ends = ends.filter((end) => end > gone)
    }
  }
  return { windows, transitions, transitionCount, gap, untilMs }
}

function endsBetween(afterMs: number, last: number, everyMs: number): number[] {
  const count = Math.max(0, Math.floor((last - afterMs) / everyMs))
  if (count > ALERT_BACKTEST_WINDOWS_MAX) {
    const limit = `${ALERT_BACKTEST_WINDOWS_MAX} (ALERT_BACKTEST_WINDOWS_MAX)`
    throw malformed(`the range has ${count} windows, over ${limit}; take a shorter one`)
  }
  return Array.from({ length: count }, (_, index) => afterMs + (index + 1) * everyMs)
}
