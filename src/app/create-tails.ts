/** The part of the composition root that builds live tails. */
import { availableParallelism } from 'node:os'
import { mainTurns } from '../api/main-turns.ts'
import { TAIL_WORK_SHARE } from '../limits.ts'
import type { WorkerPool } from '../pool/pool.ts'
import type { ControlStore } from '../store/control/control-store.ts'
import { CommittedStore } from '../store/raw/committed-store.ts'
import { EventStore } from '../store/raw/event-store.ts'
import { TailHub } from '../tail/tail-hub.ts'
import { WorkBudget } from '../tail/work-budget.ts'
import type { ReadWatch } from '../telemetry/read-watch.ts'
import type { Context } from './context.ts'
import type { Stores } from './open-stores.ts'

interface Parts {
  readonly pool: WorkerPool
  readonly streams: ControlStore
  readonly watch: Pick<ReadWatch, 'watchAll'>
}

export function createTails(
  { log, metrics }: Pick<Context, 'log' | 'metrics'>,
  { reads, lease }: Stores,
  { pool, streams, watch }: Parts,
): TailHub {
  const budget = new WorkBudget(TAIL_WORK_SHARE * availableParallelism(), performance.now())
  const hub = new TailHub({
    ownNode: lease.nodeId,
    store: watch.watchAll('tail', new CommittedStore(reads.postgres)),
    events: watch.watchAll('tail', new EventStore(reads.postgres)),
    match: (task) => pool.run({ kind: 'match', ...task, withRecords: true }),
    matchNow: (task) => {
      const now = { kind: 'match', ...task, withRecords: true, isTail: true } as const
      return pool.run(now, undefined, (workedMs) => budget.spend(workedMs, performance.now()))
    },
    findStreams: (streamIds) => streams.findStreams(streamIds),
    restMs: () => budget.restMs(performance.now()),
    observer: {
      onEvents: (count, lagSeconds) => {
        metrics.tailEvents.inc(count)
        metrics.tailLagSeconds.observe(lagSeconds)
      },
      onGap: (reason, events) => {
        metrics.tailGaps.add(reason)
        metrics.tailLeftOut.add(reason, events)
      },
    },
    onError: (err) => log.warn({ err }, 'live tails have missed something'),
    nowMs: Date.now,
    nextTurn: () => mainTurns.next(),
  })
  metrics.watchTails(() => hub.count)
  return hub
}
