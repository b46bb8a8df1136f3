/** An aggregating query that counts all events of all time, to be changed by tests. */
import { parse } from '../../../src/language/parse.ts'
import type { AggregateTask } from '../../../src/store/projection/reads/aggregate-store.ts'

export const ALL_EVENTS_QUERY: Omit<AggregateTask, 'streams'> = {
  query: parse(''),
  timeBasis: 'ingested_at',
  fromNs: 0n,
  toNs: 1n << 62n,
  aggregates: [{ fn: 'count', field: undefined, query: undefined, name: 'count' }],
  keys: [],
  order: { of: 'aggregate', index: 0, isDescending: true },
  limit: 1_000,
  hasOthers: false,
  timeoutMs: 30_000,
}
