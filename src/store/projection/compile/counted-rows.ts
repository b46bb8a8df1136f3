/**
 * The part of a SELECT's rows that is counted in whole units of time (`counts.ts`), as a SELECT of
 * its own; and the conditions for the rest, which is read row by row: the edges of the range, what
 * lies across a mark of retention, and what the catalog has not learned from.
 *
 *   rows:     from ├┤                                                              ├┤ to
 *   seconds:        ├──────────┤                                        ├──────────┤
 *   minutes:                    ├──────────────────────────────────────┤
 */
import type { Query } from '../../../language/query-tree.ts'
import type { Buckets, TimeBasis } from '../../../model/aggregates.ts'
import { THROW_IF } from '../../clickhouse-codes.ts'
import { type ClickHousePlace, rowsOf } from '../../clickhouse-place.ts'
import { StoreError } from '../../store-error.ts'
import {
  type CountsColumns,
  type CountsKey,
  type CountsUnit,
  countsAlone,
  countsKey,
  countsOfRows,
  OWN_SERVICE_IS_LABEL,
  OWN_SERVICE_IS_OTHER,
} from '../counts.ts'
import { bucketIndexSql } from './bucket-sql.ts'
import type { Scope } from './scope.ts'
import type { SqlParams } from './sql-params.ts'

/** Of a range that ends with the last row. */
export const NO_END = Number.POSITIVE_INFINITY

/** Milliseconds since 1970, half-open. */
export interface MsRange {
  readonly fromMs: number
  readonly untilMs: number
}

/** Whose rows are counted. */
export interface CountedRange {
  /** By the clock that the query goes by. */
  readonly asked: MsRange
  /** Of rows received within it, all that were asked for count. The same for receipt times. */
  readonly settled: MsRange
  readonly timeBasis: TimeBasis
  readonly buckets: Buckets | undefined
}

/** A box of whole units: of the query's clock, and of receipt where that is another one. */
export interface CountedBox {
  readonly unit: CountsUnit
  /** Half-open. One, or those around what larger units count. */
  readonly asked: readonly MsRange[]
  readonly received: MsRange | undefined
}

export interface CountedParts {
  readonly boxes: readonly CountedBox[]
  /** Each remaining row meets exactly one of these conditions; no counted row meets any. */
  readonly rest: readonly string[]
}

/** What such a failure says in the server's log. */
const OTHER_SERVICE = 'Counts do not have the services of all events: they are read next'

/** For less than so many units, rows are as quick. */
const UNITS_MIN = 3
/** So many of the larger unit must lie within: each unit is a SELECT more. */
const LARGER_UNITS_MIN = 60

/**
 * Undefined where nothing is counted so. `units`: those of the table, finest first. Fills `params`.
 */
export function countedParts(
  { asked, settled, timeBasis, buckets }: CountedRange,
  units: readonly CountsUnit[],
  params: SqlParams,
): CountedParts | undefined {
  const isReceipt = timeBasis === 'ingested_at'
  const [finest, larger] = units.filter((unit) => {
    return fits(buckets, unit) && (isReceipt || unit.hasEventTime)
  })
  if (finest === undefined) return undefined
  const outer = wholeUnits(isReceipt ? both(asked, settled) : asked, finest)
  if (length(outer) < UNITS_MIN * finest.ms) return undefined
  const isAll = isReceipt || (settled.fromMs === 0 && settled.untilMs === NO_END)
  const received = isAll ? undefined : wholeUnits(settled, units.at(-1)!)
  if (received !== undefined && length(received) <= 0) return undefined
  const inner = larger && wholeUnits(outer, larger)
  const boxes: CountedBox[] = []
  if (larger === undefined || inner === undefined || length(inner) < LARGER_UNITS_MIN * larger.ms) {
    boxes.push({ unit: finest, asked: [outer], received })
  } else {
    const edges = around(outer, inner)
    if (edges.length > 0) boxes.push({ unit: finest, asked: edges, received })
    boxes.push({ unit: larger, asked: [inner], received })
  }
  return { boxes, rest: restSql(timeBasis, outer, received, params) }
}

