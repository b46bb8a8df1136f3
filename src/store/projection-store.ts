/**
 * The projection in ClickHouse: one MergeTree table a stream, fed with Native blocks.
 *
 * A table a stream gives each its own dynamic paths, its own retention by dropping partitions, and
 * an honest size. Table names are made of our own integers; everything else goes by parameters.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { MIXED_STREAM } from '../model/mixed-runs.ts'
import { MIXED_PROJECTION_COLUMNS, PROJECTION_COLUMNS } from '../model/projection.ts'
import type { SegmentId } from '../model/segment-id.ts'
import { segmentIdMs } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import type { ClickHouse } from './clickhouse.ts'
import { StoreError } from './store-error.ts'

export const PROJECTION_DATABASE = 'sluice'

const UNKNOWN_TABLE = 60
const COLUMN_LIST = PROJECTION_COLUMNS.map(([name]) => name).join(', ')
/** One insert makes one part: all its blocks are joined before they are written. */
const INSERT_SETTINGS = {
  async_insert: 0,
  max_insert_threads: '1',
  min_insert_block_size_rows: '4000000',
  min_insert_block_size_bytes: '1000000000',
} as const
/**
 * Compact parts up to a gigabyte: a wide part is some hundred files, and making them cost as much
 * as the insert itself. No automatic statistics: they would be computed anew with every merge.
 * Parts of a gigabyte are merged no more: a day of some thousand of them at the highest rate is
 * allowed, and reading them costs less than merging each row a second and a third time.
 * Lengths of strings beside them, not in streams of their own: a seventh less on disk.
 * Merges wait for some thirty parts of a size instead of five (the base falls as parts add up): one
 * merge costs as much as the insert, so fewer levels are what halves the work.
 * Synced, because the checkpoint in PostgreSQL says that the rows are there.
 */
const TABLE_SETTINGS =
  'min_bytes_for_wide_part = 1073741824, min_rows_for_wide_part = 100000000, ' +
  "auto_statistics_types = '', merge_selector_base = 64, " +
  "string_serialization_version = 'single_stream', serialization_info_version = 'basic', " +
  'max_bytes_to_merge_at_max_space_in_pool = 1073741824, ' +
  'max_bytes_to_merge_at_min_space_in_pool = 536870912, ' +
  'parts_to_delay_insert = 5000, parts_to_throw_insert = 10000, ' +
  'fsync_after_insert = 1, fsync_part_directory = 1'
const SETTLE_MS_MAX = 120_000
/** Blocks of an insert that are joined before they are sent. */
const JOINED_BYTES_MAX = 1024 * 1024
/** Ids asked for at a time: they travel in the request's URL, whose length is bounded. */
const PRESENT_IDS_MAX = 256

/** The stream's table, qualified; of `MIXED_STREAM` the one that small streams share. */
export function projectionTable(streamId: StreamId): string {
  return `${PROJECTION_DATABASE}.events_${streamId}`
}

/** Idempotent. In the shared table a stream's rows lie together within each part. */
export function createTableSql(streamId: StreamId): string {
  const isMixed = streamId === MIXED_STREAM
  const columns = isMixed ? MIXED_PROJECTION_COLUMNS : PROJECTION_COLUMNS
  return `CREATE TABLE IF NOT EXISTS ${projectionTable(streamId)}
    (${columns.map(([name, type]) => `${name} ${type}`).join(', ')})
    ENGINE = MergeTree PARTITION BY toDate(ingested_at)
    ORDER BY (${isMixed ? 'stream_id, ' : ''}ingested_at, segment_id, ordinal)
    SETTINGS ${TABLE_SETTINGS}`
}

export class ProjectionStore {
  readonly #clickhouse: ClickHouse
  /** Marks this node's inserts among all queries, whichever process of it sent them. */
  readonly #queryIdPrefix: string
  readonly #known = new Set<StreamId>()
  #inserts = 0

