/** Aggregating queries over the projection: `aggregate-sql.ts` makes the statement. */

import { mainTurns } from '../../../api/main-turns.ts'
import type { Query } from '../../../language/query-tree.ts'
import { QUERY_DISTINCT_MAX } from '../../../limits.ts'
import { GROUP_KINDS, type GroupValue, isQuantile } from '../../../model/aggregates.ts'
import type { SourceStream } from '../../../model/field-catalog.ts'
import type { NodeMarks } from '../../../model/segment-place.ts'
import type { ClickHouse, EngineStats } from '../../clickhouse.ts'
import { isOtherService } from '../compile/counted-rows.ts'
import { isRefused, OWN_SNAPSHOTS } from '../compile/counted-tables.ts'
import {
  type PresentTables,
  type ProjectionTables,
  tablesOf,
} from '../compile/projection-tables.ts'
import { type Counts, isPastRemoved, unionBranches } from '../compile/row-source.ts'
import { SqlParams } from '../compile/sql-params.ts'
import {
  isTooManyGroups,
  NO_PROJECTIONS,
  querySettings,
  tooManyGroups,
  toQueryError,
} from '../query-bounds.ts'
import { isOutOfMemory, type ReadBlocks } from '../within-memory.ts'
import { type AggregateQuery, aggregateSql, countsOf } from './aggregate-sql.ts'
import { finishAggregate, type PartValue } from './finish-aggregate.ts'
import { ALL_EVENTS } from './parts.ts'
import {
  type CandidatesRow,
  candidatesSql,
  choiceSql,
  type GroupChoice,
  groupText,
  isByCount,
  missedMax,
} from './top-groups.ts'

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
  /** Past FIRST_GROUPS_MAX groups, those seen so far are still counted, but no new ones. */
  readonly keepsFirstGroups?: boolean
  /** Only rows of these groups, or only of others. */
  readonly groups?: GroupChoice
}

export interface AggregateRow {
  /** Values of the keys other than time, in their order; empty for all other groups together. */
  readonly group: readonly GroupValue[]
  readonly isOthers: boolean
  /** From 0, undefined without buckets. */
  readonly bucket: number | undefined
  /** Of a task with `within`, and without buckets: the events of all groups of the same parent. */
  readonly siblings?: number
  /** JSON of each aggregate. */
  readonly values: readonly string[]
  /** Of each aggregate of numbers, how many values were none. */
  readonly leftOut: readonly number[]
}

export interface AggregateResult {
  /** Groups by their order, and each by its buckets. Empty ones are left out. */
  readonly rows: readonly AggregateRow[]
  /** Events that match, including those of groups past the limit. */
  readonly total: bigint
  /** How many groups there are in all. */
  readonly groups: number
  /** Quantiles, distinct values, or which groups are the largest and how many there are. */
  readonly isEstimated: boolean
  /**
   * How many events a group may have that is not in the rows though it is one of the largest;
   * undefined where none is missing.
   */
  readonly missedMax?: number
  readonly stats: EngineStats
}

/** How a statement is run. */
interface Manner {
  readonly isExact: boolean
  readonly blocks: ReadBlocks
}

type ResultRow = Readonly<Record<string, PartValue | number>>

/** Counts that cannot be read by themselves, then other services among them: see `#run`. */
const COUNTS_TRIES_MAX = 3

const NOTHING: EngineStats = { rowsRead: 0, engineMs: 0 }

export class AggregateStore {
  readonly #clickhouse: ClickHouse
  readonly #tables: ProjectionTables
  readonly #groupsMax: number

  /** `groupsMax`: for tests. */
  constructor(
    clickhouse: ClickHouse,
    tables: ProjectionTables,
    { groupsMax = QUERY_DISTINCT_MAX } = {},
  ) {
    this.#clickhouse = clickhouse
    this.#tables = tables
    this.#groupsMax = groupsMax
  }

