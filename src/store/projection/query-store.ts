/** Queries over the projection tables in ClickHouse: counts by field, and how much they hold. */
import { setTimeout as delay } from 'node:timers/promises'
import { IngestError } from '../../errors.ts'
import { QUERY_MS_MAX } from '../../limits.ts'
import { quoteFieldPath } from '../../model/field-path.ts'
import {
  type FieldFilter,
  type FieldValue,
  INT64_MAX,
  INT64_MIN,
  readNumber,
  UINT64_MAX,
} from '../../model/field-value.ts'
import { type SegmentId, segmentIdMs } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { StoreError } from '../store-error.ts'
import { type Leg, ProjectionLegs, selectLegs, UNKNOWN_DATABASE } from './projection-legs.ts'
import { UNKNOWN_TABLE } from './projection-store.ts'

export interface CountQuery {
  readonly streamId: StreamId
  readonly timeBasis: 'ingested_at' | 'event_time'
  /** Nanoseconds since 1970, half-open. */
  readonly fromNs: bigint
  readonly toNs: bigint
  readonly filter: FieldFilter | undefined
  readonly groupBy: string | undefined
  readonly limit: number
}

export const GROUP_KINDS = ['string', 'number', 'boolean', 'null', 'other'] as const
export type GroupKind = (typeof GROUP_KINDS)[number]

export interface CountGroup {
  readonly kind: GroupKind
  /** A number or boolean as ClickHouse writes it; empty for null. */
  readonly text: string
  readonly count: number
}

export interface CountResult {
  /** Largest first; empty without `groupBy`. */
  readonly groups: readonly CountGroup[]
  /** All events that match, also those of groups past the limit. */
  readonly total: number
  /** Rows that ClickHouse looked at to answer: those that match or not, in whole granules. */
  readonly rowsRead: number
}

/** Distinct values that one query may count; more would cost memory without bound. */
export const QUERY_DISTINCT_MAX = 1_000_000
/** Bytes of all group values of one answer. */
export const QUERY_RESULT_BYTES_MAX = 16 * 1024 * 1024
const QUERY_MEMORY_BYTES_MAX = 1024 ** 3
const PROJECTION_BYTES_MS_MAX = 2_000

/** What any query may cost; one that groups says what is to happen past the distinct values. */
export const QUERY_SETTINGS = {
  max_execution_time: QUERY_MS_MAX / 1_000,
  max_memory_usage: String(QUERY_MEMORY_BYTES_MAX),
  max_rows_to_group_by: String(QUERY_DISTINCT_MAX),
  max_result_bytes: String(QUERY_RESULT_BYTES_MAX),
  output_format_json_quote_64bit_integers: 0,
  // When our client goes away we do, and the server is to stop. It heeds that of readers alone.
  readonly: '2',
  cancel_http_readonly_queries_on_client_close: 1,
} as const

const TOO_MANY_ROWS = 158
const TIMEOUT_EXCEEDED = 159
const TOO_MANY_ROWS_OR_BYTES = 396
const MEMORY_LIMIT_EXCEEDED = 241

/** A stream's mark: segments below it are removed, though their rows may still be here. */
export type ReadRemovedBefore = (streamId: StreamId) => Promise<SegmentId>

export class QueryStore {
  readonly #clickhouse: ClickHouse
  readonly #legs: ProjectionLegs
  readonly #readRemovedBefore: ReadRemovedBefore

  constructor(
    clickhouse: ClickHouse,
    database: string,
    readRemovedBefore: ReadRemovedBefore = async () => 0n as SegmentId,
  ) {
    this.#clickhouse = clickhouse
    this.#legs = new ProjectionLegs(clickhouse, database)
    this.#readRemovedBefore = readRemovedBefore
  }

