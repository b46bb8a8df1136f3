/**
 * The times that a node's ids are of: whether this machine's clock fits PostgreSQL's, and up to
 * when nothing is committed any more.
 */
import type { ClosingMark } from '../commit/closing-mark.ts'
import type { Committer } from '../commit/committer.ts'
import { CLOCK_LEAD_MS_MAX } from '../limits.ts'
import type { SegmentIdGenerator } from '../model/segment-id.ts'
import { isWorthLogging, reasonOf } from '../telemetry/log.ts'
import type { CellContext } from './cell-context.ts'

const CHECK_MS = 1_000

/**
 * Compares this machine's clock with PostgreSQL's, and reports the result in the log, in a metric,
 * and by not being ready while nothing can be committed.
 */
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

/** How often a node looks whether somebody waits for its mark. */
const CLOSING_POLL_MS = 500

/**
 * Publishes this node's closing mark: with each renewal of its lease, and soon when somebody waits
 * for it. Who waits says so in PostgreSQL and every node looks there: a notification would not come
 * through a pooler of connections, and costs a connection that only listens.
 */
export function startClosing(
  { stores, log, stoppers }: Pick<CellContext, 'stores' | 'log' | 'stoppers'>,
  parts: {
    readonly closing: Pick<ClosingMark, 'read'>
    readonly committer: Pick<Committer, 'isOver'>
  },
): void {
  const { lease } = stores
  lease.closeBy({
    get closedMs() {
      return parts.closing.read()
    },
    get isOver() {
      return parts.committer.isOver
    },
  })
  let isPublishing = false
  let failures = 0
  const publish = async () => {
    if (isPublishing) return
    isPublishing = true
    try {
      await lease.publishIfWanted()
      failures = 0
    } catch (cause) {
      if (isWorthLogging(++failures)) {
        log.warn({ reason: reasonOf(cause) }, 'the closing mark could not be published; will retry')
      }
    } finally {
      isPublishing = false
    }
  }
  const timer = setInterval(() => void publish(), CLOSING_POLL_MS).unref()
  stoppers.push(() => clearInterval(timer))
}
