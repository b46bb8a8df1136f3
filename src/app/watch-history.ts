/**
 * What a failover of PostgreSQL lost: noticed when another server answers, recorded for all nodes,
 * shown in the log, in metrics and by a degraded health check.
 *
 * A process that has something of a lost history in its memory ends, to be started again: caches,
 * followers and cursors all build on it, and a start has one way to make all of them anew. So do
 * the other nodes when they hear of a loss, as they may have read what was lost.
 */
import { LostHistoryStore } from '../store/raw/lost-history-store.ts'
import { reasonOf } from '../telemetry/log.ts'
import type { CellContext } from './cell-context.ts'

/** How long a loss is shown as degraded health. */
export const LOSS_SHOWN_MS = 86_400_000
const LOOK_MS = 2_000

/** Call it when the start has settled what earlier processes left. */
export async function watchHistory({
  stores,
  health,
  metrics,
  log,
  stoppers,
  onFatal,
}: CellContext): Promise<void> {
  const { postgres, history, watch, lease } = stores
  const record = new LostHistoryStore(postgres)
  health.declare('history', 'degraded')
  let known = await record.summarize(LOSS_SHOWN_MS)
  const first = known.newestId
  metrics.gauge(
    'ingest_history_losses',
    'Times that PostgreSQL was found to lack what nodes had seen committed, of all nodes',
    () => known.losses,
  )
  metrics.gauge(
    'ingest_history_lost_events',
    'Acknowledged events that it lacked, as far as they are known, of all nodes',
    () => known.events,
  )
  const tell = () => {
    const { recent } = known
    const text = `PostgreSQL lost what was committed (${recent}): see docs/operations.md, failover`
    health.report('history', recent && text)
  }
  tell()
  watch.whenMoved(async (sql) => {
    const loss = await history.findLoss(sql)
    if (loss === undefined) return
    const { what, after, upTo, events } = loss
    const fields = { what, after: String(after), upTo: String(upTo), events }
    log.error(fields, 'PostgreSQL lacks what this node saw committed: its history was lost')
    await new LostHistoryStore(sql).record(lease.nodeId, loss, what !== 'segments')
    onFatal('PostgreSQL lost what was committed in a failover; this node must start anew')
  })
  const look = async () => {
    known = await record.summarize(LOSS_SHOWN_MS)
    tell()
    if (known.newestId === first) return
    onFatal('another node found that PostgreSQL lost what was committed; this one starts anew')
  }
  const timer = setInterval(() => {
    look().catch((cause) => log.debug({ reason: reasonOf(cause) }, 'losses could not be read'))
  }, LOOK_MS).unref()
  stoppers.push(() => clearInterval(timer))
}
