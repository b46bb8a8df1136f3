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
/** Claims remembered as left behind; beyond it they wait for their time to run out. */
const ABANDONED_MAX = 100_000

interface Claim {
  readonly streamId: StreamId
  readonly keySha256: Uint8Array
}

export class IdempotencyStore {
  readonly #postgres: Postgres
  readonly #node: NodeIdentity
  /**
   * Claims that nobody holds any more but that may still stand in the store, which was away when
   * they were made or given back. Our next claim takes them over; else `purge` gives them back.
   */
  readonly #abandoned = new Map<string, Claim>()

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
    const claim = { streamId, keySha256 }
    try {
      return await this.#claim(claim, this.#abandoned.delete(nameOf(claim)))
    } catch (cause) {
      this.#abandon(claim) // The row may have been written without our hearing of it.
      throw cause
    }
  }

  async #claim(
    { streamId, keySha256 }: Claim,
    isAbandoned: boolean,
  ): Promise<'claimed' | 'busy' | RememberedAnswer> {
    const { rowCount } = await this.#postgres.query(
      `INSERT INTO idempotency_keys AS k (stream_id, key_sha256, node_id, epoch)
       VALUES ($1, $2, $3, $4)
       ON CONFLICT (stream_id, key_sha256) DO UPDATE
         SET created_at = now(), node_id = $3, epoch = $4, status = NULL, response = NULL
       WHERE k.created_at < now() - $5 * interval '1 millisecond'
          OR (k.status IS NULL AND $6 AND k.node_id = $3 AND k.epoch = $4)
          OR (k.status IS NULL AND NOT EXISTS (
               SELECT 1 FROM nodes WHERE nodes.node_id = k.node_id AND nodes.epoch = k.epoch
                 AND nodes.lease_until > now()))`,
      [
        streamId,
        keySha256,
        this.#node.nodeId,
        String(this.#node.epoch),
        IDEMPOTENCY_TTL_MS,
        isAbandoned,
      ],
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

  /**
   * Gives a claimed key back, unless its answer was stored with its data. Right also when that is
   * not known: the transaction that would store it holds the row. Throws `StoreError`; the key is
   * given back later then.
   */
  async release(streamId: StreamId, keySha256: Uint8Array): Promise<void> {
    const claim = { streamId, keySha256 }
    try {
      await this.#release([claim])
    } catch (cause) {
      this.#abandon(claim)
      throw cause
    }
  }

  #abandon(claim: Claim): void {
    if (this.#abandoned.size < ABANDONED_MAX) this.#abandoned.set(nameOf(claim), claim)
  }

  async #release(claims: readonly Claim[]): Promise<void> {
    await this.#postgres.query(
      `DELETE FROM idempotency_keys
        WHERE (stream_id, key_sha256) IN (SELECT * FROM unnest($1::integer[], $2::bytea[]))
          AND status IS NULL AND node_id = $3 AND epoch = $4`,
      [
        claims.map(({ streamId }) => streamId),
        claims.map(({ keySha256 }) => Buffer.from(keySha256)),
        this.#node.nodeId,
        String(this.#node.epoch),
      ],
    )
  }

  /** Gives back what was left behind, for the other nodes. Throws `StoreError`. */
  async #releaseAbandoned(): Promise<void> {
    const claims = [...this.#abandoned.values()].slice(0, PURGE_ROWS_MAX)
    if (claims.length === 0) return
    await this.#release(claims)
    for (const claim of claims) this.#abandoned.delete(nameOf(claim))
  }

  /** Forgets some keys past their time; returns how many. Throws `StoreError`. */
  async purge(): Promise<number> {
    await this.#releaseAbandoned()
    const { rowCount } = await this.#postgres.query(
      `DELETE FROM idempotency_keys WHERE (stream_id, key_sha256) IN (
         SELECT stream_id, key_sha256 FROM idempotency_keys
          WHERE created_at < now() - $1 * interval '1 millisecond' LIMIT $2)`,
      [IDEMPOTENCY_TTL_MS, PURGE_ROWS_MAX],
    )
    return rowCount
  }
}

function nameOf({ streamId, keySha256 }: Claim): string {
  return `${streamId} ${Buffer.from(keySha256).toString('base64')}`
}
