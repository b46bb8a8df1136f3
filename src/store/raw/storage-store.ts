/** Up to where streams were removed and how much they hold, for readers and to refuse ingest. */
import type { SegmentId } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres } from '../postgres.ts'
import type { StreamDirectory } from '../stream-directory.ts'
import { ALL_REMOVED } from './retention-store.ts'
import { HELD_STREAMS, heldParams } from './storage-sql.ts'

/** How far over its cap, by this factor, a stream refuses ingest. */
export const STORAGE_CAP_SLACK = 1.1

export interface StorageState {
  /** Streams that are further over their cap than STORAGE_CAP_SLACK. */
  readonly overCap: ReadonlySet<StreamId>
  /** Stored bytes of all streams in both stores; undefined when it was not asked for. */
  readonly totalBytes: number | undefined
}

export interface ProjectionSize {
  readonly streamId: StreamId
  readonly rows: number
  /** On disk. */
  readonly bytes: number
}

export interface StreamState {
  /** `ALL_REMOVED` once it is gone. */
  readonly removedBefore: SegmentId
  /** Events in the raw store. */
  readonly events: number
  readonly isDeleted: boolean
  /** Deleted, and no segment of it is left in PostgreSQL. */
  readonly isGone: boolean
}

export class StorageStore {
  readonly #postgres: Postgres
  readonly #streams: StreamDirectory

  constructor(postgres: Postgres, streams: StreamDirectory) {
    this.#postgres = postgres
    this.#streams = streams
  }

  async readState(options: { readonly total: boolean }): Promise<StorageState> {
    const overCap = new Set<StreamId>()
    for await (const capped of this.#streams.pageCapped()) {
      const { rows } = await this.#postgres.query<{ stream_id: number }>(
        `SELECT stream_id FROM (${HELD_STREAMS}) AS held
         WHERE held_bytes > max_stored_bytes * $3::float8`,
        [...heldParams(capped), STORAGE_CAP_SLACK],
      )
      for (const row of rows) overCap.add(row.stream_id as StreamId)
    }
    return { overCap, totalBytes: options.total ? await this.readTotalBytes() : undefined }
  }

  async readTotalBytes(): Promise<number> {
    const { rows } = await this.#postgres.query<{ bytes: number }>(
      `SELECT (SELECT COALESCE(sum(stored_bytes), 0) FROM stream_usage)::float8
         + (SELECT COALESCE(sum(projection_bytes), 0) FROM stream_storage)::float8 AS bytes`,
    )
    return rows[0]?.bytes ?? 0
  }

  /**
   * Records what streams have in the projection, each once, and returns what is known of them. A
   * stream that the control plane does not know is left out: it may be from before a backup.
   */
  async recordProjection(sizes: readonly ProjectionSize[]): Promise<Map<StreamId, StreamState>> {
    const isDeleted = await this.#streams.findDeleted(sizes.map(({ streamId }) => streamId))
    const known = sizes.filter(({ streamId }) => isDeleted.has(streamId))
    const ids = known.map(({ streamId }) => streamId)
    await this.#postgres.query(
      `INSERT INTO stream_storage AS m (stream_id, projection_rows, projection_bytes)
       SELECT stream_id, rows, bytes
       FROM unnest($1::integer[], $2::bigint[], $3::bigint[]) AS n (stream_id, rows, bytes)
       ON CONFLICT (stream_id) DO UPDATE SET projection_rows = excluded.projection_rows,
         projection_bytes = excluded.projection_bytes
       WHERE (m.projection_rows, m.projection_bytes)
         <> (excluded.projection_rows, excluded.projection_bytes)`,
      [ids, known.map((size) => size.rows), known.map((size) => size.bytes)],
    )
    // Tables and rows that no longer exist: dropped, or lost with ClickHouse's data.
    await this.#postgres.query(
      `UPDATE stream_storage SET projection_rows = 0, projection_bytes = 0
       WHERE projection_rows <> 0 AND stream_id <> ALL ($1::integer[])`,
      [ids],
    )
    return this.#readStates(isDeleted)
  }

  /** Mean bytes of an event as it was sent, of streams that hold some. */
  async readEventBytes(streamIds: readonly StreamId[]): Promise<Map<StreamId, number>> {
    const { rows } = await this.#postgres.query<{ stream_id: number; bytes: number }>(
      `SELECT stream_id, sum(sent_bytes)::float8 / sum(event_count)::float8 AS bytes
       FROM stream_usage WHERE stream_id = ANY ($1::integer[])
       GROUP BY stream_id HAVING sum(event_count) > 0 AND sum(sent_bytes) > 0`,
      [streamIds],
    )
    return new Map(rows.map((row) => [row.stream_id as StreamId, row.bytes]))
  }

  async #readStates(
    isDeleted: ReadonlyMap<StreamId, boolean>,
  ): Promise<Map<StreamId, StreamState>> {
    const { rows } = await this.#postgres.query<StateRow>(
      `SELECT s.stream_id, COALESCE(m.removed_before, 0)::text AS removed_before,
         (SELECT COALESCE(sum(event_count), 0) FROM stream_usage u
          WHERE u.stream_id = s.stream_id)::float8 AS events,
         s.is_deleted,
         s.is_deleted AND NOT EXISTS (
           SELECT 1 FROM stream_segments g WHERE g.stream_id = s.stream_id) AS is_gone
       FROM unnest($1::integer[], $2::boolean[]) AS s (stream_id, is_deleted)
         LEFT JOIN stream_storage m ON m.stream_id = s.stream_id`,
      [[...isDeleted.keys()], [...isDeleted.values()]],
    )
    return new Map(
      rows.map((row) => [
        row.stream_id as StreamId,
        {
          removedBefore: row.is_gone ? ALL_REMOVED : (BigInt(row.removed_before) as SegmentId),
          events: row.events,
          isDeleted: row.is_deleted,
          isGone: row.is_gone,
        },
      ]),
    )
  }
}

interface StateRow {
  readonly stream_id: number
  readonly removed_before: string
  readonly events: number
  readonly is_deleted: boolean
  readonly is_gone: boolean
}
