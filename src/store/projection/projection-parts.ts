/**
 * Removing from the projection: what its tables hold, dropping tables and whole days, deleting
 * rows before a mark within a day.
 *
 * `ALTER TABLE … DELETE`, not a lightweight DELETE: on our compact parts both rewrite the part, but
 * only the former leaves the rows out and moves the part's `min_time`, which tells us what is left
 * to be done. Measured: docs/decisions/0013-removing-from-clickhouse.md.
 */
import { MERGE_BYTES_MAX } from '../../limits.ts'
import { type SegmentId, segmentIdMs } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { onCluster, onShards, rowsOf } from '../clickhouse-place.ts'
import { DROPS_ANY_SIZE } from './drop-settings.ts'
import { mergeSettings } from './projection-store.ts'
import { IS_NARROW, WIDE_MARK } from './table-form.ts'
import { IS_OWN_TABLE, projectionTable, streamOfTable, tableName } from './table-names.ts'

export interface ProjectionTable {
  readonly streamId: StreamId
  readonly rows: number
  /** On disk. */
  readonly bytes: number
  /** Receipt time of the oldest row, rounded down to the second; undefined when there is none. */
  readonly oldestMs: number | undefined
  readonly parts: number
  /** The number of parts of the day that has the most. */
  readonly dayParts: number
  /** Compact parts that should be wide and have neighbours to merge with. */
  readonly narrowParts: number
}

export interface ProjectionPartition {
  /** `20260505` */
  readonly id: string
  readonly rows: number
}

const REQUEST_MS_MAX = 30_000

export class ProjectionParts {
  readonly #clickhouse: ClickHouse

  constructor(clickhouse: ClickHouse) {
    this.#clickhouse = clickhouse
  }

  /** All streams' own projection tables. Throws `StoreError`, as everything here does. */
  async listTables(): Promise<ProjectionTable[]> {
    const rows = await this.#query<TableRow>(
      `SELECT name, toFloat64(rows) AS rows, toFloat64(bytes) AS bytes, oldest,
         toFloat64(all_parts) AS all_parts, toFloat64(day_parts) AS day_parts,
         if(position(engine_full, {wide:String}) = 0, 0, toFloat64(narrow_parts)) AS narrow_parts
       FROM system.tables LEFT JOIN (
         SELECT table, sum(d.rows) AS rows, sum(d.bytes) AS bytes,
           toUnixTimestamp(min(d.oldest)) AS oldest,
           sum(d.parts) AS all_parts, max(d.parts) AS day_parts,
           sumIf(d.narrow, d.parts > 1) AS narrow_parts
         FROM (
           SELECT table, sum(p.rows) AS rows, sum(bytes_on_disk) AS bytes,
             min(min_time) AS oldest, count() AS parts,
             countIf(${IS_NARROW}) AS narrow
           FROM ${this.#parts} AS p WHERE database = {database:String} AND active AND p.rows > 0
           GROUP BY table, partition_id
         ) AS d GROUP BY table
       ) AS parts ON parts.table = name
       WHERE ${IS_OWN_TABLE}`,
      { database: this.#clickhouse.database, wide: WIDE_MARK },
    )
    return rows.map((row) => ({
      streamId: streamOfTable(row.name),
      rows: row.rows,
      bytes: row.bytes,
      oldestMs: row.rows === 0 ? undefined : row.oldest * 1_000,
      parts: row.all_parts,
      dayParts: row.day_parts,
      narrowParts: row.narrow_parts,
    }))
  }

  /** Streams whose parts are merged up to another size than `MERGE_BYTES_MAX`. */
  async listOtherwiseMerged(): Promise<StreamId[]> {
    const rows = await this.#query<{ name: string }>(
      `SELECT name FROM system.tables
       WHERE ${IS_OWN_TABLE} AND position(engine_full, {settings:String}) = 0`,
      { database: this.#clickhouse.database, settings: mergeSettings(MERGE_BYTES_MAX) },
    )
    return rows.map(({ name }) => streamOfTable(name))
  }

