/** What the read side's routes need, over real stores; of fields nothing is known. */
import { foundOf, type OpenStreams } from '../../src/read/read-deps.ts'
import type { ClickHouse } from '../../src/store/clickhouse.ts'
import type { Postgres } from '../../src/store/postgres.ts'
import { ProjectionTables } from '../../src/store/projection/compile/projection-tables.ts'
import { AggregateStore } from '../../src/store/projection/reads/aggregate-store.ts'
import { CompareStore } from '../../src/store/projection/reads/compare-store.ts'
import { FacetsStore } from '../../src/store/projection/reads/facets-store.ts'
import { PatternsStore } from '../../src/store/projection/reads/patterns-store.ts'
import { ReadStateStore } from '../../src/store/raw/read-state-store.ts'
import { unknownCatalog } from '../store/projection/compile/test-catalog.ts'

export function readingDeps(postgres: Postgres, clickhouse: ClickHouse) {
  const tables = new ProjectionTables(clickhouse)
  const aggregates = new AggregateStore(clickhouse, tables)
  const facets = new FacetsStore(clickhouse, tables)
  const compared = new CompareStore(clickhouse, tables)
  const states = new ReadStateStore(postgres)
  const openStreams: OpenStreams = async (asked) => {
    const streams = await foundOf(asked)
    const state = await states.read(streams.map(({ streamId }) => streamId))
    const sources = streams.map(({ streamId, textFields }) => ({
      streamId,
      catalog: unknownCatalog(streamId, textFields),
      removedBefore: state.removedBefore(streamId),
    }))
    return { sources, asOfMs: state.asOfMs }
  }
  return {
    openStreams,
    patterns: new PatternsStore(clickhouse, tables),
    runAggregate: aggregates.run.bind(aggregates),
    runFacets: facets.run.bind(facets),
    compareTotal: aggregates.run.bind(aggregates),
    compareKinds: compared.kinds.bind(compared),
    compareValues: compared.count.bind(compared),
    compareMasks: compared.masks.bind(compared),
    countFacet: aggregates.run.bind(aggregates),
    nowMs: Date.now,
  }
}
