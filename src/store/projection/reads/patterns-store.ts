/**
 * The patterns of matching events: how often each occurs, in the range and in one to compare with,
 * its levels, by time, and a late event of it; by one scan of the columns. Then the texts of these
 * events, of the patterns that are told.
 */

import { IngestError } from '../../../errors.ts'
import type { Query } from '../../../language/query-tree.ts'
import type { TimeBasis } from '../../../model/aggregates.ts'
import { LEVELS } from '../../../model/event-labels.ts'
import type { SourceStream } from '../../../model/field-catalog.ts'
import { isFieldPath } from '../../../model/field-path.ts'
import { clampNs } from '../../../model/int64.ts'
import { PATTERN_BYTES_MAX } from '../../../model/patterns/text-pattern.ts'
import { type SegmentId, segmentIdMs } from '../../../model/segment-id.ts'
import type { NodeMarks } from '../../../model/segment-place.ts'
import type { ClickHouse } from '../../clickhouse.ts'
import type { PresentTables, ProjectionTables } from '../compile/projection-tables.ts'
import {
  type RowSourceOptions,
  type UnionBranch,
  unionBranches,
  unionOf,
} from '../compile/row-source.ts'
import { SqlParams } from '../compile/sql-params.ts'
import { dynamicColumn } from '../compile/typed-column.ts'
import { isTooManyGroups, querySettings, toQueryError } from '../query-bounds.ts'

/** Different patterns of one query, those that are not told included. */
export const PATTERNS_GROUPS_MAX = 2_000_000
/** Text fields that texts are looked for in. */
const TEXT_PATHS_MAX = 48
const ALL = { kind: 'all', start: 0, end: 0 } as const

export const PATTERN_SORTS = ['count', 'new', 'growth'] as const
export type PatternSort = (typeof PATTERN_SORTS)[number]

interface Range {
  /** Nanoseconds since 1970, half-open. */
  readonly fromNs: bigint
  readonly toNs: bigint
}

export interface PatternsTask extends Range {
  readonly streams: readonly SourceStream[]
  readonly query: Query
  /** See `RowSourceOptions`. */
  readonly observed?: NodeMarks
  readonly timeBasis: TimeBasis
  /** A range to compare with. */
  readonly baseline: Range | undefined
  readonly sort: PatternSort
  /** How many patterns are told of, the first by `sort`. */
  readonly limit: number
  /** Equal parts of the range in which events are counted. */
  readonly steps: number
  readonly timeoutMs: number
}

export interface CountedPattern {
  /** 16 hex digits. */
  readonly id: string
  readonly count: number
  /** In the range to compare with. */
  readonly before: number
  readonly firstNs: bigint
  readonly lastNs: bigint
  /** By level, in the order of `LEVELS`. */
  readonly levels: readonly number[]
  /** By step of the range; all 0 where there are too many patterns to count so. */
  readonly steps: readonly number[]
  /** One event of it, late in the range. */
  readonly streamId: string
  readonly segmentId: SegmentId
  readonly ordinal: number
}

export interface PatternsResult {
  readonly patterns: readonly CountedPattern[]
  /** All events that match, those without a pattern included; and those alone. */
  readonly events: number
  readonly without: number
  /** All in the range to compare with. */
  readonly before: number
  /** Different patterns in the range. */
  readonly distinct: number
}

interface PatternRow {
  readonly id: string
  readonly c: number
  readonly b: number
  readonly first: string
  readonly last: string
  readonly levels: Counts
  readonly steps: Counts
  readonly event: readonly [segment: string, ordinal: number, stream: number]
  readonly events: number
  readonly before: number
  readonly without: number
  readonly found: number
}

type Counts = readonly [keys: readonly number[], counts: readonly number[]]

const NONE = '0'.repeat(16)
const HEX = (sql: string) => `leftPad(lower(hex(${sql})), 16, '0')`
const NS = (sql: string) => `toString(toUnixTimestamp64Nano(CAST(${sql}, 'DateTime64(9)')))`

export class PatternsStore {
  readonly #clickhouse: ClickHouse
  readonly #tables: ProjectionTables

  constructor(clickhouse: ClickHouse, tables: ProjectionTables) {
    this.#clickhouse = clickhouse
    this.#tables = tables
  }

