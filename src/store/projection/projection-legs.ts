/**
 * Where the rows of a stream are: in its own table, in the one that small streams share, or in
 * both; each segment in exactly one of them.
 *
 * A query has a leg for each table, joined by UNION ALL, and a leg gives computed columns instead
 * of payloads. So each reads just the subcolumns and the ranges of its primary key that it needs;
 * `merge()` would be one source with whole payloads, whose dynamic types differ.
 *
 * Either table may be missing, and ClickHouse then refuses the whole query (code 60). To ask first
 * would double the round trips, so a table is taken to be there until a query fails. Then we look
 * which ones are there and remember those that are not. Later queries leave these out, and look
 * again while they run. One that was made meanwhile is found by that, and the query is repeated
 * with it: what was there when a query began is never left out, and it is one round trip whether a
 * stream has one of the tables, the other, or both.
 */
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import type { StreamId } from '../../model/stream.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { StoreError } from '../store-error.ts'
import { tableName, UNKNOWN_TABLE } from './projection-store.ts'

/** The stream's own table, or the shared one. */
export type Leg = 'own' | 'mixed'

export const UNKNOWN_DATABASE = 81
const LEGS = ['own', 'mixed'] as const satisfies readonly Leg[]
const TRIES_MAX = 4
/** Streams whose lack of a table is remembered; past that all are forgotten, which costs a look. */
const MISSING_MAX = 10_000

export class ProjectionLegs {
  readonly #clickhouse: ClickHouse
  readonly #database: string
  readonly #missing = new Set<string>()

  constructor(clickhouse: ClickHouse, database: string) {
    this.#clickhouse = clickhouse
    this.#database = database
  }

  /** Fill what `selectLegs` leaves open. */
  params(streamId: StreamId) {
    const [table, mixed] = [tableName(streamId), tableName(MIXED_STREAM)]
    return { database: this.#database, table, mixed, stream: String(streamId) }
  }

  /**
   * What `run` resolves with, over the tables that are there; undefined when there is none.
   * `run` may be called again after it failed or when a table turned up. Throws what it throws.
   */
  async read<T>(
    streamId: StreamId,
    run: (legs: readonly Leg[]) => Promise<T>,
  ): Promise<T | undefined> {
    const { table: own, mixed } = this.params(streamId)
    const tables = { own, mixed }
    for (let tries = 1; ; tries++) {
      const legs = LEGS.filter((leg) => !this.#missing.has(tables[leg]))
      const left = LEGS.filter((leg) => !legs.includes(leg)).map((leg) => tables[leg])
      try {
        const [result, found] = await Promise.all([
          legs.length === 0 ? undefined : run(legs),
          this.#look(left),
        ])
        if (found === 0 || tries === TRIES_MAX) return result
      } catch (cause) {
        if (!isNoTable(cause) || tries === TRIES_MAX) throw cause
        await this.#look([own, mixed])
      }
    }
  }

  /** Remembers which of `tables` are missing; returns how many are there. */
  async #look(tables: readonly string[]): Promise<number> {
    if (tables.length === 0) return 0
    const there = await this.#clickhouse.query<{ name: string }>(
      `SELECT name FROM system.tables
       WHERE database = {database:String} AND name IN ({tables:Array(String)})`,
      { database: this.#database, tables },
    )
    if (this.#missing.size > MISSING_MAX) this.#missing.clear()
    for (const table of tables) this.#missing.add(table)
    for (const { name } of there) this.#missing.delete(name)
    return there.length
  }
}

const FROM = {
  own: 'FROM {database:Identifier}.{table:Identifier} WHERE',
  mixed: 'FROM {database:Identifier}.{mixed:Identifier} WHERE stream_id = {stream:UInt32} AND',
} as const satisfies Record<Leg, string>

/** A SELECT of the stream's rows, for use in a FROM. Precondition: at least one leg. */
export function selectLegs(legs: readonly Leg[], columns: string, condition: string): string {
  return legs.map((leg) => `SELECT ${columns} ${FROM[leg]} (${condition})`).join('\n    UNION ALL ')
}

function isNoTable(cause: unknown): boolean {
  return (
    cause instanceof StoreError &&
    (cause.clickHouseCode === UNKNOWN_TABLE || cause.clickHouseCode === UNKNOWN_DATABASE)
  )
}
