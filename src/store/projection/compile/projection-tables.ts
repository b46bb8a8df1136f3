/**
 * Which tables exist, of those that may hold rows of given streams. A stream's rows are in its own
 * table, in the one that small streams share, or in both; either may be missing, and ClickHouse
 * then refuses the whole query (code 60).
 *
 * To ask first would double the round trips, so a table is assumed to exist until a query fails.
 * Then we look up which tables exist and remember those that do not. Later queries leave these out,
 * and look again while they run. That finds a table that was created meanwhile, and the query is
 * repeated with it: a table that existed when a query began is never left out. While nothing has
 * been projected since the last look, a table that was missing then has no row that counts, and we
 * do not look.
 */
import { mainTurns } from '../../../api/main-turns.ts'
import { QUERY_TABLES_MAX } from '../../../limits.ts'
import { MIXED_STREAM } from '../../../model/mixed-runs.ts'
import { coversMarks, type NodeMarks } from '../../../model/segment-place.ts'
import type { StreamId } from '../../../model/stream.ts'
import type { ClickHouse } from '../../clickhouse.ts'
import { UNKNOWN_DATABASE, UNKNOWN_TABLE } from '../../clickhouse-codes.ts'
import type { ClickHousePlace } from '../../clickhouse-place.ts'
import { StoreError } from '../../store-error.ts'
import { syncDatabase } from '../sync-database.ts'
import { tableName } from '../table-names.ts'
import { WithinMemory } from '../within-memory.ts'
import { CountedTables } from './counted-tables.ts'

export interface PresentTables {
  /** Streams that have one of their own. */
  readonly own: ReadonlySet<StreamId>
  readonly hasShared: boolean
  /** Those, and the shared one, of which each part has its counts; undefined where unknown. */
  readonly counted?: ReadonlySet<StreamId>
  /** Those that have events whose own fields say another service than their label. */
  readonly otherServices?: ReadonlySet<StreamId>
}

/** The tables, by their streams: `MIXED_STREAM` for the shared one. */
export function tablesOf({ own, hasShared }: PresentTables): StreamId[] {
  return [...own, ...(hasShared ? [MIXED_STREAM] : [])]
}

interface TableStream {
  readonly streamId: StreamId
  readonly projected?: NodeMarks
}

const NO_MARKS: NodeMarks = new Map()
const TRIES_MAX = 4
/** How long a look may take. */
const LOOK_MS_MAX = 5_000
/** Missing tables that are remembered; past that all are forgotten, which costs one look-up. */
const MISSING_MAX = 10_000

export class ProjectionTables {
  readonly #clickhouse: ClickHouse
  /** What is known of the memory that reading them takes. */
  readonly memory = new WithinMemory()
  readonly counted: CountedTables
  readonly #missing = new Set<string>()
  /** Of those, the marks of streams that had been read before we looked: `seenBy`. */
  readonly #seen = new Map<string, NodeMarks>()

  /** `clickhouse` is only for looking: a lane that queries do not fill. */
  constructor(clickhouse: ClickHouse) {
    this.#clickhouse = clickhouse
    this.counted = new CountedTables(clickhouse)
  }

  get place(): ClickHousePlace {
    return this.#clickhouse.place
  }

  /**
   * What `run` resolves with, over the tables that exist; `run` is also called when none does. It
   * may be called again after it failed or when a table has appeared. Throws what `run` throws.
   */
  async read<T>(
    streams: readonly TableStream[],
    run: (tables: PresentTables) => Promise<T>,
  ): Promise<T> {
    this.#clickhouse.assertSettled()
    const streamIds = streams.map(({ streamId }) => streamId)
    const all = [MIXED_STREAM, ...streamIds].map(tableName)
    const look = (tables: readonly string[]) => this.#look(tables, streams)
    const count = all.filter((table) => !this.#missing.has(table)).length
    if (count > QUERY_TABLES_MAX) await look(all)
    for (let tries = 1; ; tries++) {
      const left = all.filter((table) => this.#mayBeThere(table, streams))
      const isThere = (streamId: StreamId) => !this.#missing.has(tableName(streamId))
      const own = new Set(streamIds.filter(isThere))
      await mainTurns.next() // `run` plans the query first.
      try {
        const [result, found] = await Promise.all([
          run({ own, hasShared: isThere(MIXED_STREAM) }),
          look(left),
        ])
        if (found === 0 || tries === TRIES_MAX) return result
      } catch (cause) {
        if (!isNoTable(cause) || tries === TRIES_MAX) throw cause
        await look(all)
      }
    }
  }

  /** It was missing, and may have been made since. */
  #mayBeThere(table: string, streams: readonly TableStream[]): boolean {
    if (!this.#missing.has(table)) return false
    const marks = this.#seen.get(seenBy(table, streams))
    const projected = streams[0]?.projected
    return marks === undefined || projected === undefined || !coversMarks(marks, projected)
  }

  /** Remembers which of `tables` are missing; returns how many exist. */
  async #look(tables: readonly string[], streams: readonly TableStream[]): Promise<number> {
    if (tables.length === 0) return 0
    await syncDatabase(this.#clickhouse, LOOK_MS_MAX)
    const there = await this.#clickhouse.query<{ name: string }>(
      `SELECT name FROM system.tables
       WHERE database = {database:String} AND name IN ({tables:Array(String)})`,
      { database: this.place.database, tables },
      { max_execution_time: LOOK_MS_MAX / 1_000 },
    )
    if (this.#missing.size > MISSING_MAX) this.#missing.clear()
    if (this.#seen.size > MISSING_MAX) this.#seen.clear()
    for (const table of tables) {
      this.#missing.add(table)
      this.#seen.set(seenBy(table, streams), streams[0]?.projected ?? NO_MARKS)
    }
    for (const { name } of there) this.#missing.delete(name)
    return there.length
  }
}

/**
 * Marks are those of the streams that are asked for together. In the shared table others may be
 * further behind, whose rows make the table later.
 */
function seenBy(table: string, streams: readonly TableStream[]): string {
  if (table !== tableName(MIXED_STREAM)) return table
  return `${table} ${streams.map(({ streamId }) => streamId).join()}`
}

function isNoTable(cause: unknown): boolean {
  return (
    cause instanceof StoreError &&
    (cause.clickHouseCode === UNKNOWN_TABLE || cause.clickHouseCode === UNKNOWN_DATABASE)
  )
}
