/** The part of the composition root that builds live tails. */
import { availableParallelism } from 'node:os'
import { mainTurns } from '../api/main-turns.ts'
import type { WorkerPool } from '../pool/pool.ts'
import type { ControlStore } from '../store/control/control-store.ts'
import { CommittedStore } from '../store/raw/committed-store.ts'
import { EventStore } from '../store/raw/event-store.ts'
import type { TailObserver } from '../tail/tail.ts'
import { TailHub } from '../tail/tail-hub.ts'
import { WorkBudget } from '../tail/work-budget.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ReadWatch } from '../telemetry/read-watch.ts'
import type { Context } from './context.ts'
import type { Stores } from './open-stores.ts'

/** Share of the processors' time that matching may take, but for bursts. */
export const TAIL_WORK_SHARE = 0.11

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
    cooldownMs: () => budget.cooldownMs(performance.now()),
    observer: tailObserver(metrics),
    onError: (err) => log.warn({ err }, 'live tails have missed something'),
    nowMs: Date.now,
    nextTurn: () => mainTurns.next(),
  })
  metrics.gauge('ingest_tails', 'Live tails that are open', () => hub.count)
  return hub
}

const LEFT_OUT = [
  'slow_reader',
  'busy',
  'too_far_back',
  'query_cost',
  'sampled',
  'several',
] as const
const LAG_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** What live tails send, and what they leave out. */
function tailObserver(metrics: Metrics): TailObserver {
  const sent = metrics.counter(
    'ingest_tail_events_total',
    'Events sent to readers of live tails as they came',
  )
  const gaps = metrics.tally(
    'ingest_tail_gaps_total',
    'Messages that told readers of live tails what they are not sent',
    'reason',
    LEFT_OUT,
  )
  const leftOut = metrics.tally(
    'ingest_tail_left_out_events_total',
    'Events that these messages stand for; sampled ones match, others may',
    'reason',
    LEFT_OUT,
  )
  const lag = metrics.histogram(
    'ingest_tail_lag_seconds',
    'From when a commit was heard of to when its events were given to a reader',
    { buckets: LAG_BUCKETS },
  )
  return {
    onEvents: (count, lagSeconds) => {
      sent.inc(count)
      lag.observe(lagSeconds)
    },
    onGap: (reason, events) => {
      gaps.add(reason)
      leftOut.add(reason, events)
    },
  }
}
