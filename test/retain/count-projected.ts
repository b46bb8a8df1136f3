/** What readers count in the projection. */

import type { StreamId } from '../../src/model/stream.ts'
import type { ClickHouse } from '../../src/store/clickhouse.ts'
import type { Postgres } from '../../src/store/postgres.ts'
import { ProjectionTables } from '../../src/store/projection/compile/projection-tables.ts'
import { AggregateStore } from '../../src/store/projection/reads/aggregate-store.ts'
import { ReadStateStore } from '../../src/store/raw/read-state-store.ts'
import { ALL_EVENTS_QUERY } from '../store/projection/all-events-query.ts'
import { unknownCatalog } from '../store/projection/compile/test-catalog.ts'

/** What a query over all time counts. */
export async function countProjected(
  clickhouse: ClickHouse,
  postgres: Postgres,
  streamId: StreamId,
): Promise<number> {
  const { removedBefore } = await new ReadStateStore(postgres).read([streamId])
  const store = new AggregateStore(clickhouse, new ProjectionTables(clickhouse))
  const catalog = unknownCatalog(streamId, [])
  const streams = [{ streamId, catalog, removedBefore: removedBefore(streamId) }]
  return Number((await store.run({ ...ALL_EVENTS_QUERY, streams })).total)
}
