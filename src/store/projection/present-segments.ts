/** Which segments a server has in the projection. */
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import type { StreamSegment } from '../../model/projection.ts'
import { type SegmentId, segmentIdMs } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { ClickHouse, QueryParams } from '../clickhouse.ts'
import { UNKNOWN_TABLE } from '../clickhouse-codes.ts'
import { StoreError } from '../store-error.ts'
import { projectionTable, tableName } from './table-names.ts'

/** Ids asked for at a time: they travel in the request's URL, whose length is bounded. */
const PRESENT_IDS_MAX = 256
/** Tables asked at a time. */
const PRESENT_TABLES_MAX = 32

export class PresentSegments {
  readonly #clickhouse: ClickHouse

  constructor(clickhouse: ClickHouse) {
    this.#clickhouse = clickhouse
  }

  /**
   * Which of the segments are in the projection, each in its stream's table or in the shared one.
   * Throws `StoreError`.
   */
  async find(segments: readonly StreamSegment[]): Promise<ReadonlySet<SegmentId>> {
    const present = new Set<SegmentId>()
    // In the order of ids, each request concerns few parts.
    const byId = segments.toSorted((a, b) => (a.segmentId < b.segmentId ? -1 : 1))
    for (const some of slices(byId, PRESENT_IDS_MAX)) {
      for (const id of await this.#findShared(some)) present.add(id)
    }
    const rest = byId.filter(({ segmentId }) => !present.has(segmentId))
    const tables = await this.findTables([...new Set(rest.map(({ streamId }) => streamId))])
    for (const some of slices(tables, PRESENT_TABLES_MAX)) {
      const streamIds = new Set(some)
      const asked = rest.filter(({ streamId }) => streamIds.has(streamId))
      for (const some of slices(asked, PRESENT_IDS_MAX)) {
        for (const id of await this.#findOwn(some)) present.add(id)
      }
    }
    return present
  }

  async #findShared(segments: readonly StreamSegment[]): Promise<SegmentId[]> {
    const streams = [...new Set(segments.map(({ streamId }) => streamId))]
    try {
      const present = presentSql(this.#clickhouse.database, MIXED_STREAM)
      const sql = `${present} AND stream_id IN ({streams:Array(UInt32)})`
      return await this.#readIds(`${sql} GROUP BY segment_id`, segments, { streams })
    } catch (cause) {
      if (cause instanceof StoreError && cause.clickHouseCode === UNKNOWN_TABLE) return []
      throw cause
    }
  }

  /** Precondition: the streams' tables exist. */
  #findOwn(segments: readonly StreamSegment[]): Promise<SegmentId[]> {
    const streams = [...new Set(segments.map(({ streamId }) => streamId))]
    const { database } = this.#clickhouse
    const parts = streams.map((streamId) => `${presentSql(database, streamId)} GROUP BY segment_id`)
    return this.#readIds(parts.join(' UNION ALL '), segments)
  }

  async #readIds(
    sql: string,
    segments: readonly StreamSegment[],
    params: QueryParams = {},
  ): Promise<SegmentId[]> {
    const ids = segments.map(({ segmentId }) => segmentId)
    const times = ids.map(segmentIdMs)
    const range = { from: Math.min(...times), to: Math.max(...times) }
    const rows = await this.#clickhouse.query<{ id: string }>(sql, { ...params, ...range, ids })
    return rows.map((row) => BigInt(row.id) as SegmentId)
  }

  /** Those of the streams that have a table of their own. */
  async findTables(streamIds: readonly StreamId[]): Promise<StreamId[]> {
    const existing: StreamId[] = []
    for (const some of slices(streamIds, PRESENT_IDS_MAX)) {
      const byName = new Map(some.map((streamId) => [tableName(streamId), streamId]))
      const rows = await this.#clickhouse.query<{ name: string }>(
        `SELECT name FROM system.tables
          WHERE database = {database:String} AND name IN ({names:Array(String)})`,
        { database: this.#clickhouse.database, names: [...byName.keys()] },
      )
      existing.push(...rows.map(({ name }) => byName.get(name)!))
    }
    return existing
  }
}

/** Without its GROUP BY; `ingested_at` bounds what is read. */
function presentSql(database: string, streamId: StreamId): string {
  return `SELECT toString(segment_id) AS id FROM ${projectionTable(database, streamId)}
    WHERE ingested_at >= fromUnixTimestamp64Milli({from:Int64})
      AND ingested_at <= fromUnixTimestamp64Milli({to:Int64})
      AND segment_id IN ({ids:Array(UInt64)})`
}

function* slices<T>(all: readonly T[], lengthMax: number): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += lengthMax) yield all.slice(at, at + lengthMax)
}
