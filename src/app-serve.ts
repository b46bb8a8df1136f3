/** The part of the composition root that builds the read side and management. */
import type { CredentialCache } from './accept/authenticate.ts'
import type { Route } from './http/exchange.ts'
import type { WorkerPool } from './pool/pool.ts'
import { serveRoutes } from './serve/routes.ts'
import type { ControlStore } from './store/control-store.ts'
import { EventStore } from './store/event-store.ts'
import { FieldStatsStore } from './store/field-stats-store.ts'
import type { Stores } from './store/open-stores.ts'
import { PROJECTION_DATABASE } from './store/projection-store.ts'
import { QueryStore } from './store/query-store.ts'
import { SchemaStore } from './store/schema-store.ts'
import { SetAsideStore } from './store/set-aside-store.ts'
import { StorageStore } from './store/storage-store.ts'
import type { UsageStore } from './store/usage-store.ts'

export function createServeRoutes(parts: {
  readonly stores: Stores
  readonly pool: WorkerPool
  readonly control: ControlStore
  readonly credentials: CredentialCache
  readonly usage: UsageStore
}): Route[] {
  const { stores, pool, control, credentials, usage } = parts
  const storage = new StorageStore(stores.postgres)
  return serveRoutes({
    resolveToken: (text) => credentials.resolveToken(text),
    control,
    usage,
    setAside: new SetAsideStore(stores.postgres),
    events: new EventStore(stores.postgres),
    query: new QueryStore(stores.clickhouse, PROJECTION_DATABASE, (streamId) =>
      storage.readRemovedBefore(streamId),
    ),
    schemas: new SchemaStore(stores.postgres),
    fieldStats: new FieldStatsStore(stores.clickhouse, PROJECTION_DATABASE, (streamId) =>
      storage.readRemovedBefore(streamId),
    ),
    readSegments: async (reads) => (await pool.run({ kind: 'read', reads })).json,
    previewRedaction: async (sample, redactFields) =>
      (await pool.run({ kind: 'preview', sample, redactFields })).preview,
  })
}
