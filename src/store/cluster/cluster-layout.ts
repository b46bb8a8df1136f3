/**
 * Which servers a cluster has: each host of the URL is asked for its shard and replica, as its
 * macros say. A host that is away at the start is asked again later.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ClickHouse } from '../clickhouse.ts'
import { type ClickHouseHost, ClickHouseHosts } from '../clickhouse-hosts.ts'
import { StoreError } from '../store-error.ts'

/** The oldest version that the tables' types, indexes and settings were tried with. */
export const CLUSTER_VERSION_MIN = '26.7'

/** What a server's configuration has of the cluster. */
interface Member {
  readonly host: ClickHouseHost
  /** Of the shard and of the server itself, as its macros say. */
  readonly shard: string
  readonly replica: string
  readonly version: string
  /** In the cluster's definition that this server has: shards, and servers in all. */
  readonly shards: number
  readonly servers: number
  /** The shard that it is in there itself, from 1; 0 where it is in none. */
  readonly ownShard: number
  /** …and which of its replicas, from 1, of how many. */
  readonly ownReplica: number
  readonly replicas: number
}

export interface ShardReplica {
  readonly host: ClickHouseHost
  /** Asks this host alone. */
  readonly clickhouse: ClickHouse
}

export interface ClusterShard {
  readonly name: string
  readonly hosts: ClickHouseHosts
  readonly replicas: readonly ShardReplica[]
}

export interface ClusterOptions {
  /** Of any server: what all have in common. */
  readonly url: string
  readonly cluster: string
  readonly storagePolicy?: string | undefined
  readonly hosts: ClickHouseHosts
  /** A server that was away at the start does not fit the others: it is not used. */
  readonly onRefused?: (text: string) => void
}

const ASK_MS_MAX = 10_000
const ASK_AGAIN_MS = 5_000
const PAGE = 'docs/cluster.md'

export class ClusterLayout {
  readonly options: ClusterOptions
  readonly #shards = new Map<string, { hosts: ClickHouseHosts; replicas: ShardReplica[] }>()
  readonly #members: Member[] = []
  readonly #stopping = new AbortController()

  private constructor(options: ClusterOptions, members: readonly Member[]) {
    this.options = options
    for (const member of members) this.#add(member)
    const known = new Set(members.map(({ host }) => host))
    for (const host of options.hosts.hosts) if (!known.has(host)) void this.#askLater(host)
  }

  /** Throws `StoreError`, saying what to do, where these hosts are no cluster to work with. */
  static async read(options: ClusterOptions): Promise<ClusterLayout> {
    const asked = await Promise.allSettled(
      options.hosts.hosts.map((host) => askHost(host, options)),
    )
    const members = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const failure = asked.find((one) => one.status === 'rejected')
    // Each is asked whatever becomes of the others: what the first says is most of what there is.
    if (members.length === 0) throw failure?.reason
    for (const one of asked) {
      if (one.status === 'rejected' && !isAway(one.reason)) throw one.reason
    }
    judgeMembers(members, options)
    return new ClusterLayout(options, members)
  }

