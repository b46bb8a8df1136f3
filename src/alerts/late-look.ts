/**
 * Windows of event time are decided a `delay` after their end, and producers may be later than
 * that. So each is looked at once more, ALERT_LATE_LOOK_MS later: events that came meanwhile are
 * counted, and a verdict that they change is told. States are not rewritten.
 */
import { ALERT_LATE_LOOK_MS, QUERY_MS_MAX } from '../limits.ts'
import type { Stream } from '../model/stream.ts'
import type { DecisionStore, OpenWindow } from '../store/alerts/decision-store.ts'
import type { Rule } from '../store/alerts/rule.ts'
import { type AskDeps, askWindows, NotYetError, RemovedError } from './asking/ask-windows.ts'
import { decideWindow, type SeenWindow } from './decide-window.ts'
import { taskOf } from './rule-settings.ts'

/** Of one look. */
const OPEN_MAX = { rules: 50, windows: 50 }

export interface LateLookParts {
  readonly decisions: Pick<DecisionStore, 'readOpen' | 'correct'>
  readonly streamsOf: (rule: Rule) => Promise<readonly Stream[]>
  readonly ask: AskDeps
  /** A rule's windows that could not be looked at; they are tried again. */
  readonly onFailed: (rule: Rule, cause: unknown) => void
}

/** Looks at all windows whose time it is. `closedMs`: as of `planWindows`. */
export async function lookAgain(
  parts: LateLookParts,
  closedMs: number,
  signal: AbortSignal,
): Promise<void> {
  const open = await parts.decisions.readOpen(closedMs, ALERT_LATE_LOOK_MS, OPEN_MAX)
  for (const windows of byRule(open)) {
    if (signal.aborted) return
    const { rule } = windows[0]!
    try {
      await lookAt(parts, rule, windows, signal)
    } catch (cause) {
      if (signal.aborted || cause instanceof NotYetError) continue
      parts.onFailed(rule, cause)
    }
  }
}

async function lookAt(
  { decisions, streamsOf, ask }: LateLookParts,
  rule: Rule,
  windows: readonly OpenWindow[],
  signal: AbortSignal,
): Promise<void> {
  const { settings } = rule
  const streams = await streamsOf(rule)
  for (const window of windows) {
    const question = { rules: [settings], streams, ends: [window.untilMs], timeoutMs: QUERY_MS_MAX }
    try {
      for await (const [seen] of askWindows(ask, question, signal)) {
        await decisions.correct(rule, ...correctionOf(rule, window, seen!))
      }
    } catch (cause) {
      if (!(cause instanceof RemovedError)) throw cause
      await decisions.correct(rule, window, { events: 0, told: undefined })
    }
  }
}

/** Judged by itself: what was before does not change with it. */
function correctionOf(
  { settings }: Rule,
  window: OpenWindow,
  seen: SeenWindow,
): [OpenWindow, Parameters<DecisionStore['correct']>[2]] {
  const events = Math.max(0, seen.events - window.events)
  if (events === 0) return [window, { events, told: undefined }]
  const { outcome, value } = decideWindow(taskOf(settings), new Map(), seen)
  const now = { ...window, outcome, events: seen.events }
  const wasBreach = window.outcome === 'breach'
  if (wasBreach === (outcome === 'breach')) return [now, { events, told: undefined }]
  const reason = `${events} late events: ${window.outcome} became ${outcome}`
  const range = { fromMs: seen.fromMs, untilMs: seen.endMs }
  const told = { kind: 'corrected', reason, ...range, value, events: seen.events } as const
  return [now, { events, told }]
}

function byRule(open: readonly OpenWindow[]): OpenWindow[][] {
  const rules = new Map<number, OpenWindow[]>()
  for (const each of open) {
    const known = rules.get(each.rule.ruleId)
    if (known === undefined) rules.set(each.rule.ruleId, [each])
    else known.push(each)
  }
  return [...rules.values()]
}
