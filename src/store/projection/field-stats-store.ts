/** Statistics of one field over the projection: how often, which values, how large. */
import type { SegmentId } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { type Leg, ProjectionLegs, selectLegs } from './projection-legs.ts'
import {
  type CountGroup,
  clampNs,
  fieldColumn,
  type GroupKind,
  QUERY_SETTINGS,
  type ReadRemovedBefore,
  rangeSql,
  removedParams,
  throwQueryFailure,
} from './query-store.ts'

export interface FieldStatsQuery {
  readonly streamId: StreamId
  /** Precondition: `isFieldPath`. */
  readonly path: string
  readonly timeBasis: 'ingested_at' | 'event_time'
  /** Nanoseconds since 1970, half-open. */
  readonly fromNs: bigint
  readonly toNs: bigint
  /** How many of the most frequent values. */
  readonly top: number
}

const QUANTILES = [0.5, 0.9, 0.95, 0.99] as const

export interface NumberStats {
  readonly count: number
  readonly min: number
  readonly max: number
  readonly average: number
  readonly quantiles: readonly { readonly quantile: number; readonly value: number }[]
}

export interface FieldStats {
  /** Events of the time range, with the field and without. */
  readonly events: number
  /** Events that have a value at the path: not absent, null or an object. */
  readonly count: number
  /** Different values, estimated. */
  readonly distinct: number
  /** Undefined when no value is a number. */
  readonly numbers: NumberStats | undefined
  /** The most frequent first. */
  readonly top: readonly CountGroup[]
}

/** Characters of a value's text; of a longer one the beginning is shown and counted. */
const VALUE_CHARS_MAX = 1_024

export class FieldStatsStore {
  readonly #clickhouse: ClickHouse
  readonly #legs: ProjectionLegs
  readonly #readRemovedBefore: ReadRemovedBefore

  /** `readRemovedBefore`: as of `QueryStore`. */
  constructor(
    clickhouse: ClickHouse,
    database: string,
    readRemovedBefore: ReadRemovedBefore = async () => 0n as SegmentId,
  ) {
    this.#clickhouse = clickhouse
    this.#legs = new ProjectionLegs(clickhouse, database)
    this.#readRemovedBefore = readRemovedBefore
  }

  /** A stream without a table has no events. Throws `unavailable` when it takes too much. */
  async read(query: FieldStatsQuery, signal?: AbortSignal): Promise<FieldStats> {
    const params = {
      ...this.#legs.params(query.streamId),
      from: String(clampNs(query.fromNs)),
      to: String(clampNs(query.toNs)),
      top: String(query.top),
      ...removedParams(await this.#readRemovedBefore(query.streamId)),
    }
    // Past QUERY_DISTINCT_MAX values those met by then go on being counted.
    const settings = { ...QUERY_SETTINGS, group_by_overflow_mode: 'any' as const }
    const options = signal && { signal }
    try {
      const rows = await this.#legs.read(query.streamId, (legs) =>
        Promise.all([
          this.#clickhouse.query<TotalsRow>(totalsSql(query, legs), params, settings, options),
          this.#clickhouse.query<TopRow>(topSql(query, legs), params, settings, options),
        ]),
      )
      const [totals, top] = rows ?? [[], []]
      return { ...toTotals(totals[0]), top }
    } catch (cause) {
      throwQueryFailure(cause)
      return { ...toTotals(undefined), top: [] }
    }
  }
}

interface TotalsRow {
  readonly events: number
  readonly count: number
  readonly distinct: number
  readonly numbers: number
  /** Not finite ones are null in JSON. */
  readonly min: number | null
  readonly max: number | null
  readonly average: number | null
  readonly quantiles: readonly (number | null)[]
}

interface TopRow {
  readonly kind: GroupKind
  readonly text: string
  readonly count: number
}

/**
 * ClickHouse refuses to aggregate values of any type, so numbers are read by the types that they
 * are stored with. A subcolumn of another type than the value's is null.
 */
function totalsSql(query: FieldStatsQuery, legs: readonly Leg[]): string {
  const column = fieldColumn(query.path)
  const numbers = ['Int64', 'UInt64', 'Float64'].map((type) => `toFloat64(${column}.:${type})`)
  const columns = `dynamicType(${column}) AS type, ifNull(toString(${column}), '') AS text,
    coalesce(${numbers.join(', ')}) AS number`
  return `SELECT count() AS events, countIf(type != 'None') AS count,
      uniqCombinedIf((type, text), type != 'None') AS distinct, count(number) AS numbers,
      min(number) AS min, max(number) AS max, avg(number) AS average,
      quantilesTDigest(${QUANTILES.join(', ')})(number) AS quantiles
    FROM (${selectLegs(legs, columns, rangeSql(query))})`
}

function topSql(query: FieldStatsQuery, legs: readonly Leg[]): string {
  const column = fieldColumn(query.path)
  const kind = `multiIf(type = 'String', 'string', type = 'Bool', 'boolean',
    match(type, '^(Int|UInt|Float)[0-9]+$'), 'number', 'other')`
  const columns = `dynamicType(${column}) AS type,
    substringUTF8(ifNull(toString(${column}), ''), 1, ${VALUE_CHARS_MAX}) AS text`
  return `SELECT ${kind} AS kind, text, count() AS count
    FROM (${selectLegs(legs, columns, `${rangeSql(query)} AND type != 'None'`)})
    GROUP BY kind, text ORDER BY count DESC, kind, text LIMIT {top:UInt64}`
}

function toTotals(row: TotalsRow | undefined): Omit<FieldStats, 'top'> {
  if (row === undefined) return { events: 0, count: 0, distinct: 0, numbers: undefined }
  const { events, count, distinct, numbers, min, max, average, quantiles } = row
  if (numbers === 0 || min === null || max === null || average === null) {
    return { events, count, distinct, numbers: undefined }
  }
  const named = QUANTILES.map((quantile, at) => ({ quantile, value: quantiles[at] ?? 0 }))
  return {
    events,
    count,
    distinct,
    numbers: { count: numbers, min, max, average, quantiles: named },
  }
}
