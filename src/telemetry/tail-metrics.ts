/** What live tails send, and what they leave out. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { Tally } from './tally.ts'

export const LEFT_OUT = [
  'slow_reader',
  'busy',
  'too_far_back',
  'query_cost',
  'sampled',
  'several',
] as const

const LAG_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

export function tailMetrics(registry: Registry) {
  const registers = [registry]
  let count = () => 0
  new Gauge({
    name: 'ingest_tails',
    help: 'Live tails that are open',
    registers,
    collect() {
      this.set(count())
    },
  })
  return {
    watchTails: (read: () => number) => {
      count = read
    },
    tailEvents: new Counter({
      name: 'ingest_tail_events_total',
      help: 'Events sent to readers of live tails as they came',
      registers,
    }),
    tailGaps: new Tally({
      name: 'ingest_tail_gaps_total',
      help: 'Messages that told readers of live tails what they are not sent',
      label: 'reason',
      values: LEFT_OUT,
      registry,
    }),
    tailLeftOut: new Tally({
      name: 'ingest_tail_left_out_events_total',
      help: 'Events that these messages stand for; sampled ones match, others may',
      label: 'reason',
      values: LEFT_OUT,
      registry,
    }),
    tailLagSeconds: new Histogram({
      name: 'ingest_tail_lag_seconds',
      help: 'From when a commit was heard of to when its events were given to a reader',
      buckets: LAG_BUCKETS,
      registers,
    }),
  }
}