  /** Throws and ends as `AggregateStore.run` does. */
  async run(task: PatternsTask, signal?: AbortSignal): Promise<PatternsResult> {
    try {
      return toResult(await this.#count(task, signal), task)
    } catch (cause) {
      if (!isTooManyGroups(cause) || task.steps === 1) throw cause
      // Without the steps there are fewer.
      return this.run({ ...task, steps: 1 }, signal)
    }
  }

  #count(task: PatternsTask, signal: AbortSignal | undefined): Promise<PatternRow[]> {
    return this.#query<PatternRow>(task, signal, (tables, params) => {
      const branches = [task, ...(task.baseline ? [task.baseline] : [])].flatMap((range, base) => {
        const step = base === 0 ? stepSql(task, params) : '0'
        const columns = ({ stream }: Pick<UnionBranch, 'stream'>) =>
          `pattern, ${LEVEL_CODE} AS code, toUInt8(${step}) AS step, toUInt8(${base}) AS base,
           ${task.timeBasis} AS at, segment_id, ordinal, toUInt32(${stream}) AS stream`
        const options = { ...task, ...range, columns, readsIds: true }
        return unionBranches(options, this.#tables.place, tables, params) ?? []
      })
      return branches.length === 0 ? undefined : patternsSql(unionOf(branches), task, params)
    })
  }

  /** By pattern, the strings in text fields of its event. */
  async texts(
    task: PatternsTask,
    patterns: readonly CountedPattern[],
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    if (patterns.length === 0) return new Map()
    const rows = await this.#query<{ id: string; texts: string[] }>(
      task,
      signal,
      (tables, params) => {
        const where = placesSql(patterns, params)
        const texts = textColumns(task.streams).map((sql) => {
          return `substringUTF8(ifNull(${sql}, ''), 1, ${PATTERN_BYTES_MAX + 1})`
        })
        const columns = () => `${HEX('pattern')} AS id, [${texts.join(', ')}] AS texts`
        const options = { ...task, query: ALL, columns, where: () => where, readsIds: true }
        return selectAll(this.#branches(options, tables, params), 'id, texts')
      },
    )
    return new Map(rows.map(({ id, texts }) => [id, texts.filter((text) => text !== '')]))
  }

  #branches(
    options: RowSourceOptions,
    tables: PresentTables,
    params: SqlParams,
  ): string | undefined {
    const branches = unionBranches(options, this.#tables.place, tables, params)
    return branches && unionOf(branches)
  }

  async #query<Row>(
    task: PatternsTask,
    signal: AbortSignal | undefined,
    makeSql: (tables: PresentTables, params: SqlParams) => string | undefined,
  ): Promise<Row[]> {
    try {
      return await this.#tables.read(task.streams, async (tables) => {
        const params = new SqlParams()
        const sql = makeSql(tables, params)
        if (sql === undefined) return []
        return this.#tables.memory.run(task.streams, task.timeoutMs, (blocks, leftMs) => {
          const groups = { max_rows_to_group_by: String(PATTERNS_GROUPS_MAX) }
          const settings = { ...querySettings(leftMs, blocks), ...groups }
          return this.#clickhouse.query<Row>(sql, params.values, settings, signal && { signal })
        })
      })
    } catch (cause) {
      if (isTooManyGroups(cause)) throw task.steps === 1 ? tooManyPatterns() : cause
      throw toQueryError(cause, task)
    }
  }
}

function tooManyPatterns(): IngestError {
  const limit = `PATTERNS_GROUPS_MAX (${PATTERNS_GROUPS_MAX})`
  return new IngestError(
    'malformed',
    `the events have more patterns than ${limit}; narrow the query or its time range`,
  )
}

/** A number of the level, found once for each level and not for each row. */
const LEVEL_CODE = `transform(level, ['${LEVELS.join("', '")}'],
  [${LEVELS.map((_, index) => index + 1).join(', ')}], 0)`

/** In which step of the range a row is. */
function stepSql({ timeBasis, fromNs, toNs, steps }: PatternsTask, params: SqlParams): string {
  if (steps === 1) return '0'
  // Receipt is known to the millisecond.
  const isReceipt = timeBasis === 'ingested_at'
  const unit = isReceipt ? 1_000_000n : 1n
  const number = isReceipt ? 'toUnixTimestamp64Milli' : 'toUnixTimestamp64Nano'
  const from = params.add('Int64', String(clampNs(fromNs) / unit))
  const size = (clampNs(toNs) - clampNs(fromNs)) / unit / BigInt(steps) + 1n
  return `intDiv(${number}(${timeBasis}) - ${from}, ${params.add('Int64', String(size))})`
}

/**
 * Rows are grouped by all that is told, then groups are put together, of which there are few. The
 * row of events without a pattern is the last, and all rows know the sums.
 */
