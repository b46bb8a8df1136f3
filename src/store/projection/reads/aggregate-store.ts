/** Aggregating queries over the projection: `aggregate-sql.ts` makes the statement. */

import { mainTurns } from '../../../api/main-turns.ts'
import type { Query } from '../../../language/query-tree.ts'
import { QUERY_DISTINCT_MAX } from '../../../limits.ts'
import { GROUP_KINDS, type GroupValue } from '../../../model/aggregates.ts'
import type { SourceStream } from '../../../model/field-catalog.ts'
import type { NodeMarks } from '../../../model/segment-place.ts'
import type { ClickHouse, EngineStats } from '../../clickhouse.ts'
import type { PresentTables, ProjectionTables } from '../compile/projection-tables.ts'
import { unionBranches } from '../compile/row-source.ts'
import { SqlParams } from '../compile/sql-params.ts'
import { NO_PROJECTIONS, querySettings, tooManyGroups, toQueryError } from '../query-bounds.ts'
import { isOutOfMemory, type ReadBlocks } from '../within-memory.ts'
import { type AggregateQuery, aggregateSql } from './aggregate-sql.ts'
import { finishAggregate, type PartValue } from './finish-aggregate.ts'
import { ALL_EVENTS } from './parts.ts'

/** Rows of a query's result that it takes over at a time. */
export const MAIN_SLICE_ROWS = 1_000

/** What an aggregating query is about. */
export interface AggregateTask extends AggregateQuery {
  readonly streams: readonly SourceStream[]
  readonly query: Query
  /** See `RowSourceOptions`. */
  readonly observed?: NodeMarks
  /** Nanoseconds since 1970, half-open. */
  readonly fromNs: bigint
  readonly toNs: bigint
  readonly timeoutMs: number
  /** Past QUERY_DISTINCT_MAX groups, those seen so far are still counted, but no new ones. */
  readonly keepsFirstGroups?: boolean
}

export interface AggregateRow {
  /** Values of the keys other than time, in their order; empty for all other groups together. */
  readonly group: readonly GroupValue[]
  readonly isOthers: boolean
  /** From 0, undefined without buckets. */
  readonly bucket: number | undefined
  /** JSON of each aggregate. */
  readonly values: readonly string[]
}

export interface AggregateResult {
  /** Groups by their order, and each by its buckets. Empty ones are left out. */
  readonly rows: readonly AggregateRow[]
  /** Events that match, including those of groups past the limit. */
  readonly total: bigint
  /** How many groups there are in all. */
  readonly groups: number
  /** Quantiles and distinct values are estimates. */
  readonly isEstimated: boolean
  readonly stats: EngineStats
}

/** How a statement is run. */
interface Manner {
  readonly isExact: boolean
  readonly blocks: ReadBlocks
}

type ResultRow = Readonly<Record<string, PartValue | number>>

const NOTHING: EngineStats = { rowsRead: 0, engineMs: 0 }

export class AggregateStore {
  readonly #clickhouse: ClickHouse
  readonly #tables: ProjectionTables

  constructor(clickhouse: ClickHouse, tables: ProjectionTables) {
    this.#clickhouse = clickhouse
    this.#tables = tables
  }

