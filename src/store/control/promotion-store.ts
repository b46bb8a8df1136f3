/**
 * Which streams have a projection table of their own: `streams.promoted_at`, which reaches every
 * node with the stream's settings. A stream stays promoted across restarts, and for
 * PROMOTED_IDLE_MS after it last sent much. Then another stream may take its slot.
 *
 * These are changes of the control plane, one at a time over all nodes: no more streams than
 * PROMOTED_STREAMS_MAX are ever promoted.
 */
import { PROMOTED_BUSY_NOTED_MS, PROMOTED_IDLE_MS, PROMOTED_STREAMS_MAX } from '../../limits.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres, Queryable } from '../postgres.ts'
import { recordChange } from './credential-store.ts'

const IS_PROMOTED = 'promoted_at IS NOT NULL AND deleted_at IS NULL'
export const PROMOTED_COUNT = `SELECT count(*) FROM streams WHERE ${IS_PROMOTED}`

export class PromotionStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** Promotes streams that sent much lately, the busiest first; returns which of them are new. */
  async promote(busy: readonly StreamId[]): Promise<StreamId[]> {
    await this.#postgres.query(
      `UPDATE streams SET busy_at = now() WHERE stream_id = ANY ($1::integer[]) AND ${IS_PROMOTED}
         AND (busy_at IS NULL OR busy_at < now() - ${interval(2)})`,
      [busy, PROMOTED_BUSY_NOTED_MS],
    )
    const { rows } = await this.#postgres.query<{ readonly stream_id: StreamId }>(
      `SELECT stream_id FROM streams
       WHERE stream_id = ANY ($1::integer[]) AND promoted_at IS NULL AND deleted_at IS NULL`,
      [busy],
    )
    const others = new Set(rows.map((row) => row.stream_id))
    const promoted: StreamId[] = []
    for (const streamId of busy) {
      if (!others.has(streamId)) continue
      if ((await findPlace(this.#postgres)) === undefined) break
      if (await this.#postgres.transaction((sql) => promote(sql, streamId))) promoted.push(streamId)
    }
    return promoted
  }
}

/** A slot is free, or was held by `of`, a stream that has sent little for a long time. */
interface Place {
  readonly of: StreamId | undefined
}

async function findPlace(sql: Queryable): Promise<Place | undefined> {
  const { rows } = await sql.query<{ readonly is_free: boolean; readonly idle: number | null }>(
    `SELECT (${PROMOTED_COUNT}) < $1 AS is_free,
       (SELECT stream_id FROM streams WHERE ${IS_PROMOTED}
          AND (busy_at IS NULL OR busy_at < now() - ${interval(2)})
        ORDER BY busy_at NULLS FIRST, stream_id DESC LIMIT 1) AS idle`,
    [PROMOTED_STREAMS_MAX, PROMOTED_IDLE_MS],
  )
  const row = rows[0]
  if (row?.is_free) return { of: undefined }
  return row?.idle == null ? undefined : { of: row.idle as StreamId }
}

async function promote(sql: Queryable, streamId: StreamId): Promise<boolean> {
  // From here on changes of other nodes wait, so the slot that is found stays free.
  await recordChange(sql, { kind: 'stream', streamId })
  const place = await findPlace(sql)
  if (place === undefined) return false
  const { rowCount } = await sql.query(
    `UPDATE streams SET promoted_at = now(), busy_at = now()
     WHERE stream_id = $1 AND promoted_at IS NULL AND deleted_at IS NULL`,
    [streamId],
  )
  if (rowCount === 1 && place.of !== undefined) {
    await recordChange(sql, { kind: 'stream', streamId: place.of })
    await sql.query('UPDATE streams SET promoted_at = NULL WHERE stream_id = $1', [place.of])
  }
  return rowCount === 1
}

/** SQL for the parameter's milliseconds. */
function interval(parameter: number): string {
  return `$${parameter}::bigint * interval '1 millisecond'`
}
