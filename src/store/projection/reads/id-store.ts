/** The first events of a range of segments that match a query, by their ids. */
import type { Query } from '../../../language/query-tree.ts'
import type { EventId, EventKey, TimedId, TimedKey } from '../../../model/event-id.ts'
import type { SourceStream } from '../../../model/field-catalog.ts'
import { SEGMENT_ID_MAX, type SegmentId, segmentIdMs } from '../../../model/segment-id.ts'
import type { IdRange, NodeMarks } from '../../../model/segment-place.ts'
import type { StreamId } from '../../../model/stream.ts'
import type { ClickHouse } from '../../clickhouse.ts'
import type { ClickHousePlace } from '../../clickhouse-place.ts'
import { upToSql } from '../compile/learned-sql.ts'
import type { PresentTables, ProjectionTables } from '../compile/projection-tables.ts'
import { type RowSourceOptions, rowSource } from '../compile/row-source.ts'
import { SqlParams } from '../compile/sql-params.ts'
import { NO_PROJECTIONS, querySettings } from '../query-bounds.ts'

export interface IdQuestion {
  readonly streams: readonly SourceStream[]
  readonly query: Query
  /** By the producer's clock, nanoseconds since 1970, half-open. */
  readonly eventTime: { readonly fromNs: bigint; readonly toNs: bigint } | undefined
  /** Not empty. */
  readonly range: IdRange
  /** Exclusive. */
  readonly before: EventId | undefined
  readonly after: EventId | undefined
  readonly newestFirst: boolean
  readonly limit: number
  /** Only segments up to these, by node. */
  readonly observed?: NodeMarks | undefined
  /** How long it may take. */
  readonly msMax: number
}

/** In the order of event times: its cursors are, too. */
export interface TimedQuestion extends Omit<IdQuestion, 'before' | 'after' | 'eventTime'> {
  readonly eventTime: NonNullable<IdQuestion['eventTime']>
  /** Exclusive. */
  readonly before: TimedId | undefined
  readonly after: TimedId | undefined
}

interface IdRow {
  readonly stream: number
  readonly id: string
  readonly ordinal: number
}

interface TimedRow extends IdRow {
  readonly time: string
}

const NS_PER_MS = 1_000_000n

export class IdStore {
  readonly #clickhouse: ClickHouse
  readonly #tables: ProjectionTables

  constructor(clickhouse: ClickHouse, tables: ProjectionTables) {
    this.#clickhouse = clickhouse
    this.#tables = tables
  }

  /** In reading order. Throws `StoreError`, and `QueryError` for a query that asks for too much. */
  async find(question: IdQuestion, signal: AbortSignal): Promise<readonly EventKey[]> {
    const rows = await this.#query<IdRow>(question, idSql, signal)
    return rows.map(toKey)
  }

  /** The same in the order of event times. */
  async findTimed(question: TimedQuestion, signal: AbortSignal): Promise<readonly TimedKey[]> {
    const rows = await this.#query<TimedRow, TimedQuestion>(question, timedSql, signal)
    return rows.map((row) => ({ ...toKey(row), timeNs: BigInt(row.time) }))
  }

  async #query<Row, Question extends TimedQuestion | IdQuestion = IdQuestion>(
    question: Question,
    toSql: (
      question: Question,
      place: ClickHousePlace,
      tables: PresentTables,
      params: SqlParams,
    ) => string | undefined,
    signal: AbortSignal,
  ): Promise<readonly Row[]> {
    return this.#tables.read(question.streams, async (tables) => {
      const params = new SqlParams()
      const sql = toSql(question, this.#tables.place, tables, params)
      if (sql === undefined) return []
      return this.#tables.memory.run(question.streams, question.msMax, (blocks, msMax) => {
        const settings = querySettings(Math.max(1, Math.ceil(msMax)), blocks)
        return this.#clickhouse.query<Row>(sql, params.values, settings, { signal })
      })
    })
  }
}

function toKey({ stream, id, ordinal }: IdRow): EventKey {
  return { streamId: stream as StreamId, segmentId: BigInt(id) as SegmentId, ordinal }
}

