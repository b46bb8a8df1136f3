/**
 * Where in a ClickHouse the projection is: on one server, or on the shards of a cluster, each of
 * which has its replicas. Statements name the same tables either way; this says how. A cluster's
 * name needs no quoting, as it is checked.
 */
export interface ClickHousePlace {
  /** A name that needs no quotes. */
  readonly database: string
  /** As the servers' configuration calls it; undefined on one server. */
  readonly cluster: string | undefined
  /** Of tables, beside the server's default. */
  readonly storagePolicy: string | undefined
  /** Only the shard that is asked counts: for those who write to it. */
  readonly isOneShard: boolean
}

/** Of a cluster or a storage policy. */
export const PLACE_NAME = /^[A-Za-z0-9_-]{1,64}$/

/** What a table has of its place, beside its own settings: begins with a comma. */
export function placeSettings({ storagePolicy }: Pick<ClickHousePlace, 'storagePolicy'>): string {
  return storagePolicy === undefined ? '' : `, storage_policy = '${storagePolicy}'`
}

/** For use after FROM: the table's rows on all shards. */
export function rowsOf(place: ClickHousePlace, table: string): string {
  return onShards(place, `${place.database}.${table}`)
}

/**
 * A table or table function of each shard's first replica that answers, for use after FROM: what
 * replicas have alike, such as rows and parts.
 */
export function onShards({ cluster, isOneShard }: ClickHousePlace, source: string): string {
  return cluster === undefined || isOneShard ? source : `cluster('${cluster}', ${source})`
}

/** The same of every replica: fails while one is away. */
export function onReplicas({ cluster, isOneShard }: ClickHousePlace, source: string): string {
  return cluster === undefined || isOneShard
    ? source
    : `clusterAllReplicas('${cluster}', ${source})`
}

/** Follows the table in statements that no Replicated database passes on by itself. */
export function onCluster({ cluster }: ClickHousePlace): string {
  return cluster === undefined ? '' : ` ON CLUSTER '${cluster}'`
}

/** Of a table whose replicas have the same rows. */
export function engineOf({ cluster }: Pick<ClickHousePlace, 'cluster'>): string {
  return cluster === undefined ? 'MergeTree' : 'ReplicatedMergeTree'
}
