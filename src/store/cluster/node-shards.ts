/**
 * On which shards of a cluster the segments of a node number are: recorded before the first insert
 * there, so that whoever brings that number's segments forward looks for them on these.
 */
import type { Postgres } from '../postgres.ts'
import { StoreError } from '../store-error.ts'
import type { ClusterShard } from './cluster-layout.ts'

export interface NodeShards {
  readonly shard: ClusterShard
  readonly recorded: readonly ClusterShard[]
}

/**
 * The shard that the node number inserts into from now on, and all that it ever inserted into. With
 * more shards than before a node may move to another. Throws `StoreError`.
 */
export async function recordNodeShard(
  postgres: Postgres,
  nodeId: number,
  shards: readonly ClusterShard[],
): Promise<NodeShards> {
  const shard = shards[nodeId % shards.length]!
  await postgres.query(
    'INSERT INTO node_shards (node_id, shard) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [nodeId, shard.name],
  )
  const { rows } = await postgres.query<{ shard: string }>(
    'SELECT shard FROM node_shards WHERE node_id = $1 ORDER BY shard',
    [nodeId],
  )
  const recorded = rows.map(({ shard: name }) => {
    const known = shards.find((one) => one.name === name)
    if (known !== undefined) return known
    throw new StoreError(
      'other',
      `clickhouse: shard ${name} has events of node ${nodeId} and is not in the cluster any ` +
        'more: put it back, or build the projection anew (docs/cluster.md)',
    )
  })
  return { shard, recorded }
}
