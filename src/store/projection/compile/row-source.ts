/**
 * The rows that a query is about, as a sub-select: whatever is computed from them (groups, ids,
 * counts) is a SELECT over it.
 *
 * It is a UNION ALL of branches: one for each table that holds rows of the streams, two where the
 * catalog has not learned from all of the table's rows. Each branch computes the columns that were
 * asked for, so it reads only the subcolumns and the ranges of the primary key that it needs. Rows
 * that were removed are in no branch.
 *
 * Where the query's condition is no AND, the statement says that it is read first (PREWHERE). The
 * engine would decide the same, but only after it has added up the sizes of all columns of all
 * parts, a fifth of a millisecond a part. The order of conditions joined by AND is left to it.
 */
import { QueryError } from '../../../language/query-error.ts'
import type { Query } from '../../../language/query-tree.ts'
import { QUERY_TABLES_MAX } from '../../../limits.ts'
import type { Buckets, TimeBasis } from '../../../model/aggregates.ts'
import type { FieldCatalog, LearnedRows, SourceStream } from '../../../model/field-catalog.ts'
import { clampNs } from '../../../model/int64.ts'
import { MIXED_STREAM } from '../../../model/mixed-runs.ts'
import { SEGMENT_ID_MAX, segmentIdMs } from '../../../model/segment-id.ts'
import { coversMarks, type NodeMarks } from '../../../model/segment-place.ts'
import type { StreamId } from '../../../model/stream.ts'
import { type ClickHousePlace, rowsOf } from '../../clickhouse-place.ts'
import { OWN_COUNTS, SHARED_COUNTS } from '../counts.ts'
import { tableName } from '../projection-store.ts'
import { anyFields, type BranchFields, learnedFields } from './branch-fields.ts'
import { compileQuery } from './compile-query.ts'
import {
  asksOnlyLabels,
  type CountedRange,
  countedParts,
  countedSql,
  type MsRange,
  mentions,
  NO_END,
  otherServiceSql,
} from './counted-rows.ts'
import { type CatalogCoverage, eraSql, type Receipt, upToSql } from './learned-sql.ts'
import { mergeCatalogs } from './merge-catalogs.ts'
import { nsBoundSql } from './ns-bound.ts'
import type { PresentTables } from './projection-tables.ts'
import { eventScope } from './scope.ts'
import type { SqlParams } from './sql-params.ts'

/** What one SELECT of the sub-select reads: for expressions that differ from branch to branch. */
export interface UnionBranch {
  /** Which types paths may have in these rows: see `typedColumns`. */
  readonly fields: BranchFields
  /** An expression for the number of the row's stream. */
  readonly stream: string
  /** Its rows stand for as many events as their column `events` says: see `countedSql`. */
  readonly isCounted?: boolean
}

export interface RowSourceOptions {
  /** Each once. */
  readonly streams: readonly SourceStream[]
  readonly timeBasis: TimeBasis
  /** Nanoseconds since 1970, half-open. */
  readonly fromNs: bigint
  readonly toNs: bigint
  readonly query: Query
  /**
   * Of rows that the catalog has not learned from, only those of segments up to these: for queries
   * whose meaning depends on which paths are known.
   */
  readonly observed?: NodeMarks
  /** What follows SELECT; each branch must give the same names, and compatible types. */
  readonly columns: (branch: UnionBranch) => string
  /** The columns have the ids of segments, so that a condition on them reads nothing more. */
  readonly readsIds?: boolean
  /** A further condition, such as a window of ids. */
  readonly where?: (branch: UnionBranch) => string
  /** What follows the conditions of each branch, such as a GROUP BY of its own. */
  readonly tail?: (branch: UnionBranch) => string
  /** Events may be counted in whole units of time, where the conditions are of labels only. */
  readonly counts?: Counts
  /** A condition on columns that cost little, which leaves out most of the rows: read first. */
  readonly sample?: string
}

/** Of columns that only count events, by labels and by buckets of time. */
export interface Counts {
  readonly buckets: Buckets | undefined
  /** Conditions in the columns. */
  readonly queries: readonly Query[]
}

/**
 * For use after FROM, with its own parentheses: `(SELECT … UNION ALL SELECT …)`. Undefined when
 * there is no table, so no row. Fills `params`. Throws `QueryError` for a query that asks for too
 * much.
 */
