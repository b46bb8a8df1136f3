/**
 * What two sets of events are compared by: how often each value of many fields comes in each of
 * them, and which of some conditions their events meet together. `compare-sql.ts` makes the
 * statements.
 */
import { GROUP_KINDS } from '../../../model/aggregates.ts'
import type { EventKey } from '../../../model/event-id.ts'
import type { SegmentId } from '../../../model/segment-id.ts'
import type { StreamId } from '../../../model/stream.ts'
import type { ClickHouse } from '../../clickhouse.ts'
import type { ProjectionTables } from '../compile/projection-tables.ts'
import { SqlParams } from '../compile/sql-params.ts'
import { NO_PROJECTIONS, querySettings, toQueryError } from '../query-bounds.ts'
import { countsSql, kindsSql, masksSql, type Statement } from './compare-sql.ts'
import {
  type ComparedSides,
  type FieldKinds,
  type KindsTask,
  MASK_ROWS_MAX,
  type MaskCount,
  type MasksTask,
  type ValueCount,
  type ValuesTask,
} from './compare-task.ts'

/** Values of a key past so many are not told apart any more. */
const VALUES_GROUPED_MAX = 100_000

interface CountRow {
  readonly f: number
  readonly k: number
  readonly t: string
  /** Of the window, and of the baseline. */
  readonly c: number
  readonly d: number
}

interface MaskRow {
  readonly slot_window: number
  readonly slot_baseline: number
  readonly mask: number
  readonly c: number
  readonly d: number
  readonly ids_of_window: Ids
  readonly ids_of_baseline: Ids
}

type Ids = readonly (readonly [stream: number, segment: string, ordinal: number])[]

export class CompareStore {
  readonly #clickhouse: ClickHouse
  readonly #tables: ProjectionTables

  constructor(clickhouse: ClickHouse, tables: ProjectionTables) {
    this.#clickhouse = clickhouse
    this.#tables = tables
  }

  /** Of each field, in their order. Throws and ends as `AggregateStore.run` does. */
  async kinds(task: KindsTask, signal?: AbortSignal): Promise<readonly FieldKinds[]> {
    const [row] = await this.#ask<Record<string, number>>(task, signal, (params) => {
      return kindsSql(task, params)
    })
    return task.fields.map((_, at) => {
      const part = (name: string) => Number(row?.[`${name}${at}`] ?? 0)
      return { present: part('present'), distinct: part('uniq'), numbers: part('numbers') }
    })
  }

  /** Events without a value are a value of their own, of the kind `null`. */
  async count(task: ValuesTask, signal?: AbortSignal): Promise<readonly ValueCount[]> {
    if (task.keys.length === 0) return []
    const rows = await this.#ask<CountRow>(task, signal, (params) => countsSql(task, params))
    return rows.map(({ f, k, t, c, d }) => {
      return { key: f, kind: GROUP_KINDS[k] ?? 'null', text: t, window: c, baseline: d }
    })
  }

  /** Undefined when there are over `MASK_ROWS_MAX` groups. */
  async masks(task: MasksTask, signal?: AbortSignal): Promise<readonly MaskCount[] | undefined> {
    const rows = await this.#ask<MaskRow>(task, signal, (params) => masksSql(task, params))
    if (rows.length > MASK_ROWS_MAX) return undefined
    return rows.flatMap(({ mask, c, d, ...row }) => {
      const window = { isWindow: true, slot: row.slot_window, mask, count: c }
      const baseline = { isWindow: false, slot: row.slot_baseline, mask, count: d }
      return [
        { ...window, examples: row.ids_of_window.map(toKey) },
        { ...baseline, examples: row.ids_of_baseline.map(toKey) },
      ].filter(({ count }) => count > 0)
    })
  }

  async #ask<Row>(
    task: ComparedSides,
    signal: AbortSignal | undefined,
    toStatement: (params: SqlParams) => Statement,
  ): Promise<readonly Row[]> {
    try {
      return await this.#tables.read(task.streams, async (tables) => {
        const params = new SqlParams()
        const sql = toStatement(params)(this.#tables.place, tables)
        if (sql === undefined) return []
        return this.#tables.memory.run(task.streams, task.timeoutMs, (blocks, leftMs) => {
          const settings = {
            ...querySettings(leftMs, blocks),
            max_rows_to_group_by: String(VALUES_GROUPED_MAX),
            group_by_overflow_mode: 'any',
          } as const
          const options = signal && { signal }
          return this.#clickhouse.query<Row>(
            `${sql} ${NO_PROJECTIONS}`,
            params.values,
            settings,
            options,
          )
        })
      })
    } catch (cause) {
      throw toQueryError(cause, task)
    }
  }
}

function toKey([stream, segment, ordinal]: Ids[number]): EventKey {
  const segmentId = BigInt(segment) as SegmentId
  return { streamId: stream as StreamId, segmentId, ordinal }
}
