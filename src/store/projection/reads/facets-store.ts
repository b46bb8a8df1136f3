/**
 * The most frequent values of several fields, by one scan of their columns: each event gives a
 * kind and a text for each field, and those are counted. Past FACET_EVENTS_MAX events the newest
 * stand for all.
 */
import type { Query } from '../../../language/query-tree.ts'
import { FACET_EVENTS_MAX, FACET_VALUE_CHARS_MAX } from '../../../limits.ts'
import {
  type FieldRef,
  GROUP_KINDS,
  type GroupValue,
  type TimeBasis,
} from '../../../model/aggregates.ts'
import type { SourceStream } from '../../../model/field-catalog.ts'
import type { NodeMarks } from '../../../model/segment-place.ts'
import type { ClickHouse } from '../../clickhouse.ts'
import type { ProjectionTables } from '../compile/projection-tables.ts'
import { rowSource, type UnionBranch } from '../compile/row-source.ts'
import { SqlParams } from '../compile/sql-params.ts'
import { querySettings, toQueryError } from '../query-bounds.ts'
import { legKey } from './group-columns.ts'

export interface FacetsTask {
  readonly streams: readonly SourceStream[]
  readonly query: Query
  /** See `RowSourceOptions`. */
  readonly observed?: NodeMarks
  readonly timeBasis: TimeBasis
  /** Nanoseconds since 1970, half-open. */
  readonly fromNs: bigint
  readonly toNs: bigint
  readonly fields: readonly FieldRef[]
  /** Values of each field. */
  readonly limit: number
  readonly timeoutMs: number
}

export interface Facet {
  /** The most frequent first. */
  readonly values: readonly { readonly value: GroupValue; readonly count: number }[]
  /** Events that have a value. */
  readonly present: number
  readonly distinct: number
}

export interface FacetsResult {
  /** One for each field, in their order; none when no event matches. */
  readonly facets: readonly Facet[]
  /** Events that were looked at. */
  readonly events: number
  /** Of the newest events, when these stand for all: the oldest one's time. */
  readonly oldestNs: bigint | undefined
}

interface FacetRow {
  readonly f: number
  readonly k: number
  readonly t: string
  readonly c: number
  readonly present: number
  readonly found: number
  readonly events: number
  readonly oldest: string
}

export class FacetsStore {
  readonly #clickhouse: ClickHouse
  readonly #tables: ProjectionTables

  constructor(clickhouse: ClickHouse, tables: ProjectionTables) {
    this.#clickhouse = clickhouse
    this.#tables = tables
  }

  /** Throws and ends as `AggregateStore.run` does. */
  async run(task: FacetsTask, signal?: AbortSignal): Promise<FacetsResult> {
    try {
      const rows = await this.#tables.read(task.streams, async (tables) => {
        const params = new SqlParams()
        const columns = (branch: UnionBranch) => facetColumns(task, branch)
        const branches = rowSource({ ...task, columns }, this.#tables.place, tables, params)
        if (branches === undefined) return []
        const sql = facetsSql(branches, params.add('UInt64', task.limit + 1))
        return this.#tables.memory.run(task.streams, task.timeoutMs, (blocks, leftMs) => {
          const settings = { ...querySettings(leftMs, blocks), ...groupsOf(task) }
          const options = signal && { signal }
          return this.#clickhouse.query<FacetRow>(sql, params.values, settings, options)
        })
      })
      return toResult(rows, task)
    } catch (cause) {
      throw toQueryError(cause, task)
    }
  }
}

/** The values of each field are bounded by the events: more groups than that cannot be. */
function groupsOf({ fields }: FacetsTask) {
  return { max_rows_to_group_by: String(fields.length * FACET_EVENTS_MAX) }
}

/** `ignore` is only there to define the aliases; it is no column of the answer. */
function facetColumns({ fields, timeBasis }: FacetsTask, branch: UnionBranch): string {
  const keys = fields.map((field, index) => {
    return legKey(field, branch, {
      alias: `g${index}`,
      isOneOfMany: false,
      params: new SqlParams(),
    })
  })
  const aliases = keys.flatMap(({ groupBy }) => groupBy)
  const values = keys.map(({ kind, text }, index) => {
    return `(toUInt8(${index}), ${kind}, substringUTF8(${text}, 1, ${FACET_VALUE_CHARS_MAX}))`
  })
  return `ignore(${aliases.join(', ')}) AS unused, [${values.join(', ')}] AS e, ${timeBasis} AS at`
}

/** One value more than is returned: the row of events without a value may be among them. */
function facetsSql(branches: string, limit: string): string {
  return `SELECT f, k, t, count() AS c,
      sum(if(k = 0, 0, count())) OVER (PARTITION BY f) AS present,
      sum(if(k = 0, 0, 1)) OVER (PARTITION BY f) AS found,
      sum(count()) OVER (PARTITION BY f) AS events,
      toString(toUnixTimestamp64Nano(CAST(min(min(at)) OVER (), 'DateTime64(9)'))) AS oldest
    FROM (
      SELECT arrayJoin(e) AS one, one.1 AS f, one.2 AS k, one.3 AS t, at
      FROM (SELECT e, at FROM ${branches} ORDER BY at DESC LIMIT ${FACET_EVENTS_MAX})
    ) GROUP BY f, k, t ORDER BY f, k = 0, c DESC, k, t LIMIT ${limit} BY f`
}

function toResult(rows: readonly FacetRow[], { fields, limit }: FacetsTask): FacetsResult {
  const facets = fields.map((_, index): Facet => {
    const own = rows.filter(({ f }) => f === index)
    const values = own
      .filter(({ k }) => k !== 0)
      .slice(0, limit)
      .map(({ k, t, c }) => ({ value: { kind: GROUP_KINDS[k] ?? 'null', text: t }, count: c }))
    return { values, present: own[0]?.present ?? 0, distinct: own[0]?.found ?? 0 }
  })
  const [first] = rows
  const events = first?.events ?? 0
  const isSampled = first !== undefined && events >= FACET_EVENTS_MAX
  return { facets, events, oldestNs: isSampled ? BigInt(first.oldest) : undefined }
}