  /**
   * Precondition: the fields pass `isFieldPath`. A stream without a table has no events. Throws
   * `malformed` for a query that asks for too much, `unavailable` when there is no answer in time.
   * `signal` ends the query.
   */
  async count(query: CountQuery, signal?: AbortSignal): Promise<CountResult> {
    const removedBefore = await this.#readRemovedBefore(query.streamId)
    const params = buildParams(query, {
      ...this.#legs.params(query.streamId),
      ...removedParams(removedBefore),
    })
    const settings = { ...QUERY_SETTINGS, group_by_overflow_mode: 'throw' as const }
    let rowsRead = 0
    const onRowsRead = (rows: number) => {
      rowsRead = rows
    }
    const options = { onRowsRead, ...(signal && { signal }) }
    try {
      const rows = await this.#legs.read(query.streamId, (legs) => {
        const sql = buildCount(query, legs, params)
        return this.#clickhouse.query<CountRow>(sql, params, settings, options)
      })
      return toResult(rows ?? [], query, rowsRead)
    } catch (cause) {
      throwQueryFailure(cause)
      return { groups: [], total: 0, rowsRead: 0 }
    }
  }

  /**
   * Bytes on disk of the stream's table and its share, by rows, of the shared one; null when
   * ClickHouse does not answer at once.
   */
  readonly readProjectionBytes = async (streamId: StreamId): Promise<number | null> => {
    const signal = AbortSignal.timeout(PROJECTION_BYTES_MS_MAX)
    // The signal ends the request; the race ends our wait even if the client does not heed it.
    const late = delay(PROJECTION_BYTES_MS_MAX, null, { ref: false })
    const read = this.#legs.read(streamId, async (legs) => {
      const params = this.#legs.params(streamId)
      const rows = await this.#clickhouse.query<BytesRow>(bytesSql(legs), params, {}, { signal })
      return rows[0]?.bytes ?? 0
    })
    try {
      return await Promise.race([read.then((bytes) => bytes ?? 0), late])
    } catch (cause) {
      if (cause instanceof StoreError) return null
      throw cause
    }
  }
}

/** A row of the shared table counts with the mean of all: what one takes is not told. */
function bytesSql(legs: readonly Leg[]): string {
  const parts = `FROM system.parts AS p WHERE active AND database = {database:String} AND table =`
  const share = `(SELECT count() FROM (${selectLegs(['mixed'], 'ordinal', 'true')}))
      * ifNotFinite((SELECT sum(bytes_on_disk) / sum(p.rows) ${parts} {mixed:String}), 0)`
  return `SELECT toFloat64((SELECT sum(bytes_on_disk) ${parts} {table:String})
    + ${legs.includes('mixed') ? `round(${share})` : '0'}) AS bytes`
}

interface BytesRow {
  readonly bytes: number
}

interface CountRow {
  readonly kind: GroupKind
  readonly text: string
  readonly count: number
  readonly total: number
}

type Params = Record<string, string>

function buildParams(query: CountQuery, params: Params): Params {
  return {
    ...params,
    from: String(clampNs(query.fromNs)),
    to: String(clampNs(query.toNs)),
    limit: String(query.limit),
  }
}

/**
 * Groups are made by kind and text, as ClickHouse refuses GROUP BY on a value of any type. So 1
 * and 1.0 are one group, as they are equal to a filter, while 1 and "1" are two. Adds to `params`.
 */
function buildCount(query: CountQuery, legs: readonly Leg[], params: Params): string {
  const conditions = [rangeSql(query)]
  if (query.filter !== undefined) {
    conditions.push(buildEquals(fieldColumn(query.filter.field), query.filter.equals, params))
  }
  const field = query.groupBy === undefined ? undefined : fieldColumn(query.groupBy)
  const type = `dynamicType(${field})`
  const kind = `multiIf(${type} = 'None', 'null', ${type} = 'String', 'string',
    ${type} = 'Bool', 'boolean', match(${type}, '^(Int|UInt|Float)[0-9]+$'), 'number', 'other')`
  const columns =
    field === undefined
      ? `'null' AS kind, '' AS text`
      : `${kind} AS kind, ifNull(toString(${field}), '') AS text`
  return `SELECT kind, text, count() AS count, sum(count()) OVER () AS total
    FROM (${selectLegs(legs, columns, conditions.join(' AND '))})
    GROUP BY kind, text ORDER BY count DESC, kind, text LIMIT {limit:UInt64}`
}

