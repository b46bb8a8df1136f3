/** Idempotency keys: claimed here, completed in the data's transaction (`segment-store.ts`). */
import { IDEMPOTENCY_TTL_MS } from '../limits.ts'
import type { StreamId } from '../model/stream.ts'
import type { Postgres } from './postgres.ts'
import type { NodeIdentity } from './segment-store.ts'

export interface RememberedAnswer {
  readonly status: number
  readonly body: string
}

/** Keys removed by one purge, so that it never holds locks for long. */
const PURGE_ROWS_MAX = 10_000

export class IdempotencyStore {
  readonly #postgres: Postgres
  readonly #node: NodeIdentity

  constructor(postgres: Postgres, node: NodeIdentity) {
    this.#postgres = postgres
    this.#node = node
  }

  /**
   * Claims a key: `claimed` when it is new, expired, or its claimant died; `busy` while another
   * request holds it; else the answer given the first time. Throws `StoreError`.
   */
  async claim(
    streamId: StreamId,
    keySha256: Uint8Array,
  ): Promise<'claimed' | 'busy' | RememberedAnswer> {
    const { rowCount } = await this.#postgres.query(
      `INSERT INTO idempotency_keys AS k (stream_id, key_sha256, node_id, epoch)
       VALUES ($1, $2, $3, $4)
       ON CONFLICT (stream_id, key_sha256) DO UPDATE
         SET created_at = now(), node_id = $3, epoch = $4, status = NULL, response = NULL
       WHERE k.created_at < now() - $5 * interval '1 millisecond'
          OR (k.status IS NULL AND NOT EXISTS (
               SELECT 1 FROM nodes WHERE nodes.node_id = k.node_id AND nodes.epoch = k.epoch
                 AND nodes.lease_until > now()))`,
      [streamId, keySha256, this.#node.nodeId, String(this.#node.epoch), IDEMPOTENCY_TTL_MS],
    )
    if (rowCount === 1) return 'claimed'
    const { rows } = await this.#postgres.query<{ status: number | null; response: string | null }>(
      'SELECT status, response FROM idempotency_keys WHERE stream_id = $1 AND key_sha256 = $2',
      [streamId, keySha256],
    )
    const [row] = rows
    if (row === undefined || row.status === null || row.response === null) return 'busy'
    return { status: row.status, body: row.response }
  }

  /** Gives a claimed key back, when its request stored nothing. Throws `StoreError`. */
  async release(streamId: StreamId, keySha256: Uint8Array): Promise<void> {
    await this.#postgres.query(
      `DELETE FROM idempotency_keys WHERE stream_id = $1 AND key_sha256 = $2
         AND status IS NULL AND node_id = $3 AND epoch = $4`,
      [streamId, keySha256, this.#node.nodeId, String(this.#node.epoch)],
    )
  }

  /** Forgets some keys past their time; returns how many. Throws `StoreError`. */
  async purge(): Promise<number> {
    const { rowCount } = await this.#postgres.query(
      `DELETE FROM idempotency_keys WHERE (stream_id, key_sha256) IN (
         SELECT stream_id, key_sha256 FROM idempotency_keys
          WHERE created_at < now() - $1 * interval '1 millisecond' LIMIT $2)`,
      [IDEMPOTENCY_TTL_MS, PURGE_ROWS_MAX],
    )
    return rowCount
  }
}
