/**
 * Of which tables each part has its counts (`counts.ts`), so that these can be read by themselves.
 * A new table is so for good. Parts that lack them come from before there were counts, or from a
 * backup of that time: while a table has any, the engine looks for counts itself, part by part.
 */
import { MIXED_STREAM } from '../../../model/mixed-runs.ts'
import type { StreamId } from '../../../model/stream.ts'
import type { ClickHouse } from '../../clickhouse.ts'
import {
  ACCESS_DENIED,
  NO_SUCH_PROJECTION_IN_TABLE,
  UNKNOWN_FUNCTION,
  UNKNOWN_SETTING,
} from '../../clickhouse-codes.ts'
import { onShards } from '../../clickhouse-place.ts'
import { StoreError } from '../../store-error.ts'
import { OWN_COUNTS, SHARED_COUNTS } from '../counts.ts'
import { tableName } from '../table-names.ts'

/** For how long it counts that a table is so; and that it is not, or is not there yet. */
const COUNTED_MS = 60_000
const UNCOUNTED_MS = 5_000
/** How long a look may take. */
const LOOK_MS_MAX = 5_000
/** For how long it counts that events may have other services than their labels. */
const OTHER_SERVICES_MS = 600_000
/** Tables that are remembered; past that all are forgotten, which costs one look. */
const KNOWN_MAX = 10_000

const OWN_UNITS = OWN_COUNTS.map(({ name }) => name)
const SHARED_UNITS = SHARED_COUNTS.map(({ name }) => name)
const UNITS = `if(table = {shared:String}, {sharedUnits:Array(String)}, {ownUnits:Array(String)})`
/** `parts`: see `onShards`. */
const countedSql = (parts: string) => `SELECT table FROM system.projections
  WHERE database = {database:String} AND table IN ({tables:Array(String)}) AND has(${UNITS}, name)
    AND table NOT IN (
      SELECT table FROM ${parts}
      WHERE database = {database:String} AND table IN ({tables:Array(String)})
        AND active AND rows > 0 AND NOT hasAll(projections, ${UNITS}))
  GROUP BY table HAVING count() = length(${UNITS})`

/** What a server answers that does not let us read counts by themselves. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([
  ACCESS_DENIED,
  NO_SUCH_PROJECTION_IN_TABLE,
  UNKNOWN_FUNCTION,
  UNKNOWN_SETTING,
])

/**
 * For a statement that reads counts by themselves. The engine would take the table for its counts
 * wherever else the statement reads it. Without, each SELECT of it sees the parts of its own
 * moment, which differ by rows that have just come.
 */
export const OWN_SNAPSHOTS = 'enable_shared_storage_snapshot_in_query = 0'

export class CountedTables {
  readonly #clickhouse: ClickHouse
  readonly #known = new Map<StreamId, { readonly isCounted: boolean; readonly untilMs: number }>()
  /** Until when it counts that they have such events. */
  readonly #otherServices = new Map<StreamId, number>()

  constructor(clickhouse: ClickHouse) {
    this.#clickhouse = clickhouse
  }

  /** Those of the tables, as `tablesOf` names them. Throws `StoreError`. */
  async find(tables: readonly StreamId[]): Promise<ReadonlySet<StreamId>> {
    const nowMs = performance.now()
    const old = tables.filter((streamId) => (this.#known.get(streamId)?.untilMs ?? 0) < nowMs)
    if (old.length > 0) {
      const look = this.#look(old)
      // What was so a minute ago is looked at again, but not waited for.
      if (old.every((streamId) => this.#isCounted(streamId))) look.catch(() => undefined)
      else await look
    }
    return new Set(tables.filter((streamId) => this.#isCounted(streamId)))
  }

  /** After `isRefused`: the tables count as not counted for a while. */
  distrust(tables: readonly StreamId[]): void {
    this.#set(tables, () => false, COUNTED_MS)
  }

  /** After `isOtherService`: which of them it was is not known. */
  rememberOtherServices(tables: readonly StreamId[]): void {
    if (this.#otherServices.size > KNOWN_MAX) this.#otherServices.clear()
    const untilMs = performance.now() + OTHER_SERVICES_MS
    for (const streamId of tables) this.#otherServices.set(streamId, untilMs)
  }

  otherServicesIn(tables: readonly StreamId[]): ReadonlySet<StreamId> {
    const nowMs = performance.now()
    return new Set(tables.filter((streamId) => (this.#otherServices.get(streamId) ?? 0) > nowMs))
  }

  #isCounted(streamId: StreamId): boolean {
    return this.#known.get(streamId)?.isCounted === true
  }

  async #look(streamIds: readonly StreamId[]): Promise<void> {
    const { place } = this.#clickhouse
    const rows = await this.#clickhouse.query<{ table: string }>(
      countedSql(onShards(place, 'system.parts')),
      {
        database: place.database,
        tables: streamIds.map(tableName),
        shared: tableName(MIXED_STREAM),
        ownUnits: OWN_UNITS,
        sharedUnits: SHARED_UNITS,
      },
      { max_execution_time: LOOK_MS_MAX / 1_000 },
    )
    const counted = new Set(rows.map(({ table }) => table))
    this.#set(streamIds, (streamId) => counted.has(tableName(streamId)), UNCOUNTED_MS)
  }

  #set(
    streamIds: readonly StreamId[],
    isCountedOf: (streamId: StreamId) => boolean,
    uncountedMs: number,
  ): void {
    if (this.#known.size > KNOWN_MAX) this.#known.clear()
    const nowMs = performance.now()
    for (const streamId of streamIds) {
      const isCounted = isCountedOf(streamId)
      const untilMs = nowMs + (isCounted ? COUNTED_MS : uncountedMs)
      this.#known.set(streamId, { isCounted, untilMs })
    }
  }
}

/** Whether a statement failed because counts cannot be read by themselves there. */
export function isRefused(cause: unknown): boolean {
  return cause instanceof StoreError && REFUSALS.has(cause.clickHouseCode)
}
