/**
 * The projection in ClickHouse: a MergeTree table for each stream that sends much, fed with Native
 * blocks, and one that the other streams share. A segment is in exactly one of the two.
 *
 * A table of its own gives a stream its own dynamic paths, retention by dropping partitions, and
 * an exact size. Table names are made of our own integers; everything else goes by parameters.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { INDEXED_INSERT_BYTES_MIN, MERGE_BYTES_MAX, WIDE_ROWS_MIN } from '../../limits.ts'
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import {
  type BlockSpool,
  GRANULE_ROWS,
  MIXED_PROJECTION_COLUMNS,
  PROJECTION_COLUMNS,
  type StreamSegment,
} from '../../model/projection.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import { NO_NEEDS, type TableNeeds } from '../../model/table-needs.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { MEMORY_LIMIT_EXCEEDED, UNKNOWN_TABLE } from '../clickhouse-codes.ts'
import { type ClickHousePlace, engineOf, placeSettings } from '../clickhouse-place.ts'
import { InsertSpool } from '../insert-spool.ts'
import { StoreError } from '../store-error.ts'
import { countsSql, OWN_COUNTS, SHARED_COUNTS } from './counts.ts'
import { type InsertColumns, type InsertPlace, OneServer } from './insert-place.ts'
import { addLaterColumns } from './later-columns.ts'
import { COMPACT_SETTINGS } from './table-form.ts'
import { TableKeeper } from './table-keeper.ts'
import { projectionTable, tableName } from './table-names.ts'

/** Rows of one stream that trigger an insert when they are spooled. */
export const SPOOL_INSERT_ROWS = 200_000
/**
 * Rows times paths of one stream that trigger an insert when they are spooled: in the engine's
 * memory a path takes bytes of each row, with a value there or without. 25 million were too many.
 */
export const SPOOL_INSERT_CELLS_MAX = 16_000_000

export { projectionTable, TABLE_PREFIX, tableName } from './table-names.ts'

/** Paths that a stream is assumed to have after one of its inserts took too much memory. */
const MANY_PATHS = 1_000
/**
 * One insert makes one part: all its blocks are joined before they are written. One thread does it:
 * there is nothing to do in parallel, and handing over between threads costs.
 */
const INSERT_SETTINGS = {
  async_insert: 0,
  max_threads: 1,
  max_insert_threads: '1',
  min_insert_block_size_rows: '4000000',
  min_insert_block_size_bytes: '0',
} as const
/**
 * A small insert becomes a compact part, which is soon merged into a wide one; that makes the
 * indexes.
 * Until then the whole part is read, which takes no longer than an index would to rule it out.
 */
const SMALL_INSERT_SETTINGS = {
  ...INSERT_SETTINGS,
  materialize_skip_indexes_on_insert: 0,
} as const
/** How long a new table waits for the first of its stream's fields to be learned. */
const NEEDS_MS_MAX = 1_500
const NEEDS_LOOK_MS = 250
/**
 * Settings in which tables differ are in `table-form.ts`.
 * No automatic statistics: every merge would compute them again. String lengths are stored beside
 * the strings, not in streams of their own: a seventh less on disk.
 * Merges wait for some thirty parts of a size instead of five (the base falls as parts add up): one
 * merge costs as much as the insert, so fewer levels halve the work.
 * Granules of 16,384 rows: each of a part's columns is compressed granule by granule, and half as
 * many granules are a twelfth less work for an insert and 7 B a row less on disk.
 * A part's file is written through a buffer of 128 KiB, which is still in the CPU's cache when it
 * is hashed and handed over, not through a megabyte: another twelfth less.
 * Synced, because the checkpoint in PostgreSQL says that the rows are there.
 */
const TABLE_SETTINGS =
  `index_granularity = ${GRANULE_ROWS}, ` +
  "auto_statistics_types = '', merge_selector_base = 64, max_compress_block_size = 131072, " +
  "string_serialization_version = 'single_stream', serialization_info_version = 'basic', " +
  'parts_to_delay_insert = 5000, parts_to_throw_insert = 10000, ' +
  'fsync_after_insert = 1, fsync_part_directory = 1'
/**
 * Rows arrive with all their paths and values in one map and are written that way, which is the
 * cheapest insert. Merging sorts the map into buckets by path, so a query reads an eighth of it.
 */
const SHARED_SETTINGS =
  `${mergeSettings(1024 * 1024 * 1024, 512 * 1024 * 1024)}, ` +
  "object_shared_data_serialization_version = 'map_with_buckets', " +
  "object_shared_data_serialization_version_for_zero_level_parts = 'map'"
const ONE_SERVER = { cluster: undefined, storagePolicy: undefined }
const SETTLE_MS_MAX = 120_000
const REACHED_MS = 1_000

/**
 * Idempotent. Makes a stream's own table in the form for when nothing is known about its fields. In
 * the shared table a stream's rows lie together within each part.
 */
