/** How much of ClickHouse's disk a stream uses. */
import { setTimeout as delay } from 'node:timers/promises'
import { MIXED_STREAM } from '../../../model/mixed-runs.ts'
import type { StreamId } from '../../../model/stream.ts'
import type { ClickHouse } from '../../clickhouse.ts'
import { type ClickHousePlace, onShards, rowsOf } from '../../clickhouse-place.ts'
import { StoreError } from '../../store-error.ts'
import type { PresentTables, ProjectionTables } from '../compile/projection-tables.ts'
import { tableName } from '../projection-store.ts'

const PROJECTION_BYTES_MS_MAX = 2_000

type ReadBytes = (streamId: StreamId) => Promise<number>
export type ReadProjectionBytes = (streamId: StreamId) => Promise<number | null>

/**
 * Bytes on disk of the stream's table and its share, by rows, of the shared one; null when
 * ClickHouse does not answer at once. `watch` sees its failures.
 */
export function projectionBytesReader(
  clickhouse: ClickHouse,
  tables: ProjectionTables,
  watch: (read: ReadBytes) => ReadBytes = (read) => read,
): ReadProjectionBytes {
  const readBytes = watch((streamId) => {
    // Ends the request; the race below ends our wait even if the client ignores the signal.
    const signal = AbortSignal.timeout(PROJECTION_BYTES_MS_MAX)
    const params = {
      database: tables.place.database,
      own: tableName(streamId),
      mixed: tableName(MIXED_STREAM),
      stream: String(streamId),
    }
    return tables.read([{ streamId }], async (present) => {
      const rows = await clickhouse.query<BytesRow>(
        bytesSql(present, tables.place),
        params,
        {},
        { signal },
      )
      return rows[0]?.bytes ?? 0
    })
  })
  return async (streamId) => {
    const late = delay(PROJECTION_BYTES_MS_MAX, null, { ref: false })
    try {
      return await Promise.race([readBytes(streamId), late])
    } catch (cause) {
      if (cause instanceof StoreError) return null
      throw cause
    }
  }
}

/** A row of the shared table counts as the mean row: ClickHouse does not report bytes by stream. */
function bytesSql({ hasShared }: PresentTables, place: ClickHousePlace): string {
  const parts = `FROM ${onShards(place, 'system.parts')} AS p
    WHERE active AND database = {database:String} AND table =`
  const rows = `(SELECT count() FROM ${rowsOf(place, tableName(MIXED_STREAM))}
      WHERE stream_id = {stream:UInt32})`
  const mean = `ifNotFinite((SELECT sum(bytes_on_disk) / sum(p.rows) ${parts} {mixed:String}), 0)`
  return `SELECT toFloat64((SELECT sum(bytes_on_disk) ${parts} {own:String})
    + ${hasShared ? `round(${rows} * ${mean})` : '0'}) AS bytes`
}

interface BytesRow {
  readonly bytes: number
}