  /** From now on parts of the stream's table are merged up to this many bytes. */
  async setMergeBytes(streamId: StreamId, bytesMax: number): Promise<void> {
    const sql = `ALTER TABLE ${this.#table(streamId)} MODIFY SETTING`
    await this.#command(`${sql} ${mergeSettings(bytesMax)}`)
  }

  /** Partitions of the stream's table that hold rows from before `ms`. */
  async listPartitions(streamId: StreamId, ms: number): Promise<ProjectionPartition[]> {
    return this.#query<ProjectionPartition>(
      `SELECT partition_id AS id, toFloat64(sum(p.rows)) AS rows FROM ${this.#parts} AS p
       WHERE database = {database:String} AND table = {table:String} AND active AND p.rows > 0
       GROUP BY partition_id HAVING toUnixTimestamp(min(min_time)) * 1000 < {ms:Int64}
       ORDER BY partition_id`,
      { database: this.#clickhouse.database, table: tableName(streamId), ms },
    )
  }

  async dropTable(streamId: StreamId): Promise<void> {
    await this.#drop(`DROP TABLE IF EXISTS ${this.#table(streamId)} SYNC`, {})
  }

  async dropPartition(streamId: StreamId, id: string): Promise<void> {
    const on = onCluster(this.#clickhouse.place)
    const sql = `ALTER TABLE ${this.#table(streamId)}${on} DROP PARTITION ID {id:String}`
    await this.#drop(sql, { id })
  }

  /** Rows of segments below `before` in a partition: an index range. */
  async countBefore(streamId: StreamId, id: string, before: SegmentId): Promise<number> {
    const rows = await this.#query<{ n: number }>(
      `SELECT toFloat64(count()) AS n FROM ${rowsOf(this.#clickhouse.place, tableName(streamId))}
       WHERE _partition_id = {id:String} AND ${BEFORE}`,
      { id, ...beforeParams(before) },
    )
    return rows[0]?.n ?? 0
  }

  /** Whether a deletion of rows is under way in any projection table. */
  async isDeleting(): Promise<boolean> {
    const rows = await this.#query<{ n: number }>(
      `SELECT toFloat64(count()) AS n FROM ${onShards(this.#clickhouse.place, 'system.mutations')}
       WHERE database = {database:String} AND NOT is_done`,
      { database: this.#clickhouse.database },
    )
    return (rows[0]?.n ?? 0) > 0
  }

  /** Starts deleting rows of segments below `before`; `isDeleting` until it is done. */
  async startDelete(streamId: StreamId, id: string, before: SegmentId): Promise<void> {
    await this.#command(
      `ALTER TABLE ${this.#table(streamId)} DELETE IN PARTITION ID {id:String} WHERE ${BEFORE}`,
      { id, ...beforeParams(before) },
    )
  }

  get #parts(): string {
    return onShards(this.#clickhouse.place, 'system.parts')
  }

  #table(streamId: StreamId): string {
    return projectionTable(this.#clickhouse.database, streamId)
  }

  #query<Row>(sql: string, params: Record<string, unknown>): Promise<Row[]> {
    const signal = AbortSignal.timeout(REQUEST_MS_MAX)
    return this.#clickhouse.query<Row>(sql, params, {}, { signal })
  }

  #drop(sql: string, params: Record<string, unknown>): Promise<void> {
    const signal = AbortSignal.timeout(REQUEST_MS_MAX)
    return this.#clickhouse.command(sql, params, { signal, settings: DROPS_ANY_SIZE })
  }

  #command(sql: string, params: Record<string, unknown> = {}): Promise<void> {
    return this.#clickhouse.command(sql, params, { signal: AbortSignal.timeout(REQUEST_MS_MAX) })
  }
}

/** The first condition follows from the second, but is one that the primary key can use. */
const BEFORE =
  `ingested_at <= fromUnixTimestamp64Milli({beforeMs:Int64}, 'UTC') ` +
  `AND segment_id < {before:UInt64}`

function beforeParams(before: SegmentId): Record<string, unknown> {
  return { before: String(before), beforeMs: segmentIdMs(before) }
}

interface TableRow {
  readonly name: string
  readonly rows: number
  readonly bytes: number
  readonly oldest: number
  readonly all_parts: number
  readonly day_parts: number
  readonly narrow_parts: number
}