  /**
   * Distinct values and quantiles are exact while they fit memory, and estimates past that; so is
   * which groups have the most events. Throws `malformed` for a query that asks for too much,
   * `unavailable` when there is no answer in time.
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

  /** Or by estimates, when the exact values or all groups do not fit memory. */
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
      const isTooMuch = isOutOfMemory(cause) || isTooManyGroups(cause)
      if (!isTooMuch || timeoutMs < 1) throw cause
      const rest = { ...task, timeoutMs }
      if (isByCount(task) && !task.keepsFirstGroups) return this.#runTop(rest, blocks, signal)
      if (!isOutOfMemory(cause) || !hasEstimates(task)) throw cause
      return this.#run(rest, { isExact: false, blocks }, signal)
    }
  }

  #settings({ timeoutMs, keepsFirstGroups = false }: AggregateTask, blocks: ReadBlocks) {
    const settings = querySettings(timeoutMs, blocks)
    if (keepsFirstGroups) return { ...settings, group_by_overflow_mode: 'any' } as const
    const max_rows_to_group_by = String(this.#groupsMax)
    return { ...settings, max_rows_to_group_by, group_by_overflow_mode: 'throw' } as const
  }

  /** Counts candidates for the largest groups: see `top-groups.ts`. */
  async #runTop(
    task: AggregateTask,
    blocks: ReadBlocks,
    signal: AbortSignal | undefined,
  ): Promise<AggregateResult> {
    const endMs = performance.now() + task.timeoutMs
    const found = await this.#candidates(task, blocks, signal)
    const run = (changes: Partial<AggregateTask>) => {
      const timeoutMs = Math.max(1, endMs - performance.now())
      const isExact = !hasEstimates(task)
      return this.#run({ ...task, ...changes, timeoutMs }, { isExact, blocks }, signal)
    }
    const { keys } = task
    const groups = { keys, texts: found.texts, isIn: true }
    const counted = await run({ groups, hasOthers: false })
    const rows = counted.rows.filter(({ isOthers }) => !isOthers)
    const shown = [...new Set(rows.map(({ group }) => groupText(group)))]
    const others = task.hasOthers
      ? await run({
          groups: { keys, texts: shown, isIn: false },
          keys: keys.filter(({ kind }) => kind === 'bucket'),
        })
      : undefined
    const rest = others?.rows.map((row) => ({ ...row, isOthers: true })) ?? []
    const missed = missedMax(found, task)
    return {
      rows: [...rows, ...rest],
      total: BigInt(found.total),
      groups: Math.round(found.groups),
      isEstimated: true,
      ...(!isCertain(rows, task, missed) && { missedMax: missed }),
      stats: counted.stats,
    }
  }

  async #candidates(
    task: AggregateTask,
    blocks: ReadBlocks,
    signal: AbortSignal | undefined,
  ): Promise<CandidatesRow> {
    return this.#tables.read(task.streams, async (tables) => {
      const params = new SqlParams()
      const sql = candidatesSql(task, params)
      const of = { ...task, columns: sql.columns }
      const branches = unionBranches(of, this.#tables.place, tables, params)
      if (branches === undefined) return { total: '0', groups: 0, texts: [], least: 0 }
      const settings = this.#settings(task, blocks)
      const options = signal && { signal }
      const [row] = await this.#clickhouse.query<CandidatesRow>(
        sql.over(branches),
        params.values,
        settings,
        options,
      )
      return row!
    })
  }

  async #run(
    task: AggregateTask,
    how: Manner,
    signal: AbortSignal | undefined,
  ): Promise<AggregateResult> {
    return this.#tables.read(task.streams, async (tables) => {
      const { counts } = countingOf(task, tables)
      if (counts === undefined) return this.#ask(task, how, tables, signal)
      const all = tablesOf(tables)
      const known = this.#tables.counted
      for (let tries = 1; ; tries++) {
        const counted = await known.find(all)
        const otherServices = known.otherServicesIn(all)
        try {
          return await this.#ask(task, how, { ...tables, counted, otherServices }, signal)
        } catch (cause) {
          if (tries === COUNTS_TRIES_MAX) throw cause
          if (counted.size > 0 && isRefused(cause)) known.distrust(all)
          else if (isOtherService(cause)) known.rememberOtherServices(all)
          else throw cause
        }
      }
    })
  }

  async #ask(
    task: AggregateTask,
    { isExact, blocks }: Manner,
    tables: PresentTables,
    signal: AbortSignal | undefined,
  ): Promise<AggregateResult> {
    const params = new SqlParams()
    const sql = aggregateSql(task, params, isExact)
    const { columns, tail } = sql
    const { counts, settings } = countingOf(task, tables)
    const { groups } = task
    const where = groups && { where: choiceSql(task, groups, params) }
    const of = { ...task, columns, tail, ...(counts && { counts }), ...where }
    const branches = unionBranches(of, this.#tables.place, tables, params)
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
            this.#settings(task, blocks),
            options,
          )
    const sums = sumUp(rows, task)
    // The engine counts the groups of each thread by themselves.
    if (!task.keepsFirstGroups && sums.groups > this.#groupsMax) {
      throw tooManyGroups(this.#groupsMax)
    }
    const read: AggregateRow[] = []
    for (const row of rows) {
      if (read.length % MAIN_SLICE_ROWS === MAIN_SLICE_ROWS - 1) await mainTurns.next()
      read.push(readRow(row, task, sql.placed))
    }
    return { ...sums, rows: read, isEstimated: !isExact, stats }
  }
}

