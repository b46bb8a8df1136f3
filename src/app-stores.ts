/**
 * Opens both stores, embedded or external, on one code path: start the embedded ones where no URL
 * is given, connect, migrate, claim a node number.
 */

import { startEmbeddedClickHouse } from './embedded/clickhouse.ts'
import { startEmbeddedPostgres } from './embedded/postgres.ts'
import type { EmbeddedStore, StoreState } from './embedded/supervisor.ts'
import {
  CLICKHOUSE_CONTROL_CONNECTIONS_MAX,
  CLICKHOUSE_READ_CONNECTIONS_MAX,
  CLICKHOUSE_WRITE_CONNECTIONS_MAX,
  POSTGRES_CONTROL_CONNECTIONS_MAX,
  POSTGRES_READ_CONNECTIONS_MAX,
  POSTGRES_WRITE_CONNECTIONS_MAX,
} from './limits.ts'
import type { DataDirectory } from './machine/data-directory.ts'
import { ClickHouse } from './store/clickhouse.ts'
import { MemoryFiles } from './store/memory-files.ts'
import { ensureClickHouse, migratePostgres } from './store/migrations/run.ts'
import { Postgres } from './store/postgres.ts'
import { ProjectionIdentity } from './store/projection/projection-identity.ts'
import { PROJECTION_DATABASE } from './store/projection/projection-store.ts'
import { ClockGuard } from './store/raw/clock-guard.ts'
import { NodeLease } from './store/raw/node-lease.ts'
import type { StoreLane } from './store/store-lane.ts'
import type { StoreLog } from './store/store-log.ts'

export type StoreName = 'postgres' | 'clickhouse'

export interface OpenStoresOptions {
  readonly directory: DataDirectory
  readonly postgresUrl: string | undefined
  readonly clickhouseUrl: string | undefined
  /** Take a ClickHouse that is empty though the projection was in another. */
  readonly mayRebuild: boolean
  readonly log: StoreLog
  /** Told of each embedded store that went down or came back. */
  readonly onStateChange: (store: StoreName, state: StoreState) => void
  readonly onLeaseLost: () => void
}

/** Clients of both stores, with connections that nobody else uses. */
export interface StoreClients {
  readonly postgres: Postgres
  readonly clickhouse: ClickHouse
}

/**
 * The clients at the top are those of the lane `control`: leases, credentials, checkpoints,
 * retention, health. What a request of a client may hold up for long does not belong there.
 */
export interface Stores extends StoreClients {
  /** For what clients ask for: queries, statistics, lists. */
  readonly reads: StoreClients
  /** For what brings events into the stores. */
  readonly writes: StoreClients
  readonly isClickHouseEmbedded: boolean
  readonly lease: NodeLease
  readonly clock: ClockGuard
  readonly projection: ProjectionIdentity
  /** Closes connections, then stops what was started. */
  close(): Promise<void>
}

export const CONNECTIONS = {
  read: {
    postgresMax: POSTGRES_READ_CONNECTIONS_MAX,
    clickhouseMax: CLICKHOUSE_READ_CONNECTIONS_MAX,
  },
  write: {
    postgresMax: POSTGRES_WRITE_CONNECTIONS_MAX,
    clickhouseMax: CLICKHOUSE_WRITE_CONNECTIONS_MAX,
  },
  control: {
    postgresMax: POSTGRES_CONTROL_CONNECTIONS_MAX,
    clickhouseMax: CLICKHOUSE_CONTROL_CONNECTIONS_MAX,
  },
} as const satisfies Record<StoreLane, unknown>

/**
 * Throws `StoreError` when a store cannot be started, reached or migrated; nothing is left running.
 */
export async function openStores(options: OpenStoresOptions): Promise<Stores> {
  const { directory, log, onStateChange } = options
  const closers: (() => Promise<void>)[] = []
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const embedded = async (store: StoreName): Promise<string> => {
      const start = store === 'postgres' ? startEmbeddedPostgres : startEmbeddedClickHouse
      const started: EmbeddedStore = await start({
        dataDir: directory.path,
        log,
        onStateChange: (state) => onStateChange(store, state),
      })
      closers.push(() => started.stop())
      return started.url
    }
    // Both take a second or more: side by side. One that fails must not leave the other behind.
    const urls = await Promise.allSettled([
      options.postgresUrl ?? embedded('postgres'),
      options.clickhouseUrl ?? embedded('clickhouse'),
    ])
    const [postgresUrl, clickhouseUrl] = urls.map((url) => {
      if (url.status === 'rejected') throw url.reason
      return url.value
    }) as [string, string]
    const isClickHouseEmbedded = options.clickhouseUrl === undefined
    const connect = (lane: StoreLane): StoreClients => {
      const { postgresMax, clickhouseMax } = CONNECTIONS[lane]
      const postgres = new Postgres({ url: postgresUrl, log, connectionsMax: postgresMax })
      closers.push(() => postgres.end())
      const isForFiles = isClickHouseEmbedded && lane === 'write'
      const dataFiles = isForFiles ? MemoryFiles.tryOpenShared() : undefined
      const clickhouse = new ClickHouse({
        url: clickhouseUrl,
        dataFiles,
        lane,
        connectionsMax: clickhouseMax,
      })
      closers.push(() => clickhouse.close())
      return { postgres, clickhouse }
    }
    const control = connect('control')
    const node = await claimNode(control, options)
    closers.push(() => node.lease.stop())
    await node.projection.assertRecorded()
    const [reads, writes] = [connect('read'), connect('write')]
    return { ...control, reads, writes, isClickHouseEmbedded, ...node, close }
  } catch (cause) {
    await close()
    throw cause
  }
}

/** Migrates what is there; then this node's place in it. */
async function claimNode(
  { postgres, clickhouse }: StoreClients,
  { directory, clickhouseUrl, mayRebuild, log, onLeaseLost: onLost }: OpenStoresOptions,
): Promise<Pick<Stores, 'lease' | 'clock' | 'projection'>> {
  await migratePostgres(postgres, { log })
  await ensureClickHouse(clickhouse, PROJECTION_DATABASE)
  const { nodeIdentity } = directory
  const isEmbedded = clickhouseUrl === undefined
  const claim = { postgres, clickhouse, nodeIdentity, isEmbedded, mayRebuild, log }
  const projection = await ProjectionIdentity.claim(claim)
  const clock = new ClockGuard()
  await clock.compare(postgres)
  const lease = await NodeLease.claim({ postgres, identity: nodeIdentity, log, clock, onLost })
  return { projection, clock, lease }
}
