/** What clients ask of a cell: over the connections of reads, which hold up nothing else. */
import { FieldCatalogStore } from '../store/catalog/field-catalog-store.ts'
import { SchemaStore } from '../store/catalog/schema-store.ts'
import { FieldStatsStore } from '../store/projection/field-stats-store.ts'
import { PROJECTION_DATABASE } from '../store/projection/projection-store.ts'
import { QueryStore } from '../store/projection/query-store.ts'
import { EventStore } from '../store/raw/event-store.ts'
import { SetAsideStore } from '../store/raw/set-aside-store.ts'
import { UsageStore } from '../store/raw/usage-store.ts'
import type { Stores } from './open-stores.ts'

export type ReadStores = ReturnType<typeof openReadStores>

export function openReadStores({ reads, clickhouse }: Pick<Stores, 'reads' | 'clickhouse'>) {
  const { postgres } = reads
  const events = new EventStore(postgres)
  const { readRemovedBefore } = events
  // Sizes are asked for seldom and told at once: they need not wait behind queries.
  const sizes = new QueryStore(clickhouse, PROJECTION_DATABASE, readRemovedBefore)
  return {
    events,
    usage: new UsageStore(postgres),
    setAside: new SetAsideStore(postgres),
    schemas: new SchemaStore(postgres),
    catalogs: new FieldCatalogStore(postgres),
    query: new QueryStore(reads.clickhouse, PROJECTION_DATABASE, readRemovedBefore),
    readProjectionBytes: sizes.readProjectionBytes,
    fieldStats: new FieldStatsStore(reads.clickhouse, PROJECTION_DATABASE, readRemovedBefore),
  }
}