export function rowSource(
  options: RowSourceOptions,
  place: ClickHousePlace,
  tables: PresentTables,
  params: SqlParams,
): string | undefined {
  const branches = unionBranches(options, place, tables, params)
  return branches && unionOf(branches)
}

/** The branches as one sub-select. */
export function unionOf(branches: readonly string[]): string {
  return `(${branches.join('\n  UNION ALL ')})`
}

/** The SELECTs that it is made of. */
export function unionBranches(
  options: RowSourceOptions,
  place: ClickHousePlace,
  tables: PresentTables,
  params: SqlParams,
): readonly string[] | undefined {
  const own = options.streams.filter(({ streamId }) => tables.own.has(streamId))
  if (own.length > QUERY_TABLES_MAX) {
    throw new QueryError(
      options.query,
      `over ${QUERY_TABLES_MAX} streams with tables of their own (QUERY_TABLES_MAX)`,
      'name fewer streams',
    )
  }
  const source = new RowSource(options, place, tables, params)
  const branches = own.flatMap((stream) => source.ownLegs(stream))
  if (tables.hasShared) branches.push(...source.sharedLegs())
  if (branches.length === 0) return undefined
  // Where nothing can match, one branch stays, because the SELECT around it needs its columns.
  const kept = branches.filter(({ isEmpty }) => !isEmpty)
  return (kept.length === 0 ? branches.slice(0, 1) : kept).map(({ sql }) => sql)
}

interface LegSql {
  readonly sql: string
  /** No row can be in it. */
  readonly isEmpty: boolean
}

const NS_PER_MS = 1_000_000n
const RECEIPT_MS_MAX = 2 ** 43
const ALL_RECEIPTS: MsRange = { fromMs: 0, untilMs: NO_END }

class RowSource {
  readonly #options: RowSourceOptions
  readonly #place: ClickHousePlace
  readonly #tables: PresentTables
  readonly #params: SqlParams

  constructor(
    options: RowSourceOptions,
    place: ClickHousePlace,
    tables: PresentTables,
    params: SqlParams,
  ) {
    this.#options = options
    this.#place = place
    this.#tables = tables
    this.#params = params
  }