  /** By name. */
  get shards(): ClusterShard[] {
    const all = [...this.#shards].map(([name, shard]) => ({ name, ...shard }))
    return all.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Of each server that has answered. */
  get clients(): ClickHouse[] {
    return this.shards.flatMap(({ replicas }) => replicas.map(({ clickhouse }) => clickhouse))
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    for (const client of this.clients) await client.close()
  }

  #add(member: Member): void {
    const { host, shard, ownShard, ownReplica, replicas } = member
    host.replicaPlace = { shard: ownShard, replica: ownReplica - 1, replicas }
    this.#members.push(member)
    const known = this.#shards.get(shard) ?? { hosts: ClickHouseHosts.of([]), replicas: [] }
    this.#shards.set(shard, known)
    known.hosts.add(host)
    known.replicas.push({ host, clickhouse: clientOf(host, this.options) })
  }

  async #askLater(host: ClickHouseHost): Promise<void> {
    const { signal } = this.#stopping
    let told = ''
    while (!signal.aborted) {
      await sleep(ASK_AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted || host.isAway) continue
      try {
        const member = await askHost(host, this.options)
        judgeMembers([...this.#members, member], this.options)
        this.#add(member)
        return
      } catch (cause) {
        const { message } = cause as Error
        if (!isAway(cause) && message !== told) this.options.onRefused?.(message)
        told = message
      }
    }
  }
}

/** The rules alone. Throws `StoreError`. */
export function judgeMembers(
  members: readonly Member[],
  { cluster, hosts }: Pick<ClusterOptions, 'cluster' | 'hosts'>,
): void {
  const seen = new Map<string, string>()
  for (const { host, shard, replica, version, shards } of members) {
    const name = host.name
    if (shards === 0) refuse(`${name} knows no cluster ${cluster} (system.clusters)`)
    if (shard === '' || replica === '') refuse(`${name} has no macros shard and replica`)
    const twin = seen.get(`${shard}\n${replica}`)
    if (twin !== undefined) {
      refuse(`${twin} and ${name} have the same macros, shard ${shard} and replica ${replica}`)
    }
    seen.set(`${shard}\n${replica}`, name)
    if (isOlder(version, CLUSTER_VERSION_MIN)) {
      refuse(`${name} is of version ${version}, older than ${CLUSTER_VERSION_MIN}`)
    }
  }
  const { servers, shards: all, host: first } = members[0]!
  const macros = new Map<number, string>()
  for (const { host, shard, ownShard, ...other } of members) {
    if (other.shards !== all || other.servers !== servers) {
      refuse(`${first.name} and ${host.name} have other definitions of ${cluster}`)
    }
    if (ownShard === 0) refuse(`${host.name} is not itself in its definition of ${cluster}`)
    if ((macros.get(ownShard) ?? shard) !== shard) {
      refuse(`servers of shard ${ownShard} of ${cluster} have other macros shard`)
    }
    macros.set(ownShard, shard)
  }
  if (hosts.hosts.length < servers) {
    refuse(`${cluster} has ${servers} servers: name all of them in SLUICE_CLICKHOUSE_URL`)
  }
  if (new Set(macros.values()).size < macros.size) {
    refuse(`servers of different shards of ${cluster} have the same macro shard`)
  }
  if (macros.size === all) return
  refuse(
    `cluster ${cluster} has ${all} shard(s), and servers of ${macros.size} answer: ` +
      'bring back one of each',
  )
}

function refuse(text: string): never {
  throw new StoreError('other', `clickhouse: ${text}; see ${PAGE}`, { code: 'bad_cluster' })
}

function isOlder(version: string, least: string): boolean {
  const [a, b] = [version, least].map((text) => text.split('.').map(Number))
  for (const [at, number] of b!.entries()) {
    if ((a![at] ?? 0) !== number) return (a![at] ?? 0) < number
  }
  return false
}

function isAway(cause: unknown): boolean {
  return cause instanceof StoreError && cause.kind === 'unavailable'
}

function clientOf(host: ClickHouseHost, options: ClusterOptions): ClickHouse {
  return shardClient({ ...options, hosts: ClickHouseHosts.of([host]) })
}

/** For which only the shard of these hosts counts. */
export function shardClient(
  options: Pick<ClusterOptions, 'url' | 'cluster' | 'storagePolicy' | 'hosts'>,
): ClickHouse {
  const { url, cluster, storagePolicy, hosts } = options
  return new ClickHouse({ url, hosts, cluster, storagePolicy, isOneShard: true, lane: 'write' })
}

/** `unavailable` also where the server has no Keeper that answers. */
async function askHost(host: ClickHouseHost, options: ClusterOptions): Promise<Member> {
  const clickhouse = clientOf(host, options)
  try {
    const signal = AbortSignal.timeout(ASK_MS_MAX)
    const [row] = await clickhouse.query<Omit<Member, 'host'>>(
      `SELECT (SELECT any(substitution) FROM system.macros WHERE macro = 'shard') AS shard,
         (SELECT any(substitution) FROM system.macros WHERE macro = 'replica') AS replica,
         version() AS version, zookeeperSessionUptime() AS uptime,
         (SELECT toUInt32(uniqExact(shard_num)) FROM system.clusters
           WHERE cluster = {cluster:String}) AS shards,
         (SELECT toUInt32(count()) FROM system.clusters
           WHERE cluster = {cluster:String}) AS servers,
         (SELECT toUInt32(max(shard_num)) FROM system.clusters
           WHERE cluster = {cluster:String} AND is_local) AS ownShard,
         (SELECT toUInt32(max(replica_num)) FROM system.clusters
           WHERE cluster = {cluster:String} AND is_local AND shard_num = ownShard) AS ownReplica,
         (SELECT toUInt32(count()) FROM system.clusters
           WHERE cluster = {cluster:String} AND shard_num = ownShard) AS replicas`,
      { cluster: options.cluster },
      {},
      { signal },
    )
    return { ...row!, host }
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    const text = `${host.name}: ${cause.message}`
    throw new StoreError(cause.kind, text, cause)
  } finally {
    await clickhouse.close()
  }
}
