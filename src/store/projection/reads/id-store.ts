/** The first events of a range of segments that match a query, by their ids. */
import type { Query } from '../../../language/query-tree.ts'
import type { EventId, EventKey } from '../../../model/event-id.ts'
import type { SourceStream } from '../../../model/field-catalog.ts'
import { SEGMENT_ID_MAX, type SegmentId, segmentIdMs } from '../../../model/segment-id.ts'
import type { IdRange, NodeMarks } from '../../../model/segment-place.ts'
import type { StreamId } from '../../../model/stream.ts'
import type { ClickHouse } from '../../clickhouse.ts'
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

interface IdRow {
  readonly stream: number
  readonly id: string
  readonly ordinal: number
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
    const rows = await this.#tables.read(question.streams, async (tables) => {
      const params = new SqlParams()
      const sql = idSql(question, this.#tables.database, tables, params)
      if (sql === undefined) return []
      return this.#tables.memory.run(question.streams, question.msMax, (blocks, msMax) => {
        const settings = querySettings(Math.max(1, Math.ceil(msMax)), blocks)
        return this.#clickhouse.query<IdRow>(sql, params.values, settings, { signal })
      })
    })
    return rows.map(({ stream, id, ordinal }) => {
      const segmentId = BigInt(id) as SegmentId
      return { streamId: stream as StreamId, segmentId, ordinal }
    })
  }
}

/** The statement; undefined when there is no table. Adds to `params`. */
export function idSql(
  question: IdQuestion,
  database: string,
  tables: PresentTables,
  params: SqlParams,
): string | undefined {
  const source = rowSource(rowOptions(question, params), database, tables, params)
  if (source === undefined) return undefined
  const direction = question.newestFirst ? 'DESC' : 'ASC'
  // Names of their own: an alias hides the column that it is made of.
  return `SELECT stream, toString(segment) AS id, place AS ordinal FROM ${source}
    ORDER BY segment ${direction}, place ${direction}
    LIMIT ${params.add('UInt32', question.limit)} ${NO_PROJECTIONS}`
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
