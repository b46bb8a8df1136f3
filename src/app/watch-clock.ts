/**
 * Compares this machine's clock with PostgreSQL's, and reports the result in the log, in a metric,
 * and by not being ready while nothing can be committed.
 */
import { CLOCK_LEAD_MS_MAX } from '../limits.ts'
import type { SegmentIdGenerator } from '../model/segment-id.ts'
import type { CellContext } from './cell-context.ts'

const CHECK_MS = 1_000

export function watchClock(
  { stores, health, metrics, log, stoppers, onFatal }: CellContext,
  ids: Pick<SegmentIdGenerator, 'lastMs'>,
): void {
  const { clock } = stores
  metrics.gauge(
    'ingest_clock_lead_seconds',
    "How far this machine's clock is ahead of PostgreSQL's; below 0 it is behind",
    () => clock.leadMs / 1000,
  )
  let wasWrong = false
  const check = () => {
    const { leadMs, isAhead } = clock
    const isWrong = Math.abs(leadMs) > CLOCK_LEAD_MS_MAX
    health.report('clock', isAhead ? "it is too far ahead of PostgreSQL's" : undefined)
    if (isWrong !== wasWrong) {
      const fields = { leadSeconds: Math.round(leadMs / 1000) }
      if (!isWrong) log.info(fields, "this machine's clock and PostgreSQL's agree again")
      else if (isAhead) log.error(fields, "clock ahead of PostgreSQL's: ingest is refused")
      else log.warn(fields, "clock behind PostgreSQL's: events get receipt times in the past")
    }
    wasWrong = isWrong
    // Both clocks were ahead together and were set back: our number's ids would stay in the future.
    if (!isAhead && ids.lastMs > clock.latestMs) {
      clearInterval(timer)
      onFatal('this node has given out receipt times in the future; it needs another number')
    }
  }
  const timer = setInterval(check, CHECK_MS).unref()
  stoppers.push(() => clearInterval(timer))
  check()
}
