/**
 * What a restore writes: one transaction that makes the tables as the backup's Sluice had them and
 * fills them. Until its COMMIT there is nothing, and after a failure there is nothing either: it is
 * simply begun again.
 */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import { createTables } from '../migrations/run.ts'
import type { Postgres, PostgresClient } from '../postgres.ts'
import { toStoreError } from '../postgres.ts'
import { StoreError } from '../store-error.ts'
import { type AppliedMigration, breakOff, type Counter, connectForLong } from './backup-source.ts'
import { BACKUP_TABLES, listOf, quoteName } from './backup-tables.ts'

export interface RestoreFinish {
  readonly counters: readonly Counter[]
  /** The next start makes a new admin token, as no live one is left. */
  readonly revokesAdmins: boolean
}

export class RestoreTarget {
  readonly #client: PostgresClient
  #isFinished = false

  private constructor(client: PostgresClient) {
    this.#client = client
  }

  /**
   * Throws `StoreError` where the database holds a Sluice already, and where `migrations` are not
   * those of this code, or newer.
   */
  static async open(
    postgres: Postgres,
    migrations: readonly AppliedMigration[],
  ): Promise<RestoreTarget> {
    const client = await connectForLong(postgres)
    try {
      await client.query('BEGIN')
      await createTables(client, migrations)
      // CASCADE: a table that is left out may refer to one; it is empty, too.
      await client.query(`TRUNCATE ${listOf(await tablesOf(client))} CASCADE`)
      return new RestoreTarget(client)
    } catch (cause) {
      await client.end().catch(() => undefined)
      throw toStoreError(cause)
    }
  }

  /** Fills a table; resolves with the number of rows. Throws `StoreError`. */
  async copyIn(
    table: string,
    columns: readonly string[],
    chunks: AsyncIterable<Uint8Array>,
  ): Promise<number> {
    if (!BACKUP_TABLES.some(({ name }) => name === table)) {
      throw new StoreError('other', 'the archive has a table that no backup holds')
    }
    const text = `COPY ${quoteName(table)} (${listOf(columns)}) FROM STDIN BINARY`
    const stream = this.#client.query(copyFrom(text))
    try {
      await pipeline(Readable.from(chunks, { objectMode: false }), stream)
      return stream.rowCount
    } catch (cause) {
      // What the archive is guilty of is told as it is.
      throw cause instanceof Error && 'code' in cause ? toStoreError(cause) : cause
    }
  }

  /** Makes it durable. Throws `StoreError`. */
  async finish({ counters, revokesAdmins }: RestoreFinish): Promise<void> {
    try {
      for (const { table, column, value } of counters) {
        await this.#client.query(
          `SELECT setval(pg_get_serial_sequence($1, $2), GREATEST($3::bigint, 1), $3::bigint > 0)`,
          [table, column, value],
        )
      }
      // Nobody runs here: their numbers are free, and what they left is brought in by who starts.
      await this.#client.query(
        `UPDATE nodes SET lease_until = now() - interval '1 day',
           taken_by = NULL, taken_until = NULL`,
      )
      if (revokesAdmins) {
        await this.#client.query(
          `UPDATE access_tokens SET revoked_at = now()
            WHERE 'admin' = ANY (scopes) AND revoked_at IS NULL`,
        )
      }
      await this.#client.query('COMMIT')
      this.#isFinished = true
      await this.#client.query('ANALYZE')
    } catch (cause) {
      throw toStoreError(cause)
    }
  }

  /** Gives up what was not finished. */
  async close(): Promise<void> {
    if (this.#isFinished) await this.#client.end().catch(() => undefined)
    else breakOff(this.#client)
  }
}

/** Those of a backup that this schema has. */
async function tablesOf(client: PostgresClient): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM unnest($1::text[]) AS asked (name) WHERE to_regclass(name) IS NOT NULL`,
    [BACKUP_TABLES.map(({ name }) => name)],
  )
  return rows.map(({ name }) => name)
}