function patternsSql(branches: string, task: PatternsTask, params: SqlParams): string {
  const { baseline, sort, limit } = task
  const ratio = params.add('Float64', baseline === undefined ? 0 : lengthsRatio(task, baseline))
  const orders = {
    count: 'c DESC',
    new: 'b = 0 DESC, c DESC',
    growth: `(c - b * ${ratio}) / sqrt(b * ${ratio} + 1) DESC, c DESC`,
  }
  return `SELECT ${HEX('p')} AS id, c, b, ${NS('least')} AS first, ${NS('most')} AS last, levels,
      steps, event, sum(c) OVER () AS events, sum(b) OVER () AS before,
      sumIf(c, p = 0) OVER () AS without, countIf(c > 0 AND p != 0) OVER () AS found
    FROM (
      SELECT pattern AS p, sumIf(n, base = 0) AS c, sumIf(n, base = 1) AS b,
        minIf(first_at, base = 0) AS least, maxIf(last_at, base = 0) AS most,
        sumMapIf([code], [n], base = 0) AS levels, sumMapIf([step], [n], base = 0) AS steps,
        argMaxIf((toString(segment), ord, of_stream), segment, base = 0) AS event
      FROM (
        SELECT pattern, code, step, base, count() AS n, min(at) AS first_at, max(at) AS last_at,
          anyLast(segment_id) AS segment, anyLast(ordinal) AS ord, anyLast(stream) AS of_stream
        FROM ${branches} GROUP BY pattern, code, step, base
      ) GROUP BY pattern
    ) ORDER BY c = 0, p = 0, ${orders[sort]}, p LIMIT ${params.add('UInt64', limit + 1)}`
}

function toResult(rows: readonly PatternRow[], { steps }: PatternsTask): PatternsResult {
  const [first] = rows
  const told = rows.filter(({ id, c }) => id !== NONE && c > 0)
  return {
    patterns: told.map((row) => ({
      id: row.id,
      count: row.c,
      before: row.b,
      firstNs: BigInt(row.first),
      lastNs: BigInt(row.last),
      levels: listOf(row.levels, LEVELS.length + 1).slice(1),
      steps: listOf(row.steps, steps),
      segmentId: BigInt(row.event[0]) as SegmentId,
      ordinal: row.event[1],
      streamId: String(row.event[2]),
    })),
    events: first?.events ?? 0,
    before: first?.before ?? 0,
    without: first?.without ?? 0,
    distinct: first?.found ?? 0,
  }
}

function listOf([keys, counts]: Counts, length: number): readonly number[] {
  const list = new Array<number>(length).fill(0)
  for (const [at, key] of keys.entries()) list[Math.min(key, length - 1)]! += counts[at]!
  return list
}

/** What events of the range to compare with stand for in the other. */
export function lengthsRatio(range: Range, baseline: Range): number {
  const length = ({ fromNs, toNs }: Range) => Number(toNs - fromNs)
  return length(range) / length(baseline)
}

/** Rows of these events alone, found by the primary key. */
function placesSql(patterns: readonly CountedPattern[], params: SqlParams): string {
  const times = [...new Set(patterns.map(({ segmentId }) => segmentIdMs(segmentId)))]
  const ids = params.add(
    'Array(UInt64)',
    patterns.map(({ segmentId }) => segmentId),
  )
  const ordinals = params.add(
    'Array(UInt32)',
    patterns.map(({ ordinal }) => ordinal),
  )
  const ms = params.add('Array(Int64)', times)
  return `ingested_at IN (SELECT fromUnixTimestamp64Milli(arrayJoin(${ms}), 'UTC'))
    AND (segment_id, ordinal) IN (SELECT arrayJoin(arrayZip(${ids}, ${ordinals})))`
}

/**
 * Strings of the text fields that are known; where none is, of those at the event's root. Each path
 * costs something in each row that is read, there or not.
 */
function textColumns(streams: readonly SourceStream[]): readonly string[] {
  const paths = streams.flatMap(({ catalog: { textPaths, textFields } }) => {
    const known = textPaths.filter((path) => !path.includes('[]'))
    return known.length > 0 ? known : textFields
  })
  const some = [...new Set(paths)].filter(isFieldPath).slice(0, TEXT_PATHS_MAX)
  return some.map((path) => `${dynamicColumn([path])!.sql}.:String`)
}

function selectAll(branches: string | undefined, columns: string): string | undefined {
  return branches && `SELECT ${columns} FROM ${branches}`
}