  constructor(clickhouse: ClickHouse, node: { readonly nodeId: number; readonly epoch: bigint }) {
    this.#clickhouse = clickhouse
    this.#queryIdPrefix = `sluice-insert-${node.nodeId}-`
    this.#inserts = Number(node.epoch % 1_000_000n) * 1_000_000_000
  }

  /** Inserts blocks, one after another in one part. Throws `StoreError`. */
  async insert(streamId: StreamId, blocks: readonly Uint8Array[]): Promise<void> {
    if (!this.#known.has(streamId)) await this.#createTable(streamId)
    const sql = `INSERT INTO ${projectionTable(streamId)} (${COLUMN_LIST}) FORMAT Native`
    const queryId = `${this.#queryIdPrefix}${++this.#inserts}`
    try {
      const chunks = joinSmall(blocks)
      await this.#clickhouse.insertNative(sql, chunks, { queryId, settings: INSERT_SETTINGS })
    } catch (cause) {
      // Dropped behind our back: the next try makes it again.
      if (cause instanceof StoreError && cause.clickHouseCode === UNKNOWN_TABLE) {
        this.#known.delete(streamId)
      }
      throw cause
    }
  }

  /** Which of `ids`, in their order, are in the stream's table. Throws `StoreError`. */
  async findPresent(
    streamId: StreamId,
    ids: readonly SegmentId[],
  ): Promise<ReadonlySet<SegmentId>> {
    const present = new Set<SegmentId>()
    for (let at = 0; at < ids.length; at += PRESENT_IDS_MAX) {
      const some = ids.slice(at, at + PRESENT_IDS_MAX)
      for (const id of await this.#findSome(streamId, some)) present.add(id)
    }
    return present
  }

  async #findSome(streamId: StreamId, ids: readonly SegmentId[]): Promise<SegmentId[]> {
    const first = ids[0]
    const last = ids.at(-1)
    if (first === undefined || last === undefined) return []
    try {
      const rows = await this.#clickhouse.query<{ id: string }>(
        `SELECT toString(segment_id) AS id FROM ${projectionTable(streamId)}
          WHERE ingested_at >= fromUnixTimestamp64Milli({from:Int64})
            AND ingested_at <= fromUnixTimestamp64Milli({to:Int64})
            AND segment_id IN ({ids:Array(UInt64)})
          GROUP BY segment_id`,
        { from: segmentIdMs(first), to: segmentIdMs(last), ids },
      )
      return rows.map((row) => BigInt(row.id) as SegmentId)
    } catch (cause) {
      if (cause instanceof StoreError && cause.clickHouseCode === UNKNOWN_TABLE) return []
      throw cause
    }
  }

  /** Waits until no insert of this node runs any more. Throws `StoreError` past SETTLE_MS_MAX. */
  async settleInserts(): Promise<void> {
    const deadline = performance.now() + SETTLE_MS_MAX
    for (;;) {
      const rows = await this.#clickhouse.query<{ running: number }>(
        // The embedded engine shows our query id only at the end of its own mark.
        `SELECT toUInt32(count()) AS running FROM system.processes
          WHERE startsWith(query_id, {prefix:String})
             OR position(Settings['log_comment'], {tag:String}) > 0`,
        { prefix: this.#queryIdPrefix, tag: `/${this.#queryIdPrefix}` },
      )
      if ((rows[0]?.running ?? 0) === 0) return
      if (performance.now() > deadline) {
        throw new StoreError('unavailable', 'clickhouse: an insert of ours does not end')
      }
      await sleep(200)
    }
  }

  async #createTable(streamId: StreamId): Promise<void> {
    await this.#clickhouse.command(createTableSql(streamId))
    this.#known.add(streamId)
  }
}

/** Many small blocks as one chunk: each chunk would be a write to the socket. */
function joinSmall(blocks: readonly Uint8Array[]): readonly Uint8Array[] {
  let bytes = 0
  for (const block of blocks) bytes += block.length
  return bytes > JOINED_BYTES_MAX || blocks.length < 2 ? blocks : [Buffer.concat(blocks)]
}
