/** What searches do with segments that the projection does not have yet. */
import type { Registry } from 'prom-client'
import { Tally } from './tally.ts'

export function searchedSegments(registry: Registry) {
  return new Tally({
    name: 'ingest_search_waiting_segments_total',
    help: 'Segments that were not projected when a search came to them',
    label: 'result',
    values: ['read', 'passed_over'] as const,
    registry,
  })
}
