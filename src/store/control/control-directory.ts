/** The directory of streams for cells: `stream-directory.ts`. */
import type { SchemaCaps } from '../../model/schema.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Queryable } from '../postgres.ts'
import type {
  CappedStream,
  DeletedStream,
  LiveStream,
  StreamDirectory,
} from '../stream-directory.ts'
import { CAP_COLUMNS, type CapRow, toCaps } from './control-rows.ts'

const PAGE_STREAMS = 10_000

interface Row {
  readonly stream_id: number
}

export class ControlDirectory implements StreamDirectory {
  readonly #postgres: Queryable
  readonly #pageStreams: number

  constructor(postgres: Queryable, pageStreams = PAGE_STREAMS) {
    this.#postgres = postgres
    this.#pageStreams = pageStreams
  }

  pageLive(): AsyncIterable<readonly LiveStream[]> {
    const sql = 'SELECT stream_id, retention_ms::float8 AS ms FROM streams WHERE deleted_at IS NULL'
    return this.#pages<Row & { ms: number }, LiveStream>(sql, ({ stream_id: id, ms }) => {
      return { streamId: id as StreamId, retentionMs: ms }
    })
  }

  pageCapped(): AsyncIterable<readonly CappedStream[]> {
    const sql = `SELECT stream_id, max_stored_bytes::float8 AS bytes FROM streams
      WHERE deleted_at IS NULL AND max_stored_bytes IS NOT NULL`
    return this.#pages<Row & { bytes: number }, CappedStream>(sql, ({ stream_id: id, bytes }) => {
      return { streamId: id as StreamId, maxStoredBytes: bytes }
    })
  }

  pageDeleted(): AsyncIterable<readonly DeletedStream[]> {
    const sql = `SELECT stream_id, floor(extract(epoch FROM deleted_at) * 1000)::float8 AS ms,
        extract(epoch FROM now() - deleted_at)::float8 * 1000 AS age
      FROM streams WHERE deleted_at IS NOT NULL AND purged_at IS NULL`
    return this.#pages<Row & { ms: number; age: number }, DeletedStream>(sql, (row) => {
      return { streamId: row.stream_id as StreamId, deletedMs: row.ms, ageMs: row.age }
    })
  }

  async findDeleted(streamIds: readonly StreamId[]): Promise<ReadonlyMap<StreamId, boolean>> {
    const { rows } = await this.#postgres.query<Row & { is_deleted: boolean }>(
      `SELECT stream_id, deleted_at IS NOT NULL AS is_deleted FROM streams
       WHERE stream_id = ANY ($1::integer[])`,
      [streamIds],
    )
    return new Map(rows.map((row) => [row.stream_id as StreamId, row.is_deleted]))
  }

  async findSchemaCaps(streamIds: readonly StreamId[]): Promise<ReadonlyMap<StreamId, SchemaCaps>> {
    const { rows } = await this.#postgres.query<Row & CapRow>(
      `SELECT stream_id, ${CAP_COLUMNS} FROM streams
       WHERE stream_id = ANY ($1::integer[]) AND deleted_at IS NULL`,
      [streamIds],
    )
    return new Map(rows.map((row) => [row.stream_id as StreamId, toCaps(row)]))
  }

  async findTextFields(
    streamIds: readonly StreamId[],
  ): Promise<ReadonlyMap<StreamId, readonly string[]>> {
    const { rows } = await this.#postgres.query<Row & { text_fields: readonly string[] }>(
      `SELECT stream_id, text_fields FROM streams
       WHERE stream_id = ANY ($1::integer[]) AND deleted_at IS NULL`,
      [streamIds],
    )
    return new Map(rows.map((row) => [row.stream_id as StreamId, row.text_fields]))
  }

  /** The row stays, without its name: ids are not used again. */
  async markPurged(streamIds: readonly StreamId[]): Promise<void> {
    await this.#postgres.query('DELETE FROM api_keys WHERE stream_id = ANY ($1::integer[])', [
      streamIds,
    ])
    await this.#postgres.query(
      `UPDATE streams SET purged_at = now(), name = '', redact_fields = '{}', text_fields = '{}'
       WHERE stream_id = ANY ($1::integer[])`,
      [streamIds],
    )
  }

  async *#pages<R extends Row, T>(sql: string, read: (row: R) => T): AsyncIterable<readonly T[]> {
    for (let after = 0; ; ) {
      const { rows } = await this.#postgres.query<R>(
        `${sql} AND stream_id > $1 ORDER BY stream_id LIMIT $2`,
        [after, this.#pageStreams],
      )
      if (rows.length > 0) yield rows.map(read)
      if (rows.length < this.#pageStreams) return
      after = rows.at(-1)!.stream_id
    }
  }
}
