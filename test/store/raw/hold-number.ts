/** For tests that write what a node writes, without its lease being renewed. */

import type { Postgres } from '../../../src/store/postgres.ts'
import type { NodeIdentity } from '../../../src/store/under-lease.ts'

const IDENTITY = '00000000-0000-4000-8000-0000000000ff'

/** The number as its holder knows it; a number that nobody has had gets a node. */
export async function holdNumber(postgres: Postgres, nodeId: number): Promise<NodeIdentity> {
  const { rows } = await postgres.query<{ epoch: string }>(
    `INSERT INTO nodes AS n (node_id, identity, epoch, lease_until)
     VALUES ($1, $2, 1, clock_timestamp() + interval '1 hour')
     ON CONFLICT (node_id) DO UPDATE SET epoch = n.epoch RETURNING epoch`,
    [nodeId, IDENTITY],
  )
  return { nodeId, epoch: BigInt(rows[0]!.epoch) }
}
