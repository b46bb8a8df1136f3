/** A cell's stores for clients' reads, on connections of their own that hold up nothing else. */

import { IngestError } from '../errors.ts'
import type { WaitingSegments } from '../materialize/waiting-segments.ts'
import type { StreamId } from '../model/stream.ts'
import { openStreamsBy } from '../read/open-streams.ts'
import { FieldCatalogStore } from '../store/catalog/field-catalog-store.ts'
import { FieldIndex } from '../store/catalog/field-index.ts'
import { SchemaStore } from '../store/catalog/schema-store.ts'
import { ProjectionTables } from '../store/projection/compile/projection-tables.ts'
import { AggregateStore, type AggregateTask } from '../store/projection/reads/aggregate-store.ts'
import { CompareStore } from '../store/projection/reads/compare-store.ts'
import { ExplainStore } from '../store/projection/reads/explain-store.ts'
import { FacetsStore } from '../store/projection/reads/facets-store.ts'
import { IdStore } from '../store/projection/reads/id-store.ts'
import { PatternsStore } from '../store/projection/reads/patterns-store.ts'
import { projectionBytesReader } from '../store/projection/reads/projection-bytes.ts'
import { ValueStore } from '../store/projection/reads/value-store.ts'
import { TableKeeper } from '../store/projection/table-keeper.ts'
import { EventStore } from '../store/raw/event-store.ts'
import { PendingStore } from '../store/raw/pending-store.ts'
import { ReadStateStore } from '../store/raw/read-state-store.ts'
import { SetAsideStore } from '../store/raw/set-aside-store.ts'
import { UsageHistory } from '../store/raw/usage-history.ts'
import { UsageStore } from '../store/raw/usage-store.ts'
import type { ReadWatch } from '../telemetry/read-watch.ts'
import type { Stores } from './open-stores.ts'

export type ReadStores = ReturnType<typeof openReadStores>

type ReadParts = Pick<Stores, 'reads' | 'clickhouse' | 'isClickHouseEmbedded'>

export function openReadStores(
  { reads, clickhouse, isClickHouseEmbedded }: ReadParts,
  {
    shouldYieldToIngest,
    waiting,
    watch,
  }: {
    /** Whether a read has to leave an embedded engine's processors to events. */
    readonly shouldYieldToIngest: () => boolean
    readonly waiting: WaitingSegments
    /** Notices reads that fail. */
    readonly watch: Pick<ReadWatch, 'watch' | 'watchAll'>
  },
) {
  const { postgres } = reads
  if (isClickHouseEmbedded) {
    reads.clickhouse.setDefaults(() => (shouldYieldToIngest() ? { max_threads: 1 } : {}))
  }
  const catalogs = watch.watchAll('catalog', new FieldCatalogStore(postgres))
  const tables = new ProjectionTables(clickhouse)
  const aggregates = watch.watchAll('aggregate', new AggregateStore(reads.clickhouse, tables))
  const states = watch.watchAll('catalog', new ReadStateStore(postgres))
  const facets = watch.watchAll('facets', new FacetsStore(reads.clickhouse, tables))
  const compared = watch.watchAll('compare', new CompareStore(reads.clickhouse, tables))
  const totals = watch.watchAll('compare', new AggregateStore(reads.clickhouse, tables))
  const facetCounts = new AggregateStore(reads.clickhouse, tables)
  const explaining = watch.watchAll('explain', new ExplainStore(reads.clickhouse, tables))
  const values = watch.watchAll('values', new ValueStore(reads.clickhouse, tables))
  // Sizes are requested rarely and answered fast, so they need not queue behind queries.
  const readProjectionBytes = projectionBytesReader(clickhouse, tables, (read) =>
    watch.watch('sizes', read),
  )
  const forms = watch.watchAll('sizes', new TableKeeper(clickhouse))
  return {
    events: watch.watchAll('events', new EventStore(postgres)),
    pending: watch.watchAll(
      'events',
      new PendingStore(postgres, (streamIds) => waiting.projectedOf(streamIds)),
    ),
    ids: watch.watchAll('search', new IdStore(reads.clickhouse, tables)),
    explainIds: explaining.explain.bind(explaining),
    topValues: values.top.bind(values),
    usage: watch.watchAll('usage', new UsageStore(postgres)),
    usageHistory: watch.watchAll('usage', new UsageHistory(postgres)),
    setAside: watch.watchAll('usage', new SetAsideStore(postgres)),
    schemas: watch.watchAll('catalog', new SchemaStore(postgres)),
    fieldIndex: watch.watchAll('catalog', new FieldIndex(postgres)),
    catalogs,
    readState: states.read.bind(states),
    openStreams: openStreamsBy(states, catalogs),
    patterns: watch.watchAll('aggregate', new PatternsStore(reads.clickhouse, tables)),
    runAggregate: aggregates.run.bind(aggregates),
    runFacets: facets.run.bind(facets),
    compareTotal: totals.run.bind(totals),
    compareKinds: compared.kinds.bind(compared),
    compareValues: compared.count.bind(compared),
    compareMasks: compared.masks.bind(compared),
    // One that has no time or memory is followed by a sample, so it is no failure.
    countFacet: (task: AggregateTask, signal?: AbortSignal) => {
      return facetCounts.run(task, signal).catch((cause: unknown) => {
        if (cause instanceof IngestError) throw cause
        return watch.watch('facets', (): Promise<never> => Promise.reject(cause))()
      })
    },
    readProjectionBytes,
    readIndexedShare: (streamId: StreamId) => forms.readReadyShare(streamId).catch(() => null),
  }
}