/** Where events may be counted without reading them, and what the engine is told about that. */
function countingOf(
  task: AggregateTask,
  tables: PresentTables,
): { readonly counts?: Counts; readonly settings: string } {
  if (isCountOfAll(task)) return { settings: '' }
  const counts = countsOf(task)
  if (counts === undefined) return { settings: NO_PROJECTIONS }
  return { counts, settings: countsSettings(tables) }
}

/**
 * Only how many events a range has: the engine counts what is in whole granules by itself, in less
 * time than it plans the two or three SELECTs of counts.
 */
function isCountOfAll(task: AggregateTask): boolean {
  const isPlain = ({ fn, field, query }: AggregateTask['aggregates'][number]) => {
    return fn === 'count' && field === undefined && query === undefined
  }
  return (
    task.query.kind === 'all' &&
    task.keys.length === 0 &&
    task.groups === undefined &&
    task.aggregates.every(isPlain) &&
    isPastRemoved(task, task.streams)
  )
}

/** Where all counts are read by themselves, the engine need not look for any. */
function countsSettings(tables: PresentTables): string {
  const all = tablesOf(tables)
  const alone = all.filter((table) => tables.counted?.has(table))
  if (alone.length === 0) return ''
  return alone.length === all.length
    ? `${NO_PROJECTIONS}, ${OWN_SNAPSHOTS}`
    : `SETTINGS ${OWN_SNAPSHOTS}`
}

function readRow(
  row: ResultRow,
  { keys, limit }: AggregateTask,
  placed: ReturnType<typeof aggregateSql>['placed'],
): AggregateRow {
  const fields = keys.filter(({ kind }) => kind !== 'bucket')
  const isOthers = Number(row.rank ?? 0) > limit
  const parts = partValues(row)
  const mark = row.rank === undefined ? '' : '_'
  const group = fields.map((_, index): GroupValue => {
    const kind = GROUP_KINDS[Number(row[`k${index}${mark}`])] ?? 'null'
    return { kind, text: String(row[`t${index}${mark}`] ?? '') }
  })
  return {
    group: isOthers ? [] : group,
    isOthers,
    bucket: row.b === undefined ? undefined : Number(row.b),
    ...(row.total !== undefined && { siblings: Number(row.total) }),
    values: placed.map((one) => finishAggregate(one, parts)),
    leftOut: placed.map(({ at }) => (at.leftOut === undefined ? 0 : Number(parts[at.leftOut]))),
  }
}

function partValues(row: ResultRow): PartValue[] {
  const values: PartValue[] = []
  for (let at = 0; row[`v${at}`] !== undefined; at++) values.push(row[`v${at}`] as PartValue)
  return row.p0 === undefined ? values : [String(row.p0)]
}

/** Without groups one row has them all; without a limit every group is in the rows. */
function sumUp(rows: readonly ResultRow[], { within }: AggregateTask) {
  const count = (row: ResultRow) => BigInt(String(row[`v${ALL_EVENTS}`] ?? row.p0 ?? '0'))
  const [first] = rows
  if (first === undefined) return { total: 0n, groups: 0 }
  if (first.total !== undefined && within === undefined) {
    return { total: BigInt(String(first.total)), groups: Number(first.groups) }
  }
  const total = rows.reduce((sum, row) => sum + count(row), 0n)
  if (first.places === undefined) return { total, groups: rows.length }
  return { total, groups: Math.max(...rows.map((row) => Number(row.places))) }
}

/** Whether no group that is missing can be larger than those in the rows. */
function isCertain(
  rows: readonly AggregateRow[],
  { order, limit, keys }: AggregateTask,
  missed: number,
): boolean {
  const counts = new Map<string, number>()
  for (const { group, values } of rows) {
    const text = groupText(group)
    counts.set(text, (counts.get(text) ?? 0) + Number(values[order.index]))
  }
  if (keys.length === 0 || counts.size < limit) return missed < 1
  return Math.min(...counts.values()) >= missed
}

function hasEstimates({ aggregates }: AggregateTask): boolean {
  return aggregates.some(({ fn }) => fn === 'uniq' || fn === 'quantile' || isQuantile(fn))
}