/** The statement; undefined when there is no table. Adds to `params`. */
export function idSql(
  question: IdQuestion,
  place: ClickHousePlace,
  tables: PresentTables,
  params: SqlParams,
): string | undefined {
  const direction = question.newestFirst ? 'DESC' : 'ASC'
  const first =
    `ORDER BY segment ${direction}, place ${direction} ` +
    `LIMIT ${params.add('UInt32', question.limit)}`
  const options = rowOptions(question, params)
  const source = rowSource({ ...options, ...ofEachShard(place, first) }, place, tables, params)
  if (source === undefined) return undefined
  // Names of their own: an alias hides the column that it is made of.
  return `SELECT stream, toString(segment) AS id, place AS ordinal FROM ${source}
    ${first} ${NO_PROJECTIONS}`
}

/** The same in the order of event times. */
export function timedSql(
  { before, after, ...question }: TimedQuestion,
  place: ClickHousePlace,
  tables: PresentTables,
  params: SqlParams,
): string | undefined {
  const options = rowOptions({ ...question, before: undefined, after: undefined }, params)
  const beyond = [
    ...(before === undefined ? [] : [beyondTimed('<', before, params)]),
    ...(after === undefined ? [] : [beyondTimed('>', after, params)]),
  ]
  const timed: RowSourceOptions = {
    ...options,
    columns: (branch) => `${options.columns(branch)}, ${NANOSECONDS} AS ns`,
    where: (branch) => [options.where?.(branch) ?? 'true', ...beyond].join(' AND '),
  }
  const direction = question.newestFirst ? 'DESC' : 'ASC'
  const order = ['ns', 'segment', 'place'].map((name) => `${name} ${direction}`).join(', ')
  const first = `ORDER BY ${order} LIMIT ${params.add('UInt32', question.limit)}`
  const source = rowSource({ ...timed, ...ofEachShard(place, first) }, place, tables, params)
  if (source === undefined) return undefined
  return `SELECT stream, toString(segment) AS id, place AS ordinal, toString(ns) AS time
    FROM ${source} ${first} ${NO_PROJECTIONS}`
}

/** Shards send the first of theirs, not all that match. */
function ofEachShard({ cluster }: ClickHousePlace, first: string): Pick<RowSourceOptions, 'tail'> {
  return cluster === undefined ? {} : { tail: () => first }
}

const NANOSECONDS = 'toUnixTimestamp64Nano(event_time)'

function beyondTimed(operator: '<' | '>', cursor: TimedId, params: SqlParams): string {
  const ns = params.add('Int64', String(cursor.timeNs))
  return `(${NANOSECONDS} ${operator} ${ns}
      OR (${NANOSECONDS} = ${ns} AND ${outside(operator, cursor, params)}))`
}

function rowOptions(question: IdQuestion, params: SqlParams): RowSourceOptions {
  const { streams, query, eventTime, range, before, after } = question
  const fromMs = BigInt(segmentIdMs(range.start as SegmentId))
  const untilMs = BigInt(segmentIdMs((range.end - 1n) as SegmentId)) + 1n
  const receipt = { fromNs: fromMs * NS_PER_MS, toNs: untilMs * NS_PER_MS }
  const id = (value: bigint) => params.add('UInt64', String(value))
  const conditions = [`segment_id >= ${id(range.start)}`, `segment_id < ${id(range.end)}`]
  if (before !== undefined && before.segmentId < range.end) {
    conditions.push(outside('<', before, params))
  }
  if (after !== undefined && after.segmentId >= range.start) {
    conditions.push(outside('>', after, params))
  }
  if (question.observed !== undefined) {
    // Of a node that was not there yet, all.
    conditions.push(upToSql(question.observed, SEGMENT_ID_MAX, params))
  }
  if (eventTime !== undefined) {
    // The primary key is by receipt.
    const at = (ms: bigint) => `fromUnixTimestamp64Milli(${params.add('Int64', String(ms))}, 'UTC')`
    conditions.push(`ingested_at >= ${at(fromMs)}`, `ingested_at < ${at(untilMs)}`)
  }
  return {
    streams,
    query,
    timeBasis: eventTime === undefined ? 'ingested_at' : 'event_time',
    ...(eventTime ?? receipt),
    columns: ({ stream }) => {
      return `toUInt32(${stream}) AS stream, segment_id AS segment, ordinal AS place`
    },
    readsIds: true,
    ...(question.observed && { observed: question.observed }),
    where: () => conditions.join(' AND '),
  }
}

function outside(operator: '<' | '>', cursor: EventId, params: SqlParams): string {
  const segment = params.add('UInt64', String(cursor.segmentId))
  const ordinal = params.add('UInt32', cursor.ordinal)
  return `(segment_id ${operator} ${segment}
      OR (segment_id = ${segment} AND ordinal ${operator} ${ordinal}))`
}
