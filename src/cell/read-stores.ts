/** What clients ask of a cell: over the connections of reads, which hold up nothing else. */
import type { Stream, StreamId } from '../model/stream.ts'
import { FieldCatalogStore } from '../store/catalog/field-catalog-store.ts'
import { SchemaStore } from '../store/catalog/schema-store.ts'
import { ProjectionTables } from '../store/projection/compile/projection-tables.ts'
import { FieldStatsStore } from '../store/projection/field-stats-store.ts'
import { PROJECTION_DATABASE } from '../store/projection/projection-store.ts'
import { QueryStore } from '../store/projection/query-store.ts'
import { IdStore } from '../store/projection/search/id-store.ts'
import { TableKeeper } from '../store/projection/table-keeper.ts'
import { EventStore } from '../store/raw/event-store.ts'
import { PayloadStore } from '../store/raw/payload-store.ts'
import { PendingStore } from '../store/raw/pending-store.ts'
import { SetAsideStore } from '../store/raw/set-aside-store.ts'
import { UsageStore } from '../store/raw/usage-store.ts'
import type { Stores } from './open-stores.ts'
import { openStreams } from './open-streams.ts'

export type ReadStores = ReturnType<typeof openReadStores>

export function openReadStores({ reads, clickhouse }: Pick<Stores, 'reads' | 'clickhouse'>) {
  const { postgres } = reads
  const events = new EventStore(postgres)
  const { readRemovedBefore } = events
  const tables = new ProjectionTables(reads.clickhouse, PROJECTION_DATABASE)
  const catalogs = new FieldCatalogStore(postgres)
  const payloads = new PayloadStore(postgres)
  // Sizes are asked for seldom and told at once: they need not wait behind queries.
  const sizes = new QueryStore(clickhouse, PROJECTION_DATABASE, readRemovedBefore)
  const forms = new TableKeeper(clickhouse)
  return {
    events,
    pending: new PendingStore(postgres),
    ids: new IdStore(reads.clickhouse, tables),
    readPayloads: (keys: Parameters<PayloadStore['read']>[0]) => payloads.read(keys),
    openStreams: (streams: readonly Stream[]) => openStreams(postgres, catalogs, streams),
    usage: new UsageStore(postgres),
    setAside: new SetAsideStore(postgres),
    schemas: new SchemaStore(postgres),
    catalogs,
    query: new QueryStore(reads.clickhouse, PROJECTION_DATABASE, readRemovedBefore),
    readProjectionBytes: sizes.readProjectionBytes,
    readIndexedShare: (streamId: StreamId) => forms.readReadyShare(streamId).catch(() => null),
    fieldStats: new FieldStatsStore(reads.clickhouse, PROJECTION_DATABASE, readRemovedBefore),
  }
}
