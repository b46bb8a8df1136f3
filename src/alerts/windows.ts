/** Which windows of a rule are due. A window is named by its end, a multiple of `everyMs`. */
import { ALERT_DUE_MS_MAX, ALERT_DUE_WINDOWS_MAX } from '../limits.ts'

export interface WindowPlan {
  /** What is given up, as too much is due: windows that end after the one, up to the other. */
  readonly gap: { readonly afterMs: number; readonly untilMs: number } | undefined
  /** Ends of windows to decide, in order. */
  readonly ends: readonly number[]
}

export interface DueRule {
  readonly everyMs: number
  /** Windows may be decided so long after their end. */
  readonly delayMs: number
  /** All that end up to here are decided or given up. */
  readonly cursorMs: number
}

/** The end of the last window that ends up to `ms`. */
export function lastEnd(everyMs: number, ms: number): number {
  return Math.floor(ms / everyMs) * everyMs
}

/** `closedMs`: nothing of a time before it will ever be committed any more. */
export function planWindows({ everyMs, delayMs, cursorMs }: DueRule, closedMs: number): WindowPlan {
  const last = lastEnd(everyMs, closedMs - delayMs)
  const oldest = Math.max(last - ALERT_DUE_WINDOWS_MAX * everyMs, last - ALERT_DUE_MS_MAX)
  const afterMs = Math.max(cursorMs, lastEnd(everyMs, oldest))
  const gap = afterMs > cursorMs ? { afterMs: cursorMs, untilMs: afterMs } : undefined
  const count = Math.max(0, Math.floor((last - afterMs) / everyMs))
  return { gap, ends: Array.from({ length: count }, (_, index) => afterMs + (index + 1) * everyMs) }
}
