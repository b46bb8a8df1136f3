/**
 * Integers that need 64 bits without a sign (`UInt64`) are rare, and the catalog calls them
 * integers like all others. To read a column of them beside the `Int64` of a path costs half as
 * much again, and to group by both costs three times as much. So a statement leaves them out for
 * rows that the catalog covers, and a second one asks whether there are any. If there are some, the
 * statement is run again with them.
 *
 * Where there are none among rows that do not change any more, that is remembered, and nobody asks
 * again. Of newer rows ClickHouse remembers which parts have none (its query condition cache), as
 * long as the question is the same to the letter.
 */
import {
  ANY_TYPES,
  type PathParts,
  type PathTypes,
  type ScalarType,
} from '../../../model/field-catalog.ts'
import { MIXED_STREAM } from '../../../model/mixed-runs.ts'
import type { StreamId } from '../../../model/stream.ts'
import type { LegFields } from '../compile/leg-fields.ts'
import type { PresentTables } from '../compile/projection-tables.ts'
import type { RowLeg } from '../compile/row-source.ts'
import type { SqlParams } from '../compile/sql-params.ts'
import { dynamicColumn } from '../compile/typed-column.ts'
import { tableName } from '../projection-store.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
/** Clocks of nodes may differ: rows that are newer than this may still get older neighbours. */
const UNSURE_MS = 2 * MINUTE_MS
/** Streams and paths of which something is remembered. */
const KNOWN_MAX = 10_000

/** Receipt times, in milliseconds since 1970, half-open. */
interface Range {
  readonly fromMs: number
  readonly toMs: number
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
  readonly #range: Range
  readonly #wholeUntilMs: number
  #probed: Range | undefined

  /** `wholeUntilMs`: rows received before do not change but by removal. */
  constructor(
    known: KnownLargeIntegers,
    streamIds: readonly StreamId[],
    { wholeUntilMs, ...range }: Range & { readonly wholeUntilMs: number },
  ) {
    this.#known = known
    this.#streamIds = streamIds
    this.#range = range
    this.#wholeUntilMs = wholeUntilMs
  }

  /** Some are left out, and it is not known that there are none. Not before all are. */
  get mustProbe(): boolean {
    this.#probed ??= this.#columns.size === 0 ? undefined : this.#unknownRange()
    return this.#probed !== undefined
  }

  /** The rows to look at, in a range that stays the same for a while; undefined for none. */
  #unknownRange(): Range | undefined {
    const { fromMs, toMs } = this.#range
    const unknownMs = this.#known.unknownFrom(this.#streamIds, this.#columns, this.#range)
    if (unknownMs >= toMs) return undefined
    // Rows that come in meanwhile are not looked at if there is no need.
    const isOver = toMs <= this.#wholeUntilMs
    return {
      fromMs: unknownMs > fromMs ? floor(unknownMs, MINUTE_MS) : floor(fromMs, DAY_MS) - DAY_MS,
      toMs: isOver ? floor(toMs, MINUTE_MS) + MINUTE_MS : floor(toMs, DAY_MS) + DAY_MS,
    }
  }

  get #sureMs(): number {
    return this.#wholeUntilMs - UNSURE_MS
  }

  /** The leg without columns of large integers, except where they are known to occur. */
  leaveOut(leg: RowLeg): RowLeg {
    const { typesOf } = leg.fields
    const narrow = (path: PathParts): PathTypes => {
      const types = typesOf(path)
      if (!this.#leaveOut(path, types)) return types
      return { ...types, scalars: types.scalars.filter((type: ScalarType) => type !== 'UInt64') }
    }
    return { ...leg, fields: { ...leg.fields, typesOf: narrow } }
  }

  /** The same for conditions: of the columns that one would read, those that are left out. */
  omitFrom({ fields }: RowLeg): LegFields {
    const { typesOf } = fields
    return {
      ...fields,
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

  /** If some occur, later statements read them at once. */
  remember(areFound: boolean): void {
    if (areFound) for (const column of this.#columns) this.#known.add(this.#streamIds, column)
    else if (this.#probed !== undefined) {
      const toMs = Math.min(this.#probed.toMs, this.#sureMs)
      this.#known.addNone(this.#streamIds, this.#columns, { ...this.#probed, toMs })
    }
  }

  /** Counts rows that have one, and of which it is not known. Undefined when there is no table. */
  probeSql({ database: name, present }: Tables, params: SqlParams): string | undefined {
    const hasOne = [...this.#columns].map((column) => `isNotNull(${column}.:UInt64)`).join(' OR ')
    const at = (ms: number) => {
      return `fromUnixTimestamp64Milli(${params.add('Int64', String(ms))}, 'UTC')`
    }
    const probed = this.#probed
    if (probed === undefined) return undefined
    const range = `ingested_at >= ${at(probed.fromMs)} AND ingested_at < ${at(probed.toMs)}`
    const database = params.add('Identifier', name)
    const select = (streamId: StreamId, rows: string) =>
      `SELECT count() AS found FROM ${database}.${params.add('Identifier', tableName(streamId))}
       WHERE ${rows}${range} AND (${hasOne})`
    const own = this.#streamIds.filter((streamId) => present.own.has(streamId))
    const selects = own.map((streamId) => select(streamId, ''))
    if (present.hasShared) {
      const ids = params.add('Array(UInt32)', this.#streamIds)
      selects.push(select(MIXED_STREAM, `stream_id IN (${ids}) AND `))
    }
    if (selects.length === 0) return undefined
    return `SELECT sum(found) AS found FROM (${selects.join(' UNION ALL ')})`
  }
}

function floor(ms: number, unit: number): number {
  return Math.floor(ms / unit) * unit
}

/** Where large integers were found, and when none were received. */
export class KnownLargeIntegers {
  readonly #found = new Set<string>()
  readonly #none = new Map<string, Range>()

  has(streamIds: readonly StreamId[], column: string): boolean {
    return streamIds.some((streamId) => this.#found.has(`${streamId} ${column}`))
  }

  add(streamIds: readonly StreamId[], column: string): void {
    if (this.#found.size > KNOWN_MAX) this.#found.clear()
    for (const streamId of streamIds) this.#found.add(`${streamId} ${column}`)
  }

  /** From where on within the range there may be some; its end when it is known that none are. */
  unknownFrom(streamIds: readonly StreamId[], columns: ReadonlySet<string>, range: Range): number {
    const { fromMs, toMs } = range
    let least = toMs
    for (const key of keysOf(streamIds, columns)) {
      const none = this.#none.get(key)
      const isCovered = none !== undefined && none.fromMs <= fromMs && none.toMs > fromMs
      least = Math.min(least, isCovered ? none.toMs : fromMs)
    }
    return least
  }

  /** None were received in the range, of any of the columns, and none will be. */
  addNone(streamIds: readonly StreamId[], columns: ReadonlySet<string>, range: Range): void {
    if (range.toMs <= range.fromMs) return
    if (this.#none.size > KNOWN_MAX) this.#none.clear()
    for (const key of keysOf(streamIds, columns)) {
      const none = this.#none.get(key)
      const touches = none && none.fromMs <= range.toMs && range.fromMs <= none.toMs
      const all = touches ? [none, range] : [range]
      const fromMs = Math.min(...all.map((each) => each.fromMs))
      this.#none.set(key, { fromMs, toMs: Math.max(...all.map((each) => each.toMs)) })
    }
  }
}

function keysOf(streamIds: readonly StreamId[], columns: ReadonlySet<string>): string[] {
  return streamIds.flatMap((streamId) => {
    return [...columns].map((column) => `${streamId} ${column}`)
  })
}
