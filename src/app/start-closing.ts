/**
 * Publishes this node's closing mark: with each renewal of its lease, and soon when somebody waits
 * for it. Who waits says so in PostgreSQL and every node looks there: a notification would not come
 * through a pooler of connections, and costs a connection that only listens.
 */
import type { ClosingMark } from '../commit/closing-mark.ts'
import type { Committer } from '../commit/committer.ts'
import { isWorthLogging, reasonOf } from '../telemetry/log.ts'
import type { CellContext } from './cell-context.ts'

/** How often a node looks whether somebody waits for its mark. */
export const CLOSING_POLL_MS = 500

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
