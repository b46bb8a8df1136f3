/**
 * Opens both stores, embedded or external, on one code path: starts an embedded one where no URL is
 * given, connects, migrates, claims a node number, and from then on watches them.
 */

import { startEmbeddedClickHouse } from '../embedded/clickhouse.ts'
import { startEmbeddedPostgres } from '../embedded/postgres.ts'
import type { EmbeddedStore } from '../embedded/supervisor.ts'
import {
  CLICKHOUSE_CONTROL_CONNECTIONS_MAX,
  CLICKHOUSE_READ_CONNECTIONS_MAX,
  CLICKHOUSE_WRITE_CONNECTIONS_MAX,
  POSTGRES_CONTROL_CONNECTIONS_MAX,
  POSTGRES_READ_CONNECTIONS_MAX,
  POSTGRES_WRITE_CONNECTIONS_MAX,
} from '../limits.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import { ClickHouse } from '../store/clickhouse.ts'
import { parseClickHouseUrl } from '../store/clickhouse-address.ts'
import { ClickHouseHosts, splitHosts } from '../store/clickhouse-hosts.ts'
import { ClusterLayout } from '../store/cluster/cluster-layout.ts'
import { recordNodeShard } from '../store/cluster/node-shards.ts'
import { clusterProbe } from '../store/cluster/probe.ts'
import { ShardReplicas } from '../store/cluster/shard-replicas.ts'
import { MemoryFiles } from '../store/memory-files.ts'
import { ensureClickHouse, migratePostgres } from '../store/migrations/run.ts'
import { Postgres } from '../store/postgres.ts'
import { PostgresWatch } from '../store/postgres-watch.ts'
import type { InsertPlace } from '../store/projection/insert-place.ts'
import { addLaterColumns } from '../store/projection/later-columns.ts'
import { ProjectionIdentity } from '../store/projection/projection-identity.ts'
import { ClockGuard } from '../store/raw/clock-guard.ts'
import { History } from '../store/raw/history.ts'
import { NodeLease } from '../store/raw/node-lease.ts'
import type { StoreLane } from '../store/store-lane.ts'
import type { Context } from './context.ts'

/** Clients of both stores, with connections of their own. */
export interface StoreClients {
  readonly postgres: Postgres
  readonly clickhouse: ClickHouse
}

/**
 * The clients at the top level are those of the lane `control`: leases, credentials, checkpoints,
 * retention, health. Statements that a client's request can keep busy for long do not belong there.
 */
