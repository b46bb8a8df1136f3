/** Idempotency keys: claimed here, completed in the data's transaction (`segment-store.ts`). */
import {
  IDEMPOTENCY_ROW_BYTES,
  IDEMPOTENCY_STREAM_BYTES_MAX,
  IDEMPOTENCY_TTL_MS,
} from '../../limits.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres, PostgresClient } from '../postgres.ts'
import type { NodeIdentity } from '../under-lease.ts'

/** The answer to remember under an Idempotency-Key that this node claimed. */
export interface IdempotentAnswer {
  readonly streamId: StreamId
  readonly keySha256: Uint8Array
  /** Tells the request from others under its key. */
  readonly fingerprint: Uint8Array
  readonly status: number
  readonly body: string
}

export interface RememberedAnswer {
  readonly status: number
  readonly body: string
  readonly fingerprint: Uint8Array
}

/** The key of `idempotency_bytes`: hours since 1970; it counts what is kept of the last day. */
const HOUR = 'floor(extract(epoch FROM now()) / 3600)::integer'
const KEPT_HOURS = Math.ceil(IDEMPOTENCY_TTL_MS / 3_600_000)
const KEPT_BYTES = `(SELECT COALESCE(sum(bytes), 0) FROM idempotency_bytes
  WHERE stream_id = $1 AND hour > ${HOUR} - ${KEPT_HOURS})`

const PURGE_MS = 60_000
/** Keys removed by one purge, so that it never holds locks for long. */
const PURGE_ROWS_MAX = 10_000
/** Abandoned claims that are remembered; past that they wait until they expire. */
const ABANDONED_MAX = 100_000

interface Claim {
  readonly streamId: StreamId
  readonly keySha256: Uint8Array
}

export class IdempotencyStore {
  readonly #postgres: Postgres
  readonly #node: NodeIdentity
  /**
   * Claims that nobody holds any more but that may still be in the store, which was away when they
   * were made or released. Our next claim of the key takes them over; else `purge` releases them.
   */
  readonly #abandoned = new Map<string, Claim>()

  constructor(postgres: Postgres, node: NodeIdentity) {
    this.#postgres = postgres
    this.#node = node
  }

  /**
   * Claims a key: `claimed` when it is new, expired, or its claimant died; `busy` while another
   * request holds it; `full` when the stream has too much kept; else the answer given the first
   * time. Throws `StoreError`.
   */
  async claim(
    streamId: StreamId,
    keySha256: Uint8Array,
  ): Promise<'claimed' | 'busy' | 'full' | RememberedAnswer> {
    const claim = { streamId, keySha256 }
    try {
      return await this.#claim(claim, this.#abandoned.delete(nameOf(claim)))
    } catch (cause) {
      this.#abandon(claim) // The row may have been written although the answer was lost.
      throw cause
    }
  }

  async #claim(
    { streamId, keySha256 }: Claim,
    isAbandoned: boolean,
  ): Promise<'claimed' | 'busy' | 'full' | RememberedAnswer> {
    const { rowCount } = await this.#postgres.query(
      `INSERT INTO idempotency_keys AS k (stream_id, key_sha256, node_id, epoch)
       SELECT $1::integer, $2::bytea, $3::smallint, $4::bigint WHERE ${KEPT_BYTES} < $7
       ON CONFLICT (stream_id, key_sha256) DO UPDATE
         SET created_at = now(), node_id = $3, epoch = $4,
             status = NULL, response = NULL, fingerprint = NULL
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
        IDEMPOTENCY_STREAM_BYTES_MAX,
      ],
    )
    if (rowCount === 1) return 'claimed'
    return this.#recall(streamId, keySha256)
  }

  /** Why a key could not be claimed. */
  async #recall(
    streamId: StreamId,
    keySha256: Uint8Array,
  ): Promise<'busy' | 'full' | RememberedAnswer> {
    const { rows } = await this.#postgres.query<{
      readonly status: number | null
      readonly response: string | null
      readonly fingerprint: Buffer | null
      readonly is_full: boolean
    }>(
      `SELECT k.status, k.response, k.fingerprint, kept.bytes >= $3 AS is_full
         FROM (SELECT ${KEPT_BYTES} AS bytes) kept
         LEFT JOIN idempotency_keys k ON k.stream_id = $1 AND k.key_sha256 = $2
          AND k.created_at >= now() - $4 * interval '1 millisecond'`,
      [streamId, keySha256, IDEMPOTENCY_STREAM_BYTES_MAX, IDEMPOTENCY_TTL_MS],
    )
    const { status, response, fingerprint, is_full: isFull } = rows[0]!
    if (status === null || response === null || fingerprint === null)
      return isFull ? 'full' : 'busy'
    return { status, body: response, fingerprint }
  }

  /**
   * Releases a claimed key, unless its answer was stored with its data. Also correct when that is
   * not known: the transaction that would store the answer holds the row. Throws `StoreError`; then
   * the key is released later.
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

  /** Releases abandoned claims, for the other nodes. Throws `StoreError`. */
  async #releaseAbandoned(): Promise<void> {
    const claims = [...this.#abandoned.values()].slice(0, PURGE_ROWS_MAX)
    if (claims.length === 0) return
    await this.#release(claims)
    for (const claim of claims) this.#abandoned.delete(nameOf(claim))
  }

  /** Purges every PURGE_MS until the returned function is called. */
  startPurging(onError: (cause: unknown) => void): () => void {
    const timer = setInterval(() => void this.purge().catch(onError), PURGE_MS).unref()
    return () => clearInterval(timer)
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
    await this.#postgres.query(`DELETE FROM idempotency_bytes WHERE hour < ${HOUR} - ${KEPT_HOURS}`)
    return rowCount
  }
}

function nameOf({ streamId, keySha256 }: Claim): string {
  return `${streamId} ${Buffer.from(keySha256).toString('base64')}`
}

/** Keeps an answer under its key, in the transaction of `client`. False when it is not ours. */
export async function completeKey(
  client: PostgresClient,
  node: NodeIdentity,
  { streamId, keySha256, fingerprint, status, body }: IdempotentAnswer,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `WITH completed AS (
       UPDATE idempotency_keys SET status = $3, response = $4, fingerprint = $5
        WHERE stream_id = $1 AND key_sha256 = $2 AND status IS NULL
          AND node_id = $6 AND epoch = $7
       RETURNING stream_id, node_id)
     INSERT INTO idempotency_bytes AS b (stream_id, hour, node_id, bytes)
     SELECT stream_id, ${HOUR}, node_id, $8 FROM completed
     ON CONFLICT (stream_id, hour, node_id) DO UPDATE SET bytes = b.bytes + excluded.bytes`,
    [
      streamId,
      keySha256,
      status,
      body,
      fingerprint,
      node.nodeId,
      String(node.epoch),
      Buffer.byteLength(body) + IDEMPOTENCY_ROW_BYTES,
    ],
  )
  return rowCount === 1
}
