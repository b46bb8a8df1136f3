/**
 * Integers that need 64 bits without a sign (`UInt64`) are rare, and the catalog calls them
 * integers like all others. To read a column of them beside the `Int64` of a path costs half as
 * much again, and to group by both costs three times as much. So a statement leaves them out for
 * rows that the catalog covers, and a second one asks whether there are any: ClickHouse remembers
 * which parts have none (its query condition cache), so that costs next to nothing. If there are
 * some, the statement is run again with them.
 */
import {
  ANY_TYPES,
  type PathParts,
  type PathTypes,
  type ScalarType,
} from '../../../model/field-catalog.ts'
import { clampNs } from '../../../model/int64.ts'
import { MIXED_STREAM } from '../../../model/mixed-runs.ts'
import type { StreamId } from '../../../model/stream.ts'
import type { LegFields } from '../compile/leg-fields.ts'
import type { PresentTables } from '../compile/projection-tables.ts'
import type { RowLeg } from '../compile/row-source.ts'
import type { SqlParams } from '../compile/sql-params.ts'
import { dynamicColumn } from '../compile/typed-column.ts'
import { tableName } from '../projection-store.ts'

const DAY_NS = 86_400_000_000_000n
/** Streams and paths whose large integers are remembered. */
const FOUND_MAX = 10_000

interface Probe {
  readonly streamIds: readonly StreamId[]
  /** By receipt, nanoseconds since 1970. */
  readonly fromNs: bigint
  readonly toNs: bigint
}

interface Tables {
  readonly database: string
  readonly present: PresentTables
}

/** The large integers that one statement has left out. */
export class LargeIntegers {
  readonly #columns = new Set<string>()
  readonly #known: KnownLargeIntegers
  readonly #streamIds: readonly StreamId[]

  constructor(known: KnownLargeIntegers, streamIds: readonly StreamId[]) {
    this.#known = known
    this.#streamIds = streamIds
  }

  get areLeftOut(): boolean {
    return this.#columns.size > 0
  }

  /** The leg without columns of large integers, except where they are known to occur. */
  leaveOut(leg: RowLeg): RowLeg {
    const { typesOf, textFields, paths } = leg.fields
    const narrow = (path: PathParts): PathTypes => {
      const types = typesOf(path)
      if (!this.#leaveOut(path, types)) return types
      return { ...types, scalars: types.scalars.filter((type: ScalarType) => type !== 'UInt64') }
    }
    return { ...leg, fields: { typesOf: narrow, textFields, paths } }
  }

  /** The same for conditions: of the columns that one would read, those that are left out. */
  omitFrom({ fields: { typesOf, textFields, paths } }: RowLeg): LegFields {
    return {
      typesOf,
      textFields,
      paths,
      omits: (path, type) => type === 'UInt64' && this.#leaveOut(path, typesOf(path)),
    }
  }

  #leaveOut(path: PathParts, types: PathTypes): boolean {
    const isInteger = types.scalars.includes('Int64') && types.scalars.includes('UInt64')
    const column = dynamicColumn(path)
    if (types === ANY_TYPES || !isInteger || column?.arrays !== 0) return false
    if (this.#known.has(this.#streamIds, column.sql)) return false
    this.#columns.add(column.sql)
    return true
  }

  /** Remembers that they occur: later statements read them at once. */
  remember(): void {
    for (const column of this.#columns) this.#known.add(this.#streamIds, column)
  }

  /**
   * Counts rows that have one. Its text changes only from day to day: otherwise ClickHouse could
   * not remember its result. Undefined when there is no table.
   */
  probeSql(
    probe: Probe,
    { database: name, present }: Tables,
    params: SqlParams,
  ): string | undefined {
    const hasOne = [...this.#columns].map((column) => `isNotNull(${column}.:UInt64)`).join(' OR ')
    const at = (ns: bigint) => {
      const ms = params.add('Int64', String(clampNs(ns) / 1_000_000n))
      return `fromUnixTimestamp64Milli(${ms}, 'UTC')`
    }
    const fromNs = (clampNs(probe.fromNs) / DAY_NS - 1n) * DAY_NS
    const toNs = (clampNs(probe.toNs) / DAY_NS + 1n) * DAY_NS
    const range = `ingested_at >= ${at(fromNs)} AND ingested_at < ${at(toNs)}`
    const database = params.add('Identifier', name)
    const select = (streamId: StreamId, rows: string) =>
      `SELECT count() AS found FROM ${database}.${params.add('Identifier', tableName(streamId))}
       WHERE ${rows}${range} AND (${hasOne})`
    const own = probe.streamIds.filter((streamId) => present.own.has(streamId))
    const selects = own.map((streamId) => select(streamId, ''))
    if (present.hasShared) {
      const ids = params.add('Array(UInt32)', probe.streamIds)
      selects.push(select(MIXED_STREAM, `stream_id IN (${ids}) AND `))
    }
    if (selects.length === 0) return undefined
    return `SELECT sum(found) AS found FROM (${selects.join(' UNION ALL ')})`
  }
}

/** Where large integers were found. */
export class KnownLargeIntegers {
  readonly #found = new Set<string>()

  has(streamIds: readonly StreamId[], column: string): boolean {
    return streamIds.some((streamId) => this.#found.has(`${streamId} ${column}`))
  }

  add(streamIds: readonly StreamId[], column: string): void {
    if (this.#found.size > FOUND_MAX) this.#found.clear()
    for (const streamId of streamIds) this.#found.add(`${streamId} ${column}`)
  }
}