  ownLegs(stream: SourceStream): readonly LegSql[] {
    const id = this.#params.add('UInt32', stream.streamId)
    return this.#branches(stream.catalog, [stream], {
      stream: id,
      table: stream.streamId,
      rows: [],
    })
  }

  /** Streams with the same text fields share a branch: their conditions are the same. */
  sharedLegs(): readonly LegSql[] {
    const groups = new Map<string, SourceStream[]>()
    for (const stream of this.#options.streams) {
      const key = JSON.stringify(stream.catalog.textFields)
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [stream])
      else group.push(stream)
    }
    return [...groups.values()].flatMap((streams) => {
      const ids = streams.map(({ streamId }) => streamId)
      const rows =
        ids.length === 1
          ? `stream_id = ${this.#params.add('UInt32', ids[0])}`
          : `stream_id IN (${this.#params.add('Array(UInt32)', ids)})`
      const catalog = mergeCatalogs(streams.map((stream) => stream.catalog))
      return this.#branches(catalog, streams, {
        stream: 'stream_id',
        table: MIXED_STREAM,
        rows: [rows],
      })
    })
  }

  /**
   * One SELECT for the rows that the catalog has learned from and one for the others, or both.
   * Where the catalog has learned from all rows that count, the second one ends with them; so it
   * does where only rows count that the catalog has learned from. The
   * first one does not say where it ends: it would have to read the id of each row. Where ids are
   * read anyway, both are one, as planning a SELECT takes as long as reading some parts.
   */
  #branches(
    catalog: FieldCatalog,
    streams: readonly SourceStream[],
    from: { readonly stream: string; readonly table: StreamId; readonly rows: readonly string[] },
  ): readonly LegSql[] {
    const { stream } = from
    const receipt = this.#receipt(streams)
    const table = tableName(from.table)
    const conditions = [...from.rows, ...this.#rangeSql(), ...this.#removedSql(streams)]
    const selectRows = ({ columns, condition, further, tail }: Part, era: string): LegSql => {
      const isFirst = !/^(true|false)$/.test(condition) && this.#options.query.kind !== 'and'
      const first = [this.#options.sample ?? [], isFirst ? condition : []].flat()
      const prewhere = first.length > 0 ? `PREWHERE ${first.join(' AND ')} ` : ''
      const all = [...conditions, era, further, ...(isFirst ? [] : [condition])]
      const where = `WHERE ${all.filter((each) => each !== 'true').join(' AND ')} ${tail}`
      const sql = `SELECT ${columns} FROM ${rowsOf(this.#place, table)} ${prewhere}${where}`
      return { sql, isEmpty: era === 'false' || condition === 'false' }
    }
    /** `settled`: the receipt times that are all of that era. */
    const select = (part: Part, era: string, settled?: MsRange): readonly LegSql[] => {
      const rows = () => [selectRows(part, era)]
      if (settled === undefined || !this.#mayCount(part)) return rows()
      const range = this.#countedRange(streams, settled)
      const isShared = from.table === MIXED_STREAM
      const counted = countedParts(range, isShared ? SHARED_COUNTS : OWN_COUNTS, this.#params)
      if (counted === undefined) return rows()
      const { condition, branch } = part
      const { columns, tail } = this.#part({ ...branch, isCounted: true })
      const isAlone = this.#tables.counted?.has(from.table) === true
      const leavesOtherServices = this.#tables.otherServices?.has(from.table) === true
      const place = this.#place
      const of = { place, table, isAlone, isShared, leavesOtherServices }
      const source = { ...of, rows: from.rows, ...range }
      const sqls = counted.boxes.map((box) => {
        return countedSql(box, { ...source, condition, columns, tail }, this.#params)
      })
      const others =
        leavesOtherServices && mentionsContext(part)
          ? counted.boxes.map((box) => otherServiceSql(box, range.timeBasis, this.#params))
          : []
      const rest = [...counted.rest, ...others].map((more) =>
        selectRows(part, `${more} AND ${era}`),
      )
      return [...sqls.map((sql) => ({ sql, isEmpty: false })), ...rest]
    }
    const isIn = (era: CatalogCoverage) => eraSql(era, catalog.learned, receipt, this.#params)
    const { upTo } = catalog.learned
    const endsWithLearned = this.#options.observed !== undefined && upTo.size > 0
    const isProjected = ({ projected }: SourceStream) => projected && coversMarks(upTo, projected)
    const isAll = endsWithLearned || streams.every(isProjected)
    const [learnedRows, otherRows] = [isIn('learned'), this.#seen(isIn('other'), endsWithLearned)]
    const any = () => this.#part({ fields: anyFields(catalog), stream })
    if (learnedRows === 'false' && !isAll) return select(any(), otherRows, ALL_RECEIPTS)
    const learned = this.#part({ fields: learnedFields(catalog), stream })
    const settled = learnedReceipts(catalog.learned)
    if (otherRows === 'false') return select(learned, learnedRows, settled)
    const other = any()
    // A condition that does not read the payload is the same for both.
    if (isSamePart(learned, other)) return select(other, 'true', ALL_RECEIPTS)
    // A node that was not there yet has few rows, and `observed` does not leave them out either.
    const ofOtherNodes = endsWithLearned ? SEGMENT_ID_MAX : 0n
    const upToAll = () => upToSql(upTo, ofOtherNodes, this.#params)
    if (isAll && this.#options.readsIds && learnedRows !== 'false') {
      return select(learned, `(${learnedRows} OR ${upToAll()})`)
    }
    const others = isAll
      ? select(learned, `${otherRows} AND ${upToAll()}`)
      : select(other, otherRows)
    return learnedRows === 'false' ? others : [...select(learned, learnedRows, settled), ...others]
  }

  /** Whether the part's rows can be counted by their labels alone. */
  #mayCount({ branch, ...part }: Part): boolean {
    const { counts, query, where } = this.#options
    if (counts === undefined || where !== undefined) return false
    const scope = eventScope(branch.fields)
    return (
      [query, ...counts.queries].every((each) => asksOnlyLabels(each, scope)) &&
      // A service that is a number, or a pattern of names: that is in the payload.
      !mentions(`${part.columns} ${part.condition} ${part.tail}`, 'payload')
    )
  }

  /** `of`: the receipt times of the era. Retention's mark is in the unit before the first. */
  #countedRange(streams: readonly SourceStream[], of: MsRange): CountedRange {
    const { timeBasis, fromNs, toNs, counts } = this.#options
    const marks = streams.map(({ removedBefore }) => removedBefore)
    const removed = marks.map((mark) => (mark === 0n ? 0 : segmentIdMs(mark) + 1))
    return {
      asked: {
        fromMs: Number((clampNs(fromNs) + NS_PER_MS - 1n) / NS_PER_MS),
        untilMs: Number(clampNs(toNs) / NS_PER_MS),
      },
      settled: { fromMs: Math.max(of.fromMs, ...removed), untilMs: of.untilMs },
      timeBasis,
      buckets: counts?.buckets,
    }
  }

  /** Of rows that the catalog has not learned from, those that count. */
  #seen(otherRows: string, endsWithLearned: boolean): string {
    const { observed } = this.#options
    if (observed === undefined || otherRows === 'false' || endsWithLearned) return otherRows
    return `${otherRows} AND ${upToSql(observed, SEGMENT_ID_MAX, this.#params)}`
  }

  #part(branch: UnionBranch): Part {
    const { query, columns, where, tail } = this.#options
    const condition = compileQuery(query, branch.fields, this.#params)
    return {
      columns: columns(branch),
      tail: tail?.(branch) ?? '',
      condition,
      further: where?.(branch) ?? 'true',
      branch,
    }
  }

  /** The receipt times that the rows can have. */
  #receipt(streams: readonly SourceStream[]): Receipt {
    const { timeBasis, fromNs, toNs } = this.#options
    const removedMs = streams.map(({ removedBefore }) => segmentIdMs(removedBefore))
    const keptMs = removedMs.reduce((least, ms) => Math.min(least, ms), RECEIPT_MS_MAX)
    if (timeBasis === 'event_time') return { fromMs: keptMs, untilMs: RECEIPT_MS_MAX }
    const toMs = Number((clampNs(toNs) + NS_PER_MS - 1n) / NS_PER_MS)
    const fromMs = Number(clampNs(fromNs) / NS_PER_MS) - 1
    return { fromMs: Math.max(keptMs, fromMs), untilMs: Math.min(RECEIPT_MS_MAX, toMs) }
  }

  #rangeSql(): readonly string[] {
    const { timeBasis, fromNs, toNs } = this.#options
    const bound = (operator: string, ns: bigint) => {
      return nsBoundSql(timeBasis, operator, clampNs(ns), this.#params)
    }
    return [bound('>=', fromNs), bound('<', toNs)]
  }

  /** The first condition follows from the second, but is one that the primary key can use. */
  #removedSql(streams: readonly SourceStream[]): readonly string[] {
    if (isPastRemoved(this.#options, streams)) return []
    const marks = streams.map(({ removedBefore }) => removedBefore)
    const [least, ...more] = marks.toSorted((a, b) => (a < b ? -1 : 1))
    const most = more.at(-1) ?? least
    if (most === undefined || most === 0n) return []
    const params = this.#params
    const ms = params.add('Int64', String(segmentIdMs(least!)))
    const segments = params.add('UInt64', String(least))
    const all = [
      `ingested_at >= fromUnixTimestamp64Milli(${ms}, 'UTC')`,
      `segment_id >= ${segments}`,
    ]
    if (least === most) return all
    const ids = params.add(
      'Array(UInt32)',
      streams.map(({ streamId }) => streamId),
    )
    const each = params.add('Array(UInt64)', marks)
    return [...all, `segment_id >= transform(stream_id, ${ids}, ${each}, toUInt64(0))`]
  }
}

interface Part {
  readonly branch: UnionBranch
  readonly columns: string
  /** The query's. */
  readonly condition: string
  readonly further: string
  readonly tail: string
}

/** Whether the range has only events that were received after all that is removed. */
export function isPastRemoved(
  { timeBasis, fromNs }: Pick<RowSourceOptions, 'timeBasis' | 'fromNs'>,
  streams: readonly Pick<SourceStream, 'removedBefore'>[],
): boolean {
  if (timeBasis !== 'ingested_at') return false
  return streams.every(({ removedBefore: mark }) => {
    return mark === 0n || fromNs >= BigInt(segmentIdMs(mark) + 1) * NS_PER_MS
  })
}

/** The receipt times of which all rows were learned from. */
function learnedReceipts({ untilMs, behind }: LearnedRows): MsRange {
  return { fromMs: 0, untilMs: Math.min(untilMs, ...behind.map((node) => node.untilMs)) }
}

function mentionsContext({ columns, condition, tail }: Part): boolean {
  return mentions(`${columns} ${condition} ${tail}`, 'context')
}

function isSamePart(a: Part, b: Part): boolean {
  const { columns, condition, further, tail } = b
  return (
    a.columns === columns && a.condition === condition && a.further === further && a.tail === tail
  )
}
