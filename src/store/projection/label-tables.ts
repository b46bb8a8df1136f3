/**
 * Gives tables that an earlier version made the columns of labels. That touches no part: old rows
 * have them computed from the payload until a merge writes them.
 */
import type { StreamId } from '../../model/stream.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { LABEL_COLUMNS } from './label-columns.ts'
import { projectionTable, streamOfTable, TABLE_PREFIX, tableName } from './table-names.ts'

/**
 * All tables, or that of one stream. Idempotent, on any number of nodes at once. Resolves with
 * those that lacked columns. Throws `StoreError`.
 */
export async function addMissingLabels(
  clickhouse: ClickHouse,
  only?: StreamId,
): Promise<readonly StreamId[]> {
  const lacking = await clickhouse.query<{ owner: string }>(
    `SELECT table AS owner FROM system.columns AS c
     WHERE database = {database:String} AND match(table, {pattern:String})
     GROUP BY table HAVING countIf(has({labels:Array(String)}, c.name)) < {count:UInt8}`,
    {
      database: clickhouse.database,
      pattern: only === undefined ? `^${TABLE_PREFIX}[0-9]+$` : `^${tableName(only)}$`,
      labels: LABEL_COLUMNS.map(([name]) => name),
      count: LABEL_COLUMNS.length,
    },
  )
  const streamIds = lacking.map(({ owner }) => streamOfTable(owner))
  for (const streamId of streamIds) {
    await clickhouse.command(addLabelColumnsSql(projectionTable(clickhouse.database, streamId)))
  }
  return streamIds
}

/** Idempotent. Changes no part: until a part is rewritten, its columns are computed. */
export function addLabelColumnsSql(table: string): string {
  const added = LABEL_COLUMNS.map(([name, definition, after]) => {
    return `ADD COLUMN IF NOT EXISTS ${name} ${definition} AFTER ${after}`
  })
  return `ALTER TABLE ${table} ${added.join(', ')}`
}