/** The condition that a row is in the box. */
function boxSql(
  { unit, asked, received }: CountedBox,
  basis: TimeBasis,
  key: CountsKey,
  params: SqlParams,
): string {
  const at = (ms: number) => params.add('Int64', String(ms / unit.ms))
  const within = (sql: string, { fromMs, untilMs }: MsRange) => {
    const isAfter = `${sql} >= ${at(fromMs)}`
    return untilMs === NO_END ? isAfter : `(${isAfter} AND ${sql} < ${at(untilMs)})`
  }
  const ranges = asked.map((range) => within(clockOf(key, basis), range))
  const isAsked = ranges.length === 1 ? ranges[0]! : `(${ranges.join(' OR ')})`
  return received === undefined ? isAsked : `${isAsked} AND ${within(key.ingested_at, received)}`
}

function clockOf(key: CountsKey, basis: TimeBasis): string {
  const sql = key[basis]
  if (sql === undefined) throw new Error(`these counts do not go by ${basis}`)
  return sql
}

/** What a statement over counted rows reads. */
export interface CountedSelect {
  readonly place: ClickHousePlace
  readonly table: string
  /** Each part has its counts. */
  readonly isAlone: boolean
  /** Conditions on the stream, without those on time. */
  readonly rows: readonly string[]
  /** The query's condition, by the columns `level`, `service`, `context`. */
  readonly condition: string
  readonly columns: string
  readonly tail: string
  readonly isShared: boolean
  readonly timeBasis: TimeBasis
  readonly buckets: Buckets | undefined
  /** Where the event's own service is asked for, rows with another one are left out. */
  readonly leavesOtherServices: boolean
}

/**
 * A SELECT over the rows of a box, each of which stands for `events` events: with `level`,
 * `service`, the bucket `b`, in the shared table `stream_id`, and `context` as far as it says the
 * service of the event's own fields. Where rows with another service there are not left out, and
 * the statement asks for it, it fails for any such row (`isOtherService`): nearly no table has one,
 * and a SELECT more for them would take as long as the counts.
 */
export function countedSql(box: CountedBox, select: CountedSelect, params: SqlParams): string {
  const { rows, condition, columns, tail, isShared, timeBasis, buckets } = select
  const asks = (column: string) => mentions(`${columns} ${condition} ${tail}`, column)
  const { from, key, events, any } = columnsOf(box, select)
  const inner = [`${events} AS events`]
  const outer: string[] = ['events']
  const groups: string[] = []
  let none = ''
  const where = [...rows, boxSql(box, timeBasis, key, params)]
  if (buckets !== undefined) {
    inner.push(`${bucketIndexSql(clockOf(key, timeBasis), buckets, box.unit.ms, params)} AS b`)
    outer.push('b')
    groups.push('b')
  }
  if (isShared && asks('stream_id')) {
    inner.push('stream_id')
    outer.push('stream_id')
    groups.push('stream_id')
  }
  for (const label of ['level', 'service'] as const) {
    if (!asks(label)) continue
    inner.push(`${any(label)} AS any_${label}`)
    outer.push(`any_${label} AS ${label}`)
    groups.push(key[label])
  }
  if (asks('context')) {
    inner.push(`${key.own} AS own`)
    outer.push(`if(own = ${OWN_SERVICE_IS_LABEL}, '', ' ') AS context`)
    groups.push('own')
    if (select.leavesOtherServices) where.push(`${key.own} != ${OWN_SERVICE_IS_OTHER}`)
    else none = ` WHERE throwIf(own = ${OWN_SERVICE_IS_OTHER}, '${OTHER_SERVICE}') = 0`
  }
  const group = groups.length === 0 ? '' : ` GROUP BY ${groups.join(', ')}`
  const counted = `SELECT ${inner.join(', ')} FROM ${from} WHERE ${where.join(' AND ')}${group}`
  const labels = `SELECT ${outer.join(', ')} FROM (${counted})${none}`
  const isTrue = condition === 'true' ? '' : ` WHERE ${condition}`
  return `SELECT ${columns} FROM (${labels})${isTrue} ${tail}`
}

