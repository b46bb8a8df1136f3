/**
 * What a backup reads: all tables in one snapshot of one transaction, by binary COPY. Ingest goes
 * on meanwhile; what was acknowledged before the snapshot is in it, as COMMIT came before.
 *
 * Subtle: the counters of identity columns are in no snapshot. They are read after it was taken, so
 * they are at least as high as any number in it.
 */
import { type CopyToStreamQuery, to as copyTo } from 'pg-copy-streams'
import type { Postgres, PostgresClient } from '../postgres.ts'
import { toStoreError } from '../postgres.ts'
import { socketOf } from '../postgres-servers.ts'
import { StoreError } from '../store-error.ts'
import { BACKUP_TABLES, listOf, quoteName } from './backup-tables.ts'

export interface AppliedMigration {
  readonly version: number
  readonly name: string
  readonly checksum: string
}

export interface TableContents {
  readonly name: string
  readonly columns: readonly string[]
  /** About what it takes in PostgreSQL. */
  readonly bytes: number
}

/** The counter of an identity column. */
export interface Counter {
  readonly table: string
  readonly column: string
  readonly value: string
}

export interface SourceContents {
  readonly takenAt: string
  readonly postgres: string
  readonly migrations: readonly AppliedMigration[]
  readonly tables: readonly TableContents[]
  readonly counters: readonly Counter[]
  readonly streams: number
  readonly events: number
}

/** No statement may take longer: a backup of terabytes takes hours. */
export const BACKUP_MS_MAX = 7 * 24 * 3_600_000

/** A connection on which no deadline of short statements ends what takes hours. */
export async function connectForLong(postgres: Postgres): Promise<PostgresClient> {
  const client = await postgres.connect({ queryMsMax: BACKUP_MS_MAX })
  await client.query('SET idle_in_transaction_session_timeout = 0')
  return client
}

/** At once, whatever it is at: the server rolls back. `end` would wait for a COPY's end. */
export function breakOff(client: PostgresClient): void {
  client.removeAllListeners('error')
  client.on('error', () => undefined)
  socketOf(client).destroy()
}

export class BackupSource {
  readonly contents: SourceContents
  readonly #client: PostgresClient

  private constructor(client: PostgresClient, contents: SourceContents) {
    this.#client = client
    this.contents = contents
  }

  /** Throws `StoreError`, also where there is no Sluice in the database. */
  static async open(postgres: Postgres): Promise<BackupSource> {
    const client = await connectForLong(postgres)
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      return new BackupSource(client, await readContents(client))
    } catch (cause) {
      await client.end().catch(() => undefined)
      throw toStoreError(cause)
    }
  }

  /** A table as COPY gives it, and in the end how many rows that were. Throws `StoreError`. */
  async *copyOut(table: TableContents): AsyncGenerator<Uint8Array, number> {
    const where = BACKUP_TABLES.find(({ name }) => name === table.name)?.where ?? 'true'
    const rows = `SELECT ${listOf(table.columns)} FROM ${quoteName(table.name)} WHERE ${where}`
    // The driver hangs `callback` on it, which ends the timer of its deadline; COPY calls it not.
    const stream: CopyToStreamQuery & { callback?: () => void } = this.#client.query(
      copyTo(`COPY (${rows}) TO STDOUT BINARY`),
    )
    try {
      for await (const chunk of stream) yield chunk as Uint8Array
      return stream.rowCount
    } catch (cause) {
      throw toStoreError(cause)
    } finally {
      stream.callback?.()
    }
  }

  /** Nothing is written here: there is nothing to lose. */
  close(): void {
    breakOff(this.#client)
  }
}

async function readContents(client: PostgresClient): Promise<SourceContents> {
  const { rows: found } = await client.query<{ readonly there: boolean }>(
    "SELECT to_regclass('schema_migrations') IS NOT NULL AS there",
  )
  if (found[0]?.there !== true) {
    throw new StoreError('other', 'the database holds no Sluice: nothing to back up')
  }
  const { rows: migrations } = await client.query<AppliedMigration>(
    'SELECT version, name, checksum FROM schema_migrations ORDER BY version',
  )
  const names = BACKUP_TABLES.map(({ name }) => name)
  const { rows: tables } = await client.query<TableContents>(
    `SELECT c.relname AS name, pg_table_size(c.oid)::float8 AS bytes,
       array_agg(a.attname::text ORDER BY a.attnum) AS columns
     FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
     JOIN pg_class c ON c.oid = to_regclass(asked.name)
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     GROUP BY c.oid, c.relname, asked.place ORDER BY asked.place`,
    [names],
  )
  const { rows: streams } = await client.query<{ count: number }>(
    'SELECT count(*)::float8 AS count FROM streams WHERE deleted_at IS NULL',
  )
  const { rows: sums } = await client.query<{ events: number; at: Date }>(
    `SELECT COALESCE(sum(event_count), 0)::float8 AS events, now() AS at FROM stream_usage`,
  )
  const { rows: server } = await client.query<{ version: string }>(
    "SELECT current_setting('server_version') AS version",
  )
  return {
    takenAt: sums[0]!.at.toISOString(),
    postgres: server[0]!.version,
    ...{ migrations, tables, counters: await readCounters(client, names) },
    streams: streams[0]!.count,
    events: sums[0]!.events,
  }
}

async function readCounters(
  client: PostgresClient,
  tables: readonly string[],
): Promise<readonly Counter[]> {
  const { rows } = await client.query<{ table: string; column: string; sequence: string }>(
    `SELECT table_name AS "table", column_name AS "column",
       pg_get_serial_sequence(quote_ident(table_name), column_name) AS sequence
     FROM information_schema.columns
     WHERE table_schema = current_schema() AND is_identity = 'YES' AND table_name = ANY ($1)
     ORDER BY table_name`,
    [tables],
  )
  const counters: Counter[] = []
  for (const { table, column, sequence } of rows) {
    // Its name is the server's own, quoted by it. One that gave nothing out stands at the first.
    const { rows: values } = await client.query<{ value: string }>(
      `SELECT (last_value - CASE WHEN is_called THEN 0 ELSE 1 END)::text AS value FROM ${sequence}`,
    )
    counters.push({ table, column, value: values[0]?.value ?? '0' })
  }
  return counters
}
