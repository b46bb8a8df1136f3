/**
 * Segments in the projection that the raw store may lack, because PostgreSQL lost commits in a
 * failover: finding a node's newest ones, and removing some exactly.
 *
 * Finding reads only rows that were received after a time: the tables are in the order of that.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { StreamSegment } from '../../model/projection.ts'
import { nodeOfSegmentSql, type SegmentId, segmentIdMs } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { onShards, rowsOf } from '../clickhouse-place.ts'
import { StoreError } from '../store-error.ts'
import { projectionTable, streamOfTable, TABLE_PREFIX, tableName } from './table-names.ts'

export interface ProjectedSegment extends StreamSegment {
  /** Whose table it is in. */
  readonly tableOf: StreamId
  readonly events: number
}

const REQUEST_MS_MAX = 120_000
/** Ids named at a time: they travel in the request's URL, whose length is bounded. */
const IDS_MAX = 256
const GONE_LOOK_MS = 200
/** A removal is complete when its statement returns. */
const AT_ONCE = { mutations_sync: '1' } as const

export class LostSegments {
  readonly #clickhouse: ClickHouse

  constructor(clickhouse: ClickHouse) {
    this.#clickhouse = clickhouse
  }

  /** The node's segments after one up to another, at most `limit` of a table. */
  async list(
    node: number,
    { after, upTo }: { readonly after: SegmentId; readonly upTo: SegmentId },
    limit: number,
  ): Promise<ProjectedSegment[]> {
    const found: ProjectedSegment[] = []
    for (const tableOf of await this.#tablesSince(segmentIdMs(after))) {
      const isShared = tableOf === 0
      const rows = await this.#query<{ stream: number; id: string; events: number }>(
        `SELECT ${isShared ? 'stream_id' : '{tableOf:UInt32}'} AS stream,
           toString(segment_id) AS id, toFloat64(count()) AS events
         FROM ${rowsOf(this.#clickhouse.place, tableName(tableOf))}
         WHERE ingested_at >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC')
           AND segment_id > {after:UInt64} AND segment_id <= {upTo:UInt64}
           AND ${nodeOfSegmentSql('segment_id')} = {node:UInt16}
         GROUP BY stream, segment_id ORDER BY segment_id LIMIT {limit:UInt32}`,
        {
          tableOf,
          fromMs: segmentIdMs(after),
          after: String(after),
          upTo: String(upTo),
          node,
          limit,
        },
      )
      for (const { stream, id, events } of rows) {
        const segmentId = BigInt(id) as SegmentId
        found.push({ tableOf, streamId: stream as StreamId, segmentId, events })
      }
    }
    return found
  }

  /** Resolves when no row of them is left. */
  async remove(segments: readonly ProjectedSegment[]): Promise<void> {
    for (const tableOf of new Set(segments.map((one) => one.tableOf))) {
      const own = segments.filter((one) => one.tableOf === tableOf)
      for (let at = 0; at < own.length; at += IDS_MAX) {
        const ids = own.slice(at, at + IDS_MAX).map(({ segmentId }) => segmentId)
        await this.#clickhouse.command(
          `ALTER TABLE ${this.#table(tableOf)} DELETE WHERE segment_id IN ({ids:Array(UInt64)})`,
          { ids },
          { signal: AbortSignal.timeout(REQUEST_MS_MAX), settings: AT_ONCE },
        )
        await this.#untilGone(tableOf, ids)
      }
    }
  }

  /** In a cluster the statement does not wait for the other shards. */
  async #untilGone(tableOf: StreamId, ids: readonly SegmentId[]): Promise<void> {
    const { place } = this.#clickhouse
    if (place.cluster === undefined) return
    const deadline = performance.now() + REQUEST_MS_MAX
    const sql = `SELECT toFloat64(count()) AS n FROM ${rowsOf(place, tableName(tableOf))}
      WHERE segment_id IN ({ids:Array(UInt64)})`
    while (((await this.#query<{ n: number }>(sql, { ids }))[0]?.n ?? 0) > 0) {
      if (performance.now() > deadline) {
        throw new StoreError('unavailable', 'clickhouse: a shard does not delete rows')
      }
      await sleep(GONE_LOOK_MS)
    }
  }

  /** Tables with rows that were received then or later. */
  async #tablesSince(ms: number): Promise<StreamId[]> {
    const rows = await this.#query<{ name: string }>(
      `SELECT DISTINCT table AS name FROM ${onShards(this.#clickhouse.place, 'system.parts')}
       WHERE database = {database:String} AND active AND rows > 0
         AND match(table, {names:String}) AND toUnixTimestamp(max_time) >= {seconds:Int64}
       ORDER BY name`,
      {
        database: this.#clickhouse.database,
        names: `^${TABLE_PREFIX}[0-9]+$`,
        seconds: Math.floor(ms / 1_000) - 1,
      },
    )
    return rows.map(({ name }) => streamOfTable(name))
  }

  #table(streamId: StreamId): string {
    return projectionTable(this.#clickhouse.database, streamId)
  }

  #query<Row>(sql: string, params: Record<string, unknown>): Promise<Row[]> {
    const signal = AbortSignal.timeout(REQUEST_MS_MAX)
    return this.#clickhouse.query<Row>(sql, params, {}, { signal })
  }
}
