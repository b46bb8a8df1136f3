/**
 * Columns that tables of earlier versions of Sluice lack. Adding one touches no part: rows that are
 * there have the type's default. All of it throws `StoreError`.
 */
import { LATER_COLUMNS } from '../../model/projection.ts'
import type { StreamId } from '../../model/stream.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { tableName } from './table-names.ts'

const REQUEST_MS_MAX = 30_000

/** Of one table, or of all; resolves with how many were altered. May be repeated. */
export async function addLaterColumns(clickhouse: ClickHouse, only?: StreamId): Promise<number> {
  const { database } = clickhouse
  const options = { signal: AbortSignal.timeout(REQUEST_MS_MAX) }
  const tables = await clickhouse.query<{ found: string }>(
    `SELECT table AS found FROM system.columns
     WHERE database = {database:String} AND match(table, '^events_[0-9]+$')
       AND ({only:String} = '' OR table = {only:String})
     GROUP BY table HAVING NOT hasAll(groupArray(name), {columns:Array(String)})`,
    {
      database,
      only: only === undefined ? '' : tableName(only),
      columns: LATER_COLUMNS.map(([name]) => name),
    },
    {},
    options,
  )
  const added = LATER_COLUMNS.map(([name, type, after]) => {
    return `ADD COLUMN IF NOT EXISTS ${name} ${type} AFTER ${after}`
  })
  for (const { found } of tables) {
    // The name is one of ours, as the pattern says.
    await clickhouse.command(`ALTER TABLE ${database}.${found} ${added.join(', ')}`, {}, options)
  }
  return tables.length
}
