/** Which replicas of a cluster rows are read of while one of them may lack some. */
import type { ClickHouseSettings } from '@clickhouse/client'
import type { ClickHouseHost } from './clickhouse-hosts.ts'

export type ChosenReplicas =
  | { readonly settings: ClickHouseSettings; readonly behind?: undefined }
  /** There is no choice; `behind` is the name of a server that may lack something. */
  | { readonly settings: undefined; readonly behind: string }

/**
 * The engine takes one number for all shards: which replica of each is asked first. So one is
 * chosen whose servers have all there is, in each shard that has one that may not. Where such a
 * replica does not answer the engine would go to any other: so it must not be away either.
 */
export function chooseReplicas(hosts: readonly ClickHouseHost[]): ChosenReplicas {
  const behind = hosts.filter(({ isBehind }) => isBehind)
  const [first] = behind
  if (first === undefined) return { settings: {} }
  const none = { settings: undefined, behind: first.name }
  const shards = new Map<number, number>()
  for (const { replicaPlace: place } of behind) {
    if (place === undefined) return none
    shards.set(place.shard, place.replicas)
  }
  const hasAll = (shard: number, replica: number) => {
    return hosts.some(({ replicaPlace: place, isBehind, isAway }) => {
      return place?.shard === shard && place.replica === replica && !isBehind && !isAway
    })
  }
  for (let at = 0; at < Math.max(...shards.values()); at++) {
    if ([...shards].every(([shard, replicas]) => hasAll(shard, at % replicas))) {
      return { settings: settingsOf(at) }
    }
  }
  return none
}

/** Nothing else decides: no server near by, no errors of late, no second server that is quicker. */
function settingsOf(replica: number): ClickHouseSettings {
  return {
    load_balancing: 'first_or_random',
    load_balancing_first_offset: String(replica),
    prefer_localhost_replica: 0,
    distributed_replica_error_cap: '0',
    use_hedged_requests: 0,
  }
}
