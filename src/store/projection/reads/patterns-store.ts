/**
 * The patterns of matching events: how often each occurs, in the range and in one to compare with,
 * its levels, and its newest event; by one scan of the columns. Then, of those that are told: texts
 * of these events, and counts by time.
 */

import { IngestError } from '../../../errors.ts'
import type { Query } from '../../../language/query-tree.ts'
import type { TimeBasis } from '../../../model/aggregates.ts'
import { LEVELS } from '../../../model/event-labels.ts'
import type { SourceStream } from '../../../model/field-catalog.ts'
import { isFieldPath } from '../../../model/field-path.ts'
import { PATTERN_BYTES_MAX } from '../../../model/patterns/text-pattern.ts'
import { type SegmentId, segmentIdMs } from '../../../model/segment-id.ts'
import type { NodeMarks } from '../../../model/segment-place.ts'
import type { ClickHouse } from '../../clickhouse.ts'
import type { PresentTables, ProjectionTables } from '../compile/projection-tables.ts'
import { type RowSourceOptions, unionBranches, unionOf } from '../compile/row-source.ts'
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
  /** One event of it, of the newest segment that has one. */
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
  readonly levels: readonly number[]
  readonly stream: number
  readonly segment: string
  readonly ord: number
  readonly events: number
  readonly before: number
  readonly without: number
  readonly found: number
}

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
    const rows = await this.#query<PatternRow>(task, signal, (tables, params) => {
      const source = (range: Range, isBase: boolean) => {
        const columns = ({ stream }: { readonly stream: string }) =>
          `pattern, level, segment_id, ordinal, toUInt32(${stream}) AS stream,
           ${task.timeBasis} AS at, ${isBase ? 1 : 0} AS base`
        const options = { ...task, ...range, columns, readsIds: true }
        return unionBranches(options, this.#tables.place, tables, params) ?? []
      }
      const branches = [
        ...source(task, false),
        ...(task.baseline ? source(task.baseline, true) : []),
      ]
      return branches.length === 0 ? undefined : patternsSql(unionOf(branches), task, params)
    })
    const [first] = rows
    const told = rows.filter(({ id, c }) => id !== NONE && c > 0)
    return {
      patterns: told.map((row) => ({
        id: row.id,
        count: row.c,
        before: row.b,
        firstNs: BigInt(row.first),
        lastNs: BigInt(row.last),
        levels: row.levels,
        streamId: String(row.stream),
        segmentId: BigInt(row.segment) as SegmentId,
        ordinal: row.ord,
      })),
      events: first?.events ?? 0,
      before: first?.before ?? 0,
      without: first?.without ?? 0,
      distinct: first?.found ?? 0,
    }
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

  /** By pattern, how many events are in each of equal steps of the range. */
  async counts(
    task: PatternsTask,
    patterns: readonly CountedPattern[],
    steps: number,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly number[]>> {
    if (patterns.length === 0) return new Map()
    const rows = await this.#query<{ id: string; counts: [number, number][] }>(
      task,
      signal,
      (tables, params) => {
        const ids = patterns.map(({ id }) => BigInt(`0x${id}`))
        const where = `pattern IN (${params.add('Array(UInt64)', ids)})`
        const from = params.add('Int64', String(task.fromNs))
        const size = params.add('Int64', String((task.toNs - task.fromNs) / BigInt(steps) + 1n))
        const ns = `toUnixTimestamp64Nano(CAST(${task.timeBasis}, 'DateTime64(9)'))`
        const columns = () => `pattern, toUInt8(intDiv(${ns} - ${from}, ${size})) AS step`
        const branches = this.#branches({ ...task, columns, where: () => where }, tables, params)
        const inner =
          branches &&
          `SELECT pattern, step, count() AS c FROM ${branches}
          GROUP BY pattern, step`
        return (
          inner &&
          `SELECT ${HEX('pattern')} AS id, groupArray((step, c)) AS counts
          FROM (${inner}) GROUP BY pattern`
        )
      },
    )
    return new Map(
      rows.map(({ id, counts }) => {
        const all = new Array<number>(steps).fill(0)
        for (const [step, count] of counts) all[Math.min(step, steps - 1)]! += count
        return [id, all]
      }),
    )
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
      if (isTooManyGroups(cause)) throw tooManyPatterns()
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

/** The row of events without a pattern is the last, and all rows know the sums. */
function patternsSql(branches: string, task: PatternsTask, params: SqlParams): string {
  const { baseline, sort, limit } = task
  const inRange = baseline === undefined ? '' : 'base = 0'
  const only = (fn: string, args = '') => {
    if (inRange === '') return `${fn}(${args})`
    return `${fn}If(${args === '' ? '' : `${args}, `}${inRange})`
  }
  const levels = LEVELS.map((level) => {
    return `countIf(level = '${level}'${inRange === '' ? '' : ` AND ${inRange}`})`
  })
  const score = params.add('Float64', baseline === undefined ? 0 : lengthsRatio(task, baseline))
  const orders = {
    count: 'c DESC',
    new: 'b = 0 DESC, c DESC',
    growth: `(c - b * ${score}) / sqrt(b * ${score} + 1) DESC, c DESC`,
  }
  return `SELECT ${HEX('p')} AS id, c, b, ${NS('least')} AS first, ${NS('most')} AS last, levels,
      stream_of AS stream, toString(segment) AS segment, ord,
      sum(c) OVER () AS events, sum(b) OVER () AS before, sumIf(c, p = 0) OVER () AS without,
      countIf(c > 0 AND p != 0) OVER () AS found
    FROM (
      SELECT pattern AS p, ${only('count')} AS c,
        ${baseline === undefined ? '0' : 'countIf(base = 1)'} AS b,
        ${only('min', 'at')} AS least, ${only('max', 'at')} AS most,
        ${only('max', 'segment_id')} AS segment, ${only('argMax', 'ordinal, segment_id')} AS ord,
        ${only('argMax', 'stream, segment_id')} AS stream_of, [${levels.join(', ')}] AS levels
      FROM ${branches} GROUP BY pattern
    ) ORDER BY c = 0, p = 0, ${orders[sort]}, p LIMIT ${params.add('UInt64', limit + 1)}`
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

/** Strings of the text fields that are known, and of those at the event's root. */
function textColumns(streams: readonly SourceStream[]): readonly string[] {
  const known = streams.flatMap(({ catalog }) => [...catalog.textPaths])
  const atRoot = streams.flatMap(({ catalog }) => catalog.textFields)
  const paths = [...new Set([...known, ...atRoot])].filter(isFieldPath).slice(0, TEXT_PATHS_MAX)
  return paths.map((path) => `${dynamicColumn([path])!.sql}.:String`)
}

function selectAll(branches: string | undefined, columns: string): string | undefined {
  return branches && `SELECT ${columns} FROM ${branches}`
}