/** The rows that `countedSql` leaves out. */
export function otherServiceSql(box: CountedBox, basis: TimeBasis, params: SqlParams): string {
  const key = countsKey(box.unit)
  return `${boxSql(box, basis, key, params)} AND ${key.own} = ${OWN_SERVICE_IS_OTHER}`
}

/** Whether a statement failed because it met rows of another service of their own. */
export function isOtherService(cause: unknown): boolean {
  if (!(cause instanceof StoreError) || cause.clickHouseCode !== THROW_IF) return false
  return cause.message.includes(OTHER_SERVICE)
}

function columnsOf(
  { unit }: CountedBox,
  { place, table, isAlone }: Pick<CountedSelect, 'place' | 'table' | 'isAlone'>,
): CountsColumns {
  return isAlone ? countsAlone(place, table, unit) : countsOfRows(rowsOf(place, table), unit)
}

/** Whether its conditions are of labels, or of the field that says the service. */
export function asksOnlyLabels(query: Query, scope: Scope): boolean {
  switch (query.kind) {
    case 'all':
      return true
    case 'and':
    case 'or':
      return query.clauses.every((clause) => asksOnlyLabels(clause, scope))
    case 'not':
      return asksOnlyLabels(query.clause, scope)
    case 'field': {
      const { field } = query
      if (field.kind === 'system') return field.name === '_level' || field.name === '_service'
      return field.kind === 'path' && scope.isService(field.parts)
    }
    default:
      return false
  }
}

/** Whether the statement reads the column. */
export function mentions(sql: string, column: string): boolean {
  return new RegExp(`\\b${column}\\b`).test(sql)
}

/** Whether whole units lie in one bucket each. */
function fits(buckets: Buckets | undefined, { ms }: CountsUnit): boolean {
  if (buckets === undefined) return true
  const { startMs, stepMs, starts = [startMs, stepMs] } = buckets
  return starts.every((start) => start % ms === 0)
}

/** Event times before 1970 are never counted so: see `countsKey`. */
function wholeUnits({ fromMs, untilMs }: MsRange, { ms }: CountsUnit): MsRange {
  const from = Math.max(1, Math.ceil(fromMs / ms))
  return { fromMs: from * ms, untilMs: Math.floor(untilMs / ms) * ms }
}

function both(a: MsRange, b: MsRange): MsRange {
  return { fromMs: Math.max(a.fromMs, b.fromMs), untilMs: Math.min(a.untilMs, b.untilMs) }
}

function length({ fromMs, untilMs }: MsRange): number {
  return untilMs - fromMs
}

/** What of `outer` is not in `inner`, which lies in it. */
function around(outer: MsRange, inner: MsRange): MsRange[] {
  const before = { fromMs: outer.fromMs, untilMs: inner.fromMs }
  const after = { fromMs: inner.untilMs, untilMs: outer.untilMs }
  return [before, after].filter(({ fromMs, untilMs }) => untilMs > fromMs)
}

function restSql(
  basis: TimeBasis,
  asked: MsRange,
  received: MsRange | undefined,
  params: SqlParams,
): string[] {
  const at = (ms: number) => {
    return `fromUnixTimestamp64Milli(${params.add('Int64', String(ms))}, 'UTC')`
  }
  const isOutside = (column: string, { fromMs, untilMs }: MsRange) => {
    const isBefore = `${column} < ${at(fromMs)}`
    return untilMs === NO_END ? isBefore : `(${isBefore} OR ${column} >= ${at(untilMs)})`
  }
  if (received === undefined) return [isOutside(basis, asked)]
  const { fromMs, untilMs } = received
  const ends = untilMs === NO_END ? '' : ` AND ingested_at < ${at(untilMs)}`
  const isSettled = `ingested_at >= ${at(fromMs)}${ends}`
  return [`${isSettled} AND ${isOutside(basis, asked)}`, isOutside('ingested_at', received)]
}
