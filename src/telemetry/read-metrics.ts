/** What reads find in the stores, and what fails of them. */
import { Counter, type Registry } from 'prom-client'
import { Tally } from './tally.ts'

/**
 * What is read. `search` to `sizes` are reads of the projection: the events of a search or an
 * export; counts and figures (queries, histograms, statistics of a field); facets; values that are
 * proposed; explanations; the size of a stream. The others are of PostgreSQL: events and where
 * they are; fields, shapes and marks; usage; live tails; views.
 */
export const READS = [
  'search',
  'aggregate',
  'facets',
  'values',
  'explain',
  'sizes',
  'events',
  'catalog',
  'usage',
  'tail',
  'views',
] as const
export type Read = (typeof READS)[number]

/**
 * `error`: the store answered with one, and would do so again. `away`: it did not answer, or not
 * now. `timeout`, `memory`: the read took more than it may, by `timeout_ms` or our bounds.
 */
export const READ_FAILURES = ['error', 'away', 'timeout', 'memory'] as const
export type ReadFailure = (typeof READ_FAILURES)[number]

export function readMetrics(registry: Registry) {
  return {
    searchedSegments: new Tally({
      name: 'ingest_search_waiting_segments_total',
      help: 'Segments that were not projected when a search came to them',
      label: 'result',
      values: ['read', 'passed_over'] as const,
      registry,
    }),
    damagedReads: new Counter({
      name: 'ingest_damaged_reads_total',
      help: 'Damaged segments left out',
      registers: [registry],
    }),
    readFailures: readFailures(registry),
  }
}

function readFailures(registry: Registry): Pick<Counter<'read' | 'reason'>, 'inc'> {
  const counter = new Counter({
    name: 'ingest_read_failures_total',
    help: 'Reads that a store failed, by what was read and why',
    labelNames: ['read', 'reason'] as const,
    registers: [registry],
  })
  for (const read of READS) for (const reason of READ_FAILURES) counter.inc({ read, reason }, 0)
  return counter
}