export interface Stores extends StoreClients {
  /** For what clients request: queries, statistics, lists. */
  readonly reads: StoreClients
  /** For the stages that bring events into the stores. */
  readonly writes: StoreClients
  readonly isClickHouseEmbedded: boolean
  /** Clients of each ClickHouse server by itself, as far as they have answered. */
  readonly clickhouseServers: () => readonly ClickHouse[]
  /** Where the inserts of a node number go; undefined for the one server that there is. */
  readonly insertPlace: (
    nodeId: number,
    /** Gets what ends it. */
    stoppers: Context['stoppers'],
  ) => Promise<InsertPlace | undefined>
  readonly lease: NodeLease
  readonly clock: ClockGuard
  readonly projection: ProjectionIdentity
  /** Which PostgreSQL server answers. */
  readonly watch: PostgresWatch
  /** What this process saw committed there. */
  readonly history: History
  /** Another process has our node number. */
  readonly onLeaseLost: () => void
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
 * The stores close with the service. Throws `StoreError` when a store cannot be started, reached or
 * migrated; `stoppers` then ends what was started.
 */
export async function openStores(context: Context, directory: DataDirectory): Promise<Stores> {
  const { config, log, metrics, health, stoppers, onFatal } = context
  health.declare('postgres', 'required')
  health.declare('clickhouse', 'degraded')
  health.declare('clock', 'required')
  health.declare('projection', 'degraded')
  const [postgresUrl, clickhouseUrl] = await startServers(context, directory)
  let isMade = false
  const layout = await readCluster(context, clickhouseUrl, () => isMade)
  const isClickHouseEmbedded = config.clickhouseUrl === undefined
  const lanes: Postgres[] = []
  const connect = (lane: StoreLane): StoreClients => {
    const { postgresMax, clickhouseMax } = CONNECTIONS[lane]
    const postgres = new Postgres({
      url: postgresUrl,
      log,
      connectionsMax: postgresMax,
      keepsPlans: config.postgresUrl === undefined,
    })
    lanes.push(postgres)
    stoppers.push(() => postgres.end())
    const isForFiles = isClickHouseEmbedded && lane === 'write'
    const dataFiles = isForFiles ? MemoryFiles.tryOpenShared() : undefined
    const clickhouse = new ClickHouse({
      ...(layout?.options ?? { url: clickhouseUrl }),
      storagePolicy: config.clickhouseStoragePolicy,
      ...{ dataFiles, lane, connectionsMax: clickhouseMax },
    })
    stoppers.push(() => clickhouse.close())
    return { postgres, clickhouse }
  }
  const control = connect('control')
  const watch = new PostgresWatch({ postgres: control.postgres, log, all: () => lanes })
  stoppers.push(() => watch.stop())
  await watch.look() // What is read from here on is of this server.
  const leaseLost = metrics.counter(
    'ingest_node_lease_lost_total',
    'Times this node lost its number to another',
  )
  const onLeaseLost = () => {
    leaseLost.inc()
    onFatal('the node number belongs to another process')
  }
  const node = await claimNode(context, control, { directory, layout, onLeaseLost })
  isMade = true
  stoppers.push(() => node.lease.stop())
  await node.projection.assertRecorded()
  const [reads, writes] = [connect('read'), connect('write')]
  stoppers.push(health.watch('postgres', () => watch.look()))
  stoppers.push(health.watch('clickhouse', () => control.clickhouse.ping()))
  const insertPlace: Stores['insertPlace'] = async (nodeId, ending) => {
    if (layout === undefined) return undefined
    const shards = await recordNodeShard(control.postgres, nodeId, layout.shards)
    const { shard } = shards
    log.info({ nodeId, shard: shard.name }, 'the projection of this node number is on this shard')
    const replicasMin = config.clickhouseReplicasMin
    const place = new ShardReplicas({ ...layout.options, ...shards, replicasMin })
    ending.push(() => place.clickhouse.close())
    return place
  }
  const clickhouseServers = () => layout?.clients ?? [control.clickhouse]
  return {
    ...{ ...control, reads, writes, ...node, onLeaseLost },
    ...{ isClickHouseEmbedded, clickhouseServers, insertPlace },
    ...{ watch, history: new History(node.lease, directory.nodeIdentity) },
  }
}

/** The servers of a cluster; undefined without one. */
async function readCluster(
  { config, log, metrics, stoppers }: Context,
  url: string,
  isMade: () => boolean,
): Promise<ClusterLayout | undefined> {
  const { clickhouseCluster: cluster, clickhouseStoragePolicy: storagePolicy } = config
  let hosts: ClickHouseHosts | undefined
  metrics.gauge(
    'ingest_clickhouse_hosts_away',
    'Servers of a ClickHouse cluster that do not answer this node',
    () => hosts?.hosts.filter(({ isAway }) => isAway).length ?? 0,
  )
  if (cluster === undefined) return undefined
  const urls = splitHosts(url)
  const { database } = parseClickHouseUrl(urls[0]!, 1)
  hosts = new ClickHouseHosts(urls, {
    probe: clusterProbe({ database, isMade }),
    onChange: ({ name, isAway }) => {
      if (isAway) log.warn({ host: name }, 'a ClickHouse server does not answer')
      else log.info({ host: name }, 'a ClickHouse server answers again')
    },
  })
  stoppers.push(async () => hosts?.stop())
  const layout = await ClusterLayout.read({
    ...{ url: urls[0]!, cluster, storagePolicy, hosts },
    onRefused: (reason) => log.error({ reason }, 'a ClickHouse server is not used'),
  })
  stoppers.push(() => layout.close())
  const shards = layout.shards.map(({ name, replicas }) => `${name}: ${replicas.length}`)
  log.info({ cluster, shards }, 'the projection is on a cluster: shards and replicas that answer')
  return layout
}

/** The URLs of both stores. */
async function startServers(
  { config, log, metrics, health, stoppers }: Context,
  directory: DataDirectory,
): Promise<[postgres: string, clickhouse: string]> {
  const restarts = metrics.tally(
    'ingest_store_restarts_total',
    'Restarts of an embedded store that had stopped by itself',
    'store',
    ['postgres', 'clickhouse'],
  )
  const embedded = async (store: 'postgres' | 'clickhouse'): Promise<string> => {
    const start = store === 'postgres' ? startEmbeddedPostgres : startEmbeddedClickHouse
    const started: EmbeddedStore = await start({
      dataDir: directory.path,
      log,
      onStateChange: (state) => {
        health.report(store, state === 'running' ? undefined : state)
        if (state === 'restarting') restarts.add(store)
      },
    })
    stoppers.push(() => started.stop())
    return started.url
  }
  // Each takes a second or more, so start them together. If one fails, the other must be stopped.
  const urls = await Promise.allSettled([
    config.postgresUrl ?? embedded('postgres'),
    config.clickhouseUrl ?? embedded('clickhouse'),
  ])
  return urls.map((url) => {
    if (url.status === 'rejected') throw url.reason
    return url.value
  }) as [string, string]
}

/** Migrates the stores, then claims a node number. */
async function claimNode(
  { config, log }: Context,
  { postgres, clickhouse }: StoreClients,
  parts: {
    readonly directory: DataDirectory
    readonly layout: ClusterLayout | undefined
    readonly onLeaseLost: () => void
  },
): Promise<Pick<Stores, 'lease' | 'clock' | 'projection'>> {
  await migratePostgres(postgres, { log })
  await ensureClickHouse(clickhouse, parts.layout?.clients)
  const tables = await addLaterColumns(clickhouse)
  if (tables > 0) log.info({ tables }, 'added columns to tables of the projection')
  const { nodeIdentity } = parts.directory
  const isEmbedded = config.clickhouseUrl === undefined
  const mayRebuild = config.rebuildProjection
  const claim = { postgres, clickhouse, nodeIdentity, isEmbedded, mayRebuild, log }
  const projection = await ProjectionIdentity.claim(claim)
  const clock = new ClockGuard()
  await clock.compare(postgres)
  const onLost = parts.onLeaseLost
  const lease = await NodeLease.claim({ postgres, identity: nodeIdentity, log, clock, onLost })
  return { projection, clock, lease }
}
