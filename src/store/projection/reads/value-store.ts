/** The most frequent values of a field among the newest events, for input boxes. */

import type { SourceStream } from '../../../model/field-catalog.ts'
import { quoteFieldPath } from '../../../model/field-path.ts'
import { type SegmentId, segmentIdMs } from '../../../model/segment-id.ts'
import type { IdRange } from '../../../model/segment-place.ts'
import type { ClickHouse } from '../../clickhouse.ts'
import type { ProjectionTables } from '../compile/projection-tables.ts'
import { rowSource } from '../compile/row-source.ts'
import { SqlParams } from '../compile/sql-params.ts'
import { querySettings } from '../query-bounds.ts'

export interface ValueQuestion {
  readonly streams: readonly SourceStream[]
  /** Precondition: `isFieldPath`. Undefined: the label of the service. */
  readonly path: string | undefined
  readonly range: IdRange
  /** Values have this somewhere, in upper or lower case; those that begin so come first. */
  readonly part: string
  readonly limit: number
  readonly msMax: number
}

export interface TopValue {
  readonly value: string
  /** Else a number or a boolean. */
  readonly isString: boolean
  readonly count: number
}

/** Longer values are no help in an input box. */
const VALUE_CHARS_MAX = 128
const ALL = { kind: 'all', start: 0, end: 0 } as const
const NS_PER_MS = 1_000_000n

export class ValueStore {
  readonly #clickhouse: ClickHouse
  readonly #tables: ProjectionTables

  constructor(clickhouse: ClickHouse, tables: ProjectionTables) {
    this.#clickhouse = clickhouse
    this.#tables = tables
  }

  /** Those that begin so first, then the most frequent. Throws `StoreError`. */
  async top(question: ValueQuestion, signal: AbortSignal): Promise<readonly TopValue[]> {
    const { streams, path, range, part, limit, msMax } = question
    const rows = await this.#tables.read(streams, async (tables) => {
      const params = new SqlParams()
      const column = path === undefined ? 'service' : `payload.${quoteFieldPath(path)}`
      const type = path === undefined ? `'String'` : `dynamicType(${column})`
      const receipt = (id: bigint) => BigInt(segmentIdMs(id as SegmentId)) * NS_PER_MS
      const rowsSql = rowSource(
        {
          streams,
          timeBasis: 'ingested_at',
          fromNs: receipt(range.start),
          toNs: receipt(range.end - 1n) + NS_PER_MS,
          query: ALL,
          columns: () => `ifNull(toString(${column}), '') AS value, ${type} AS type`,
        },
        this.#tables.place,
        tables,
        params,
      )
      if (rowsSql === undefined) return []
      const place = `position(lowerUTF8(value), lowerUTF8(${params.add('String', part)}))`
      const sql = `SELECT value, type = 'String' AS is_string, count() AS count FROM ${rowsSql}
        WHERE ${place} > 0 AND value != ''
          AND match(type, '^(String|Bool|U?Int64|Float64)$')
          AND lengthUTF8(value) <= ${params.add('UInt32', VALUE_CHARS_MAX)}
        GROUP BY value, is_string ORDER BY ${place} = 1 DESC, count DESC, value
        LIMIT ${params.add('UInt32', limit)}`
      return this.#tables.memory.run(streams, msMax, (blocks, leftMs) => {
        const overflow = { group_by_overflow_mode: 'any' } as const
        const settings = { ...querySettings(leftMs, blocks), ...overflow }
        return this.#clickhouse.query<ValueRow>(sql, params.values, settings, { signal })
      })
    })
    return rows.map(({ value, is_string, count }) => {
      return { value, isString: is_string === 1, count: Number(count) }
    })
  }
}

interface ValueRow {
  readonly value: string
  readonly is_string: number
  readonly count: number | string
}