export function createTableSql(
  database: string,
  streamId: StreamId,
  place: Pick<ClickHousePlace, 'cluster' | 'storagePolicy'> = ONE_SERVER,
): string {
  const columns = columnsOf(streamId).map(([name, type]) => `${name} ${type}`)
  const isMixed = streamId === MIXED_STREAM
  const units = isMixed ? SHARED_COUNTS : OWN_COUNTS
  columns.push(...units.map((unit) => countsSql(unit, isMixed)))
  const merges = isMixed ? SHARED_SETTINGS : mergeSettings(MERGE_BYTES_MAX)
  return `CREATE TABLE IF NOT EXISTS ${projectionTable(database, streamId)}
    (${columns.join(', ')})
    ENGINE = ${engineOf(place)} PARTITION BY toDate(ingested_at)
    ORDER BY (${isMixed ? 'stream_id, ' : ''}ingested_at, segment_id, ordinal)
    SETTINGS ${TABLE_SETTINGS}, ${COMPACT_SETTINGS}, ${merges}${placeSettings(place)}`
}

/**
 * Parts are merged up to `bytesMax`, or up to `bytesMaxWhenBusy` while only one slot for merges is
 * free. For a stream's own table both are small: `retain/merge-bounds.ts` says why.
 */
export function mergeSettings(bytesMax: number, bytesMaxWhenBusy = bytesMax): string {
  return (
    `max_bytes_to_merge_at_max_space_in_pool = ${bytesMax}, ` +
    `max_bytes_to_merge_at_min_space_in_pool = ${bytesMaxWhenBusy}`
  )
}

function columnsOf(streamId: StreamId): InsertColumns {
  return streamId === MIXED_STREAM ? MIXED_PROJECTION_COLUMNS : PROJECTION_COLUMNS
}

export interface ProjectionStoreOptions {
  /** By default the server that it is given. */
  readonly place?: InsertPlace | undefined
  /** Rejects when the ClickHouse that answers is not the projection's any more. */
  readonly assertSame?: () => Promise<void>
  /** What the catalog knows about a stream; without it tables are made as if that were nothing. */
  readonly readNeeds?: (streamId: StreamId) => Promise<TableNeeds>
  /** Called for a table that could not be brought into its form; rows are stored nevertheless. */
  /** Called for a setting of tables that the server does not let us choose: it is left out. */
  readonly onSettingRefused?: (name: string) => void
  readonly onFormError?: (streamId: StreamId, cause: unknown) => void
  /** Rejects when this process may not insert under its number: see `node-lease.ts`. */
  readonly assertHeld?: () => Promise<void>
  /** Of a number that was another process's: resolves when no insert of that can come any more. */
  readonly untilQuiet?: () => Promise<void>
}

export class ProjectionStore {
  readonly #place: InsertPlace
  readonly #clickhouse: ClickHouse
  readonly #keeper: TableKeeper
  /**
   * Marks this node's inserts among all queries of the server, whichever process of it sent them:
   * nodes of another Sluice, in another database there, have the same numbers.
   */
  readonly #queryIdPrefix: string
  readonly #known = new Set<StreamId>()
  /** For known streams with learned fields: how many paths rows may have. */
  readonly #paths = new Map<StreamId, number>()
  readonly #options: ProjectionStoreOptions
  #inserts = 0
  #isQuiet = false

  /** Inserts and statements about tables go to `clickhouse`, or where `options.place` says. */
  constructor(
    clickhouse: ClickHouse,
    node: { readonly nodeId: number; readonly epoch: bigint },
    options: ProjectionStoreOptions = {},
  ) {
    this.#place = options.place ?? new OneServer(clickhouse)
    this.#clickhouse = this.#place.clickhouse
    this.#keeper = new TableKeeper(this.#clickhouse, options.onSettingRefused)
    this.#options = options
    this.#queryIdPrefix = `sluice-insert-${clickhouse.database}-${node.nodeId}-`
    this.#inserts = Number(node.epoch % 1_000_000n) * 1_000_000_000
  }

  /**
   * Inserts blocks, in pieces one after another, as one part; blocks of `MIXED_STREAM` into the
   * table that streams share. `rows` counts those of all blocks: inserts of many rows or bytes make
   * their indexes at once. Throws `StoreError`.
   */
  async insert(streamId: StreamId, blocks: readonly Uint8Array[], rows = 0): Promise<void> {
    await this.#insert(streamId, blocks, rows)
  }

  /** A spool for a stream's blocks as they arrive; undefined where they have to be sent. */
  tryOpenSpool(streamId: StreamId): BlockSpool | undefined {
    const spool = this.#clickhouse.tryOpenSpool()
    return (
      spool && {
        rowsMax: this.#rowsMaxOf(streamId),
        append: (pieces) => spool.append(pieces),
        tryRead: (start, into) => spool.tryRead(start, into),
        insert: (rows) => this.#insert(streamId, spool, rows),
        release: () => spool.release(),
      }
    )
  }

