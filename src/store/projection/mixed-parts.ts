/**
 * What the shared projection table holds of each stream, and removing from it: whole days, and in
 * one pass the removed rows of several streams. `ALTER TABLE … DELETE`, see `projection-parts.ts`.
 *
 * Counting a day reads two columns of all its rows. It is repeated only when the day's parts have
 * changed, and rarely enough that it takes a small share of the time.
 */
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { onCluster, onShards, rowsOf } from '../clickhouse-place.ts'
import { DROPS_ANY_SIZE } from './drop-settings.ts'
import { projectionTable, tableName } from './table-names.ts'

export interface MixedShare {
  readonly rows: number
  /** Receipt time of the oldest row. */
  readonly oldestMs: number
}

export interface MixedPartition {
  /** `20260505` */
  readonly id: string
  readonly rows: number
  /** On disk. */
  readonly bytes: number
  /** As last counted: recent inserts and deletions may be missing. */
  readonly shares: ReadonlyMap<StreamId, MixedShare>
}

/** A stream's segments below are removed. */
export type StreamMark = readonly [streamId: StreamId, before: SegmentId]

interface Counted {
  /** Changes with the partition's parts. */
  readonly parts: string
  readonly shares: ReadonlyMap<StreamId, MixedShare>
  /** By `performance.now()`. */
  readonly untilMs: number
}

const REQUEST_MS_MAX = 30_000
/** Time between two counts of a day, as a multiple of the time that the count took. */
const COUNT_PAUSE_TIMES = 20
/** Streams and marks named at a time: they travel in the request's URL, whose length is bounded. */
const MARKS_MAX = 256

export class MixedParts {
  readonly #clickhouse: ClickHouse
  readonly #table: string
  #counted = new Map<string, Counted>()

  constructor(clickhouse: ClickHouse) {
    this.#clickhouse = clickhouse
    this.#table = projectionTable(clickhouse.database, MIXED_STREAM)
  }

  /** The table's days, oldest first. Throws `StoreError`, as everything here does. */
  async listPartitions(): Promise<MixedPartition[]> {
    const partitions = await this.#query<PartitionRow>(
      `SELECT partition_id AS id, toFloat64(sum(p.rows)) AS rows,
         toFloat64(sum(bytes_on_disk)) AS bytes,
         toString(sum(cityHash64(name, modification_time, p.rows))) AS parts
       FROM ${onShards(this.#clickhouse.place, 'system.parts')} AS p
       WHERE database = {database:String} AND table = {table:String} AND active AND p.rows > 0
       GROUP BY id ORDER BY id`,
      { database: this.#clickhouse.database, table: tableName(MIXED_STREAM) },
    )
    const counted = new Map<string, Counted>()
    for (const { id, parts } of partitions) {
      const known = this.#counted.get(id)
      const isKept = known && (known.parts === parts || performance.now() < known.untilMs)
      counted.set(id, isKept ? known : await this.#count(id, parts))
    }
    this.#counted = counted
    return partitions.map(({ id, rows, bytes }) => {
      return { id, rows, bytes, shares: counted.get(id)?.shares ?? new Map() }
    })
  }

  async #count(id: string, parts: string): Promise<Counted> {
    const startMs = performance.now()
    // Three lists instead of a row for each of thousands of streams.
    const rows = await this.#query<CountRow>(
      `SELECT groupArray(stream_id) AS streams, groupArray(n) AS rows, groupArray(ms) AS oldest
       FROM (
         SELECT stream_id, toFloat64(count()) AS n,
           toFloat64(toUnixTimestamp64Milli(min(ingested_at))) AS ms
         FROM ${this.#rows} WHERE _partition_id = {id:String} GROUP BY stream_id
       )`,
      { id },
    )
    const endMs = performance.now()
    const { streams = [], rows: counts = [], oldest = [] } = rows[0] ?? {}
    const shares = new Map<StreamId, MixedShare>()
    for (const [index, stream] of streams.entries()) {
      const share = { rows: counts[index] ?? 0, oldestMs: oldest[index] ?? 0 }
      shares.set(stream as StreamId, share)
    }
    return { parts, shares, untilMs: endMs + COUNT_PAUSE_TIMES * (endMs - startMs) }
  }

  /** Of all shards. */
  get #rows(): string {
    return rowsOf(this.#clickhouse.place, tableName(MIXED_STREAM))
  }

  /** All rows of a partition at this moment. */
  async countRows(id: string): Promise<number> {
    const rows = await this.#query<{ n: number }>(
      `SELECT toFloat64(count()) AS n FROM ${this.#rows}
       WHERE _partition_id = {id:String}`,
      { id },
    )
    return rows[0]?.n ?? 0
  }

  /** Rows of a partition that lie below their streams' marks: an index range of each stream. */
  async countBefore(id: string, marks: readonly StreamMark[]): Promise<number> {
    let count = 0
    for (const params of markParams(marks)) {
      const rows = await this.#query<{ n: number }>(
        `SELECT toFloat64(count()) AS n FROM ${this.#rows}
         WHERE _partition_id = {id:String} AND ${BEFORE}`,
        { id, ...params },
      )
      count += rows[0]?.n ?? 0
    }
    return count
  }

  async dropPartition(id: string): Promise<void> {
    const signal = AbortSignal.timeout(REQUEST_MS_MAX)
    const on = onCluster(this.#clickhouse.place)
    const sql = `ALTER TABLE ${this.#table}${on} DROP PARTITION ID {id:String}`
    await this.#clickhouse.command(sql, { id }, { signal, settings: DROPS_ANY_SIZE })
  }

  /**
   * Starts deleting what lies below the streams' marks: in one pass over the partition's parts for
   * each MARKS_MAX streams. ClickHouse joins passes that wait.
   */
  async startDelete(id: string, marks: readonly StreamMark[]): Promise<void> {
    for (const params of markParams(marks)) {
      const sql = `ALTER TABLE ${this.#table} DELETE IN PARTITION ID {id:String} WHERE ${BEFORE}`
      await this.#command(sql, { id, ...params })
    }
  }

  #query<Row>(sql: string, params: Record<string, unknown>): Promise<Row[]> {
    const signal = AbortSignal.timeout(REQUEST_MS_MAX)
    return this.#clickhouse.query<Row>(sql, params, {}, { signal })
  }

  #command(sql: string, params: Record<string, unknown>): Promise<void> {
    return this.#clickhouse.command(sql, params, { signal: AbortSignal.timeout(REQUEST_MS_MAX) })
  }
}

/** The first condition follows from the second, but is one that the primary key can use. */
const BEFORE =
  'stream_id IN ({streams:Array(UInt32)}) AND segment_id < ' +
  'transform(stream_id, {streams:Array(UInt32)}, {marks:Array(UInt64)}, toUInt64(0))'

function* markParams(marks: readonly StreamMark[]): Generator<Record<string, unknown>> {
  for (let at = 0; at < marks.length; at += MARKS_MAX) {
    const some = marks.slice(at, at + MARKS_MAX)
    yield { streams: some.map(([streamId]) => streamId), marks: some.map(([, before]) => before) }
  }
}

interface PartitionRow {
  readonly id: string
  readonly rows: number
  readonly bytes: number
  readonly parts: string
}

interface CountRow {
  readonly streams: readonly number[]
  readonly rows: readonly number[]
  readonly oldest: readonly number[]
}
