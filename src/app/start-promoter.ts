/** The part of the composition root that gives busy streams a projection table of their own. */

import { Promoter } from '../materialize/promoter.ts'
import { PromotionStore } from '../store/control/promotion-store.ts'
import type { Postgres } from '../store/postgres.ts'
import type { UsageStore } from '../store/raw/usage-store.ts'
import type { Context } from './context.ts'

/** `control`: where the control plane is. */
export function startPromoter(
  { log, metrics, stoppers }: Context,
  control: Postgres,
  usage: UsageStore,
): void {
  const promoted = metrics.counter('ingest_streams_promoted_total', 'Streams promoted')
  const store = new PromotionStore(control)
  const promoter = new Promoter({
    readSentBytes: () => usage.readSentBytes(),
    promote: (busy) => store.promote(busy),
    onPromoted: (streams) => {
      promoted.inc(streams.length)
      log.info({ streams }, 'streams got a projection table of their own')
    },
    onError: (err) => log.warn({ err }, 'could not find out which streams send the most'),
  })
  promoter.start()
  stoppers.push(() => promoter.stop())
}
