/**
 * Up to where nothing will be committed any more, over all nodes: the least closing mark of those
 * that may commit. Numbers that nobody holds are closed.
 */
import type { Postgres } from '../postgres.ts'
import { STORE_NOW_MS } from '../raw/clock-guard.ts'
import { holdClaims } from '../raw/node-claims.ts'
import type { NodeIdentity } from '../under-lease.ts'

export interface Closed {
  /** No event of a receipt time before it will ever become visible that is not visible now. */
  readonly closedMs: number
  /** The node whose mark that is. */
  readonly nodeId: number
  /** PostgreSQL's clock. */
  readonly nowMs: number
}

export class ClosingStore {
  readonly #postgres: Postgres
  readonly #own: NodeIdentity

  constructor(postgres: Postgres, own: NodeIdentity) {
    this.#postgres = postgres
    this.#own = own
  }

  /** Asks each node to publish its mark once it is past this. Throws `StoreError`. */
  async want(ms: number): Promise<void> {
    await this.#postgres.query('UPDATE closing_wanted SET wanted_ms = $1 WHERE wanted_ms <> $1', [
      ms,
    ])
  }

  /**
   * No claim is under way meanwhile: a node that starts later begins above the marks that are read
   * here. Undefined while this node itself has no lease. Throws `StoreError`.
   */
  async read(): Promise<Closed | undefined> {
    const rows = await this.#postgres.transaction(async (client) => {
      await holdClaims(client)
      const found = await client.query<{
        readonly node_id: number
        readonly epoch: string
        readonly closed_ms: string
        readonly now_ms: number
      }>(
        `SELECT node_id, epoch, closed_ms, ${STORE_NOW_MS} AS now_ms
           FROM nodes WHERE NOT is_closed ORDER BY closed_ms`,
      )
      return found.rows
    })
    const [least] = rows
    const { nodeId, epoch } = this.#own
    const own = rows.find((row) => row.node_id === nodeId && BigInt(row.epoch) === epoch)
    if (least === undefined || own === undefined) return undefined
    return { closedMs: Number(least.closed_ms), nodeId: least.node_id, nowMs: least.now_ms }
  }
}
