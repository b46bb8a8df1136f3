/** Tables of a cluster's server that was away. */
import type { ClickHouse } from '../clickhouse.ts'

/**
 * Resolves when the server that answers has made all tables that there were: one that comes back
 * makes them one after the other, and until then a table that it lacks may be full elsewhere. At
 * once on one server. Throws `StoreError`.
 */
export async function syncDatabase(clickhouse: ClickHouse, msMax: number): Promise<void> {
  const { database, cluster } = clickhouse.place
  if (cluster === undefined) return
  await clickhouse.command(`SYSTEM SYNC DATABASE REPLICA ${database}`, undefined, {
    settings: { receive_timeout: Math.ceil(msMax / 1_000) },
    signal: AbortSignal.timeout(msMax),
  })
}