  /**
   * Distinct values and quantiles are exact while they fit memory, and estimates past that. Throws
   * `malformed` for a query that asks for too much, `unavailable` when there is no answer in time.
   * `signal` ends the query.
   */
  async run(task: AggregateTask, signal?: AbortSignal): Promise<AggregateResult> {
    try {
      return await this.#tables.memory.run(task.streams, task.timeoutMs, (blocks, timeoutMs) => {
        return this.#runExactly({ ...task, timeoutMs }, blocks, signal)
      })
    } catch (cause) {
      throw toQueryError(cause, task)
    }
  }

  /** Or by estimates, when the exact values do not fit memory. */
  async #runExactly(
    task: AggregateTask,
    blocks: ReadBlocks,
    signal: AbortSignal | undefined,
  ): Promise<AggregateResult> {
    const endMs = performance.now() + task.timeoutMs
    try {
      return await this.#run(task, { isExact: true, blocks }, signal)
    } catch (cause) {
      const timeoutMs = endMs - performance.now()
      if (!isOutOfMemory(cause) || !hasEstimates(task) || timeoutMs < 1) throw cause
      return this.#run({ ...task, timeoutMs }, { isExact: false, blocks }, signal)
    }
  }

  async #run(
    task: AggregateTask,
    how: Manner,
    signal: AbortSignal | undefined,
  ): Promise<AggregateResult> {
    return this.#tables.read(task.streams, (tables) => this.#ask(task, how, tables, signal))
  }

  async #ask(
    task: AggregateTask,
    { isExact, blocks }: Manner,
    tables: PresentTables,
    signal: AbortSignal | undefined,
  ): Promise<AggregateResult> {
    const params = new SqlParams()
    const sql = aggregateSql(task, params, isExact)
    const { columns, tail, counts } = sql
    const of = { ...task, columns, tail, ...(counts && { counts }) }
    const branches = unionBranches(of, this.#tables.database, tables, params)
    const settings = counts === undefined ? NO_PROJECTIONS : ''
    let stats = NOTHING
    const options = {
      ...(signal && { signal }),
      onStats: (heard: EngineStats) => void (stats = heard),
    }
    const rows =
      branches === undefined
        ? []
        : await this.#clickhouse.query<ResultRow>(
            `${sql.over(branches)} ${settings}`,
            params.values,
            settingsOf(task, blocks),
            options,
          )
    const sums = sumUp(rows)
    // The engine counts the groups of each thread by themselves.
    if (!task.keepsFirstGroups && sums.groups > QUERY_DISTINCT_MAX) throw tooManyGroups()
    const read: AggregateRow[] = []
    for (const row of rows) {
      if (read.length % MAIN_SLICE_ROWS === MAIN_SLICE_ROWS - 1) await mainTurns.next()
      read.push(readRow(row, task, sql.placed))
    }
    return { ...sums, rows: read, isEstimated: !isExact, stats }
  }
}

function settingsOf({ timeoutMs, keepsFirstGroups = false }: AggregateTask, blocks: ReadBlocks) {
  const overflow = keepsFirstGroups ? ('any' as const) : ('throw' as const)
  return { ...querySettings(timeoutMs, blocks), group_by_overflow_mode: overflow }
}

function readRow(
  row: ResultRow,
  { keys, limit }: AggregateTask,
  placed: ReturnType<typeof aggregateSql>['placed'],
): AggregateRow {
  const fields = keys.filter(({ kind }) => kind !== 'bucket')
  const isOthers = Number(row.rank ?? 0) > limit
  const mark = row.rank === undefined ? '' : '_'
  const group = fields.map((_, index): GroupValue => {
    const kind = GROUP_KINDS[Number(row[`k${index}${mark}`])] ?? 'null'
    return { kind, text: String(row[`t${index}${mark}`] ?? '') }
  })
  return {
    group: isOthers ? [] : group,
    isOthers,
    bucket: row.b === undefined ? undefined : Number(row.b),
    values: placed.map((parts) => finishAggregate(parts, partValues(row))),
  }
}

function partValues(row: ResultRow): PartValue[] {
  const values: PartValue[] = []
  for (let at = 0; row[`v${at}`] !== undefined; at++) values.push(row[`v${at}`] as PartValue)
  return row.p0 === undefined ? values : [String(row.p0)]
}

/** Without groups one row has them all; without a limit every group is in the rows. */
function sumUp(rows: readonly ResultRow[]) {
  const count = (row: ResultRow) => BigInt(String(row[`v${ALL_EVENTS}`] ?? row.p0 ?? '0'))
  const [first] = rows
  if (first === undefined) return { total: 0n, groups: 0 }
  if (first.total !== undefined) {
    return { total: BigInt(String(first.total)), groups: Number(first.groups) }
  }
  const total = rows.reduce((sum, row) => sum + count(row), 0n)
  if (first.places === undefined) return { total, groups: rows.length }
  return { total, groups: Math.max(...rows.map((row) => Number(row.places))) }
}

function hasEstimates({ aggregates }: AggregateTask): boolean {
  return aggregates.some(({ fn }) => fn === 'uniq' || fn.startsWith('p'))
}