/** Rows in the query's time range that are not removed; by the parameters `from` and `to`. */
export function rangeSql({ timeBasis }: Pick<CountQuery, 'timeBasis'>): string {
  return `${timeBasis} >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ${timeBasis} < fromUnixTimestamp64Nano({to:Int64}, 'UTC') AND ${NOT_REMOVED}`
}

/** The first condition is implied by the second; it is what the primary key can use. */
const NOT_REMOVED = `ingested_at >= fromUnixTimestamp64Milli({removedMs:Int64}, 'UTC')
    AND segment_id >= {removedBefore:UInt64}`

export function removedParams(before: SegmentId): Params {
  return { removedBefore: String(before), removedMs: String(segmentIdMs(before)) }
}

/** A field's column. Precondition: `isFieldPath(path)`. */
export function fieldColumn(path: string): string {
  return `payload.${quoteFieldPath(path)}`
}

/** Fills `params` and gives the condition. Only the subcolumns of fitting types are read. */
function buildEquals(column: string, value: FieldValue, params: Params): string {
  if (value.kind === 'null') return `dynamicType(${column}) = 'None'`
  if (value.kind === 'boolean') return `${column}.:Bool = ${value.value}`
  if (value.kind === 'string') {
    params.equals = value.value
    return `${column}.:String = {equals:String}`
  }
  const { integer, float } = readNumber(value.text)
  const conditions: string[] = []
  if (integer !== undefined && integer >= INT64_MIN && integer <= INT64_MAX) {
    params.equals_int = String(integer)
    conditions.push(`${column}.:Int64 = {equals_int:Int64}`)
  }
  if (integer !== undefined && integer >= 0n && integer <= UINT64_MAX) {
    params.equals_uint = String(integer)
    conditions.push(`${column}.:UInt64 = {equals_uint:UInt64}`)
  }
  if (float !== undefined) {
    params.equals_float = String(float)
    conditions.push(`${column}.:Float64 = {equals_float:Float64}`)
  }
  return conditions.length === 0 ? 'false' : `(${conditions.join(' OR ')})`
}

function toResult(rows: readonly CountRow[], query: CountQuery, rowsRead: number): CountResult {
  const groups = query.groupBy === undefined ? [] : rows
  return {
    groups: groups.map(({ kind, text, count }) => ({ kind, text, count })),
    total: rows[0]?.total ?? 0,
    rowsRead,
  }
}

/** Throws what the client is to be told; returns when there is no table, so no events yet. */
export function throwQueryFailure(cause: unknown): void {
  if (!(cause instanceof StoreError)) throw cause
  switch (cause.clickHouseCode) {
    case UNKNOWN_TABLE:
    case UNKNOWN_DATABASE:
      return
    case TOO_MANY_ROWS:
      throw new IngestError('malformed', `"group_by" has over ${QUERY_DISTINCT_MAX} values`)
    case TOO_MANY_ROWS_OR_BYTES: {
      const limit = `${QUERY_RESULT_BYTES_MAX} bytes`
      throw new IngestError('malformed', `the group values are over ${limit}; lower "limit"`)
    }
    case TIMEOUT_EXCEEDED: {
      const limit = `QUERY_MS_MAX (${QUERY_MS_MAX} ms)`
      throw new IngestError('unavailable', `the query is over ${limit}; narrow its time range`)
    }
    case MEMORY_LIMIT_EXCEEDED:
      throw new IngestError('unavailable', 'the query needs too much memory; narrow its time range')
    default:
      throw cause
  }
}

/** A time as a DateTime64(9) comparison takes it without wrapping. */
export function clampNs(ns: bigint): bigint {
  if (ns < INT64_MIN) return INT64_MIN
  return ns > INT64_MAX ? INT64_MAX : ns
}