  async #insert(
    streamId: StreamId,
    data: readonly Uint8Array[] | InsertSpool,
    rows: number,
  ): Promise<void> {
    const table = projectionTable(this.#clickhouse.database, streamId)
    const isSmall = rows < WIDE_ROWS_MIN && bytesOf(data) < INDEXED_INSERT_BYTES_MIN
    const queryId = `${this.#queryIdPrefix}${++this.#inserts}`
    try {
      if (!this.#known.has(streamId)) await this.#createTable(streamId)
    } catch (cause) {
      if (data instanceof InsertSpool) data.release()
      throw cause
    }
    try {
      const settings = {
        ...(isSmall ? SMALL_INSERT_SETTINGS : INSERT_SETTINGS),
        ...this.#place.settings(),
      }
      const beforeSend = this.#options.assertHeld
      const sql = this.#place.insertSql(table, columnsOf(streamId))
      await this.#clickhouse.insertNative(sql, data, { queryId, settings, beforeSend })
      await this.#place.stored(tableName(streamId))
    } catch (cause) {
      this.#place.failed(cause)
      // Somebody dropped the table: the next try makes it again.
      if (cause instanceof StoreError && cause.clickHouseCode === UNKNOWN_TABLE) {
        this.#known.delete(streamId)
      }
      await this.#lessAfter(streamId, cause)
      throw cause
    }
  }

  /**
   * The memory may have gone to very many paths that the catalog does not know yet: the next
   * inserts are smaller, and have no files for each path.
   */
  async #lessAfter(streamId: StreamId, cause: unknown): Promise<void> {
    if (!(cause instanceof StoreError) || cause.clickHouseCode !== MEMORY_LIMIT_EXCEEDED) return
    if (streamId === MIXED_STREAM) return
    this.#paths.set(streamId, MANY_PATHS)
    await this.#keeper.makeCompact(streamId).catch((failed) => {
      this.#options.onFormError?.(streamId, failed)
    })
  }

  /**
   * Which of the segments are in the projection, each in its stream's table or in the shared one.
   * Throws `StoreError`.
   */
  async findPresent(segments: readonly StreamSegment[]): Promise<ReadonlySet<SegmentId>> {
    return this.#place.findPresent(segments)
  }

  /**
   * Waits until every insert of this node that is running now has ended; inserts that begin
   * meanwhile are of segments that the caller does not ask about. Throws `StoreError` past
   * SETTLE_MS_MAX.
   */
  async settleInserts(): Promise<void> {
    if (!this.#isQuiet) await this.#options.untilQuiet?.()
    await this.#options.assertSame?.()
    // It answers: what had reached it while it was busy, or stopped, is soon in its list.
    if (!this.#isQuiet && this.#options.untilQuiet !== undefined) await sleep(REACHED_MS)
    this.#isQuiet = true
    const deadline = performance.now() + SETTLE_MS_MAX
    let waitedFor: readonly string[] | undefined
    for (;;) {
      const running = new Set(await this.#place.findRunning(this.#queryIdPrefix))
      waitedFor = (waitedFor ?? [...running]).filter((id) => running.has(id))
      if (waitedFor.length === 0) return
      if (performance.now() > deadline) {
        throw new StoreError('unavailable', 'clickhouse: an insert of ours does not end')
      }
      await sleep(200)
    }
  }

  async #createTable(streamId: StreamId): Promise<void> {
    await this.#options.assertSame?.()
    const { place } = this.#clickhouse
    const sql = createTableSql(place.database, streamId, place)
    await this.#keeper.refused.run(sql, (all) => this.#clickhouse.command(all))
    // One that a node of an earlier version has made since this one started lacks some.
    await addLaterColumns(this.#clickhouse, streamId)
    if (streamId === MIXED_STREAM) await this.#keeper.bringSharedIntoForm()
    else await this.#bringIntoForm(streamId)
    this.#known.add(streamId)
  }

  /** Never rejects: rows can be stored in any form, and the reconciler tries again. */
  async #bringIntoForm(streamId: StreamId): Promise<void> {
    try {
      const needs = await this.#readNeeds(streamId)
      if (needs === undefined) return
      this.#paths.set(streamId, needs.fields)
      for (const form of await this.#keeper.listForms(streamId)) {
        await this.#keeper.alter(form, needs)
      }
    } catch (cause) {
      this.#options.onFormError?.(streamId, cause)
    }
  }

  #rowsMaxOf(streamId: StreamId): number {
    const rows = Math.floor(SPOOL_INSERT_CELLS_MAX / (this.#paths.get(streamId) ?? 1))
    return Math.min(SPOOL_INSERT_ROWS, rows)
  }

  /** Undefined when nothing is known even after a short wait. */
  async #readNeeds(streamId: StreamId): Promise<TableNeeds | undefined> {
    const deadline = performance.now() + NEEDS_MS_MAX
    for (;;) {
      const needs = await this.#options.readNeeds?.(streamId)
      if (needs !== NO_NEEDS) return needs
      if (performance.now() > deadline) return undefined
      await sleep(NEEDS_LOOK_MS)
    }
  }
}

function bytesOf(data: readonly Uint8Array[] | InsertSpool): number {
  if (data instanceof InsertSpool) return data.bytes
  return data.reduce((sum, { byteLength }) => sum + byteLength, 0)
}
