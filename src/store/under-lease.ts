/** What a node writes under its number, which another process may have got meanwhile. */
import type { Postgres, Queryable } from './postgres.ts'

/** Whose rows are ours: a number that another process takes over gets another epoch. */
export interface NodeIdentity {
  readonly nodeId: number
  readonly epoch: bigint
}

/**
 * Runs `fn` in a transaction that fails with `lease_lost` when the number is another's by now, and
 * that whoever claims it waits for. Throws `StoreError`.
 */
export async function underLease<T>(
  postgres: Postgres,
  { nodeId, epoch }: NodeIdentity,
  fn: (client: Queryable) => Promise<T>,
): Promise<T> {
  return postgres.transaction(async (client) => {
    await client.query('CALL assert_node_lease($1::smallint, $2)', [nodeId, String(epoch)])
    return fn(client)
  })
}
