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

export interface ClusterServer {
  readonly host: ClickHouseHost
  /** Of the shard and of the server itself, as its macros say. */
  readonly shard: string
  readonly replica: string
  readonly version: string
}

/** What a server's configuration has of the cluster. */
interface Member extends ClusterServer {
  /** In the cluster's definition that this server has: shards, and servers in all. */
  readonly shards: number
  readonly servers: number
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
  readonly #stopping = new AbortController()

  readonly #members: Member[] = []

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
    await judgeMacros(options)
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
    const { host, shard } = member
    this.#members.push(member)
    const known = this.#shards.get(shard) ?? { hosts: ClickHouseHosts.of([]), replicas: [] }
    this.#shards.set(shard, known)
    known.hosts.add(host)
    known.replicas.push({ host, clickhouse: clientOf(host, this.options) })
  }

  async #askLater(host: ClickHouseHost): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await sleep(ASK_AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted || host.isAway) continue
      try {
        const member = await askHost(host, this.options)
        judgeMembers([...this.#members, member], this.options)
        this.#add(member)
        return
      } catch (cause) {
        if (!isAway(cause)) this.options.onRefused?.((cause as Error).message)
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
  for (const { host, shards, servers } of members) {
    if (shards === members[0]!.shards && servers === members[0]!.servers) continue
    refuse(`${members[0]!.host.name} and ${host.name} have other definitions of ${cluster}`)
  }
  const { servers, shards: all } = members[0]!
  if (hosts.hosts.length < servers) {
    refuse(`${cluster} has ${servers} servers: name all of them in SLUICE_CLICKHOUSE_URL`)
  }
  const named = new Set(members.map(({ shard }) => shard)).size
  if (named === all) return
  refuse(
    `cluster ${cluster} has ${all} shard(s), and servers of ${named} answer: ` +
      'bring back one of each',
  )
}

/** Servers that the definition has in one shard must have that shard's macro, and no others. */
async function judgeMacros(options: ClusterOptions): Promise<void> {
  const clickhouse = new ClickHouse(options)
  try {
    const rows = await clickhouse.query<{ number: number; shard: string }>(
      `SELECT DISTINCT _shard_num AS number, getMacro('shard') AS shard
       FROM cluster('${options.cluster}', system.one)`,
      {},
      {},
      { signal: AbortSignal.timeout(ASK_MS_MAX) },
    )
    const [numbers, shards] = [rows.map((row) => row.number), rows.map((row) => row.shard)]
    if (new Set(numbers).size === rows.length && new Set(shards).size === rows.length) return
    refuse(`the macro shard of servers of ${options.cluster} is not that of the shard they are in`)
  } finally {
    await clickhouse.close()
  }
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

function clientOf(
  host: ClickHouseHost,
  { url, cluster, storagePolicy }: ClusterOptions,
): ClickHouse {
  const hosts = ClickHouseHosts.of([host])
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
           WHERE cluster = {cluster:String}) AS servers`,
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
