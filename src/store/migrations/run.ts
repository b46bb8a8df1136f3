/**
 * Brings a database to the code's version. Any number of nodes may do it at once: an advisory
 * lock lets one work, the others find it done. Each migration is one transaction with its record.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouse } from '../clickhouse.ts'
import { onCluster } from '../clickhouse-place.ts'
import { type Postgres, type PostgresClient, toStoreError } from '../postgres.ts'
import { StoreError } from '../store-error.ts'
import type { StoreLog } from '../store-log.ts'
import { MIGRATIONS, type Migration } from './all.ts'

/** Any constant will do, if nothing else of ours in the database uses it: "sluice" in ASCII. */
const LOCK_KEY = '126943966294885'
/** How long to wait for another node's migrations. */
const LOCK_MS_MAX = 120_000
/** How long one migration may take. */
const MIGRATION_MS_MAX = 600_000

/** How long a cluster's servers may take to make a database. */
const DATABASE_MS_MAX = 30_000
const DATABASE_LOOK_MS = 50

export interface MigrateOptions {
  readonly log: StoreLog
  readonly migrations?: readonly Migration[]
}

/**
 * Applies the missing migrations and returns how many there were. Throws `StoreError` when the
 * database is newer than this code or was made by migrations other than ours; then it changes
 * nothing.
 */
export async function migratePostgres(
  postgres: Postgres,
  options: MigrateOptions,
): Promise<number> {
  const migrations = options.migrations ?? MIGRATIONS
  const client = await postgres.connect({ queryMsMax: MIGRATION_MS_MAX })
  try {
    await client.query(`SET lock_timeout = ${LOCK_MS_MAX}`)
    await client.query('SELECT pg_advisory_lock($1)', [LOCK_KEY])
    await client.query('SET lock_timeout = 0')
    const applied = await readApplied(client)
    assertKnown(applied, migrations)
    const missing = migrations.filter(({ version }) => !applied.has(version))
    for (const migration of missing) {
      await apply(client, migration)
      const { version, name } = migration
      options.log.info({ version, name }, 'applied a database migration')
    }
    return missing.length
  } catch (cause) {
    throw toStoreError(cause)
  } finally {
    // Ends the session, and the lock with it.
    await client.end().catch(() => undefined)
  }
}

/**
 * Creates the database of the projection tables; the tables themselves are made per stream. In a
 * cluster it is one that passes statements about its tables on to all servers. A database is never
 * converted: throws `StoreError` where it is of the other kind. `servers`: clients of each, which
 * may not have it at once.
 */
export async function ensureClickHouse(
  clickHouse: ClickHouse,
  servers: readonly ClickHouse[] = [],
): Promise<void> {
  const { place } = clickHouse
  const { database, cluster } = place
  const found = await findDatabase(clickHouse)
  if (found !== undefined && (found.engine === 'Replicated') !== (cluster !== undefined)) {
    throw new StoreError(
      'other',
      cluster === undefined
        ? `the ClickHouse database ${database} is Replicated: say of which cluster, ` +
            'with --clickhouse-cluster'
        : `the ClickHouse database ${database} is ${found.engine}, and a cluster needs a ` +
            'Replicated one: name another database in SLUICE_CLICKHOUSE_URL; the projection is ' +
            'then built anew there (docs/cluster.md)',
    )
  }
  const path = `/clickhouse/databases/${database}`
  const engine =
    cluster === undefined ? '' : ` ENGINE = Replicated('${path}', '{shard}', '{replica}')`
  await clickHouse.command(`CREATE DATABASE IF NOT EXISTS ${database}${onCluster(place)}${engine}`)
  const deadline = performance.now() + DATABASE_MS_MAX
  for (const server of servers) {
    // One that is away makes it when it is back.
    const isThere = () => findDatabase(server).catch(() => true)
    while ((await isThere()) === undefined) {
      if (performance.now() > deadline) {
        throw new StoreError(
          'unavailable',
          `clickhouse: no database ${database} on each server yet`,
        )
      }
      await sleep(DATABASE_LOOK_MS)
    }
  }
}

async function findDatabase(clickHouse: ClickHouse): Promise<{ engine: string } | undefined> {
  const [found] = await clickHouse.query<{ engine: string }>(
    'SELECT engine FROM system.databases WHERE name = {database:String}',
    { database: clickHouse.database },
  )
  return found
}

interface Applied {
  readonly name: string
  readonly checksum: string
}

async function readApplied(client: PostgresClient): Promise<ReadonlyMap<number, Applied>> {
  await client.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  )`)
  const { rows } = await client.query<Applied & { version: number }>(
    'SELECT version, name, checksum FROM schema_migrations',
  )
  return new Map(rows.map((row) => [row.version, row]))
}

function assertKnown(
  applied: ReadonlyMap<number, Applied>,
  migrations: readonly Migration[],
): void {
  const known = new Map(migrations.map((migration) => [migration.version, migration]))
  const newest = Math.max(0, ...known.keys())
  for (const [version, { name, checksum }] of applied) {
    const migration = known.get(version)
    if (migration === undefined) {
      const code = `this Sluice knows versions up to ${newest}`
      const hint = 'start the newer Sluice that migrated it, or restore a backup'
      throw new StoreError(
        'other',
        `the database is at schema version ${version} (${name}), but ${code}: ${hint}`,
      )
    }
    if (checksumOf(migration) !== checksum) {
      throw new StoreError(
        'other',
        `the database was migrated with another text of migration ${version} (${name}): ` +
          'its schema is not the one this Sluice needs; use the release that made it',
      )
    }
  }
}

/**
 * Makes the tables as a Sluice of these migrations had them, in the caller's transaction. Throws
 * `StoreError` where the database holds a Sluice already, or where the migrations are not ours.
 */
export async function createTables(
  client: PostgresClient,
  wanted: readonly (Applied & { readonly version: number })[],
): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK_KEY])
  const { rows } = await client.query<{ readonly there: boolean }>(
    "SELECT to_regclass('schema_migrations') IS NOT NULL AS there",
  )
  if (rows[0]?.there === true) {
    throw new StoreError('other', 'the database already holds a Sluice: name an empty one')
  }
  const applied = new Map(wanted.map((migration) => [migration.version, migration]))
  assertKnown(applied, MIGRATIONS)
  await readApplied(client) // Makes the table.
  for (const migration of MIGRATIONS) {
    if (applied.has(migration.version)) await run(client, migration)
  }
}

async function run(client: PostgresClient, migration: Migration): Promise<void> {
  await client.query(migration.sql)
  await client.query(
    'INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)',
    [migration.version, migration.name, checksumOf(migration)],
  )
}

async function apply(client: PostgresClient, migration: Migration): Promise<void> {
  try {
    await client.query('BEGIN')
    await run(client, migration)
    await client.query('COMMIT')
  } catch (cause) {
    const { kind, message, code } = toStoreError(cause)
    const text = `migration ${migration.version} (${migration.name}) failed: ${message}`
    throw new StoreError(kind, text, { code })
  }
}

function checksumOf(migration: Migration): string {
  return createHash('sha256').update(migration.sql).digest('hex')
}
