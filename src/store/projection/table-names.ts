/** Names of the projection's tables, made of our own integers. */
import type { StreamId } from '../../model/stream.ts'

export const TABLE_PREFIX = 'events_'
const OWN_NAME = `^${TABLE_PREFIX}[1-9][0-9]*$`
/** Of `system.tables`, given the database: a stream's own table. */
export const IS_OWN_TABLE = `database = {database:String} AND match(name, '${OWN_NAME}')`

/**
 * The stream's table in a database (`ClickHouse.database`), qualified; of `MIXED_STREAM` the one
 * that small streams share.
 */
export function projectionTable(database: string, streamId: StreamId): string {
  return `${database}.${tableName(streamId)}`
}

/** Without its database. */
export function tableName(streamId: StreamId): string {
  return `${TABLE_PREFIX}${streamId}`
}

/** The stream whose own table this is. */
export function streamOfTable(name: string): StreamId {
  return Number(name.slice(TABLE_PREFIX.length)) as StreamId
}
