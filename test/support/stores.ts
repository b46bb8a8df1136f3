/**
 * Real stores for tests. `npm test` starts one PostgreSQL and one ClickHouse for the whole run
 * (`run-stores.ts`), and each caller gets a database of its own there. Without them, as when a few
 * files are run, a caller gets stores of its own. So does a test that kills a store or changes how
 * it starts: that starts one by itself (`src/embedded`).
 */
import { randomBytes } from 'node:crypto'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { migratePostgres } from '../../src/store/migrations/run.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'
import { shareRealClickHouse } from './real-clickhouse.ts'
import { timed } from './times.ts'

export interface TestStore {
  /** With the database that is the caller's. */
  readonly url: string
  /** Removes what is the caller's; its own connections are closed before. */
  close(): Promise<void>
}

/** Of the run's PostgreSQL: the database with all tables that others are copied from. */
export const TEMPLATE = 'test_template'

/** A database with all tables, or `isEmpty`: with none. */
export function openTestPostgres({ isEmpty = false } = {}): Promise<TestStore> {
  return timed('start postgres', openPostgres(isEmpty))
}

async function openPostgres(isEmpty: boolean): Promise<TestStore> {
  const shared = process.env.TEST_POSTGRES
  if (shared !== undefined) return copyDatabase(shared, isEmpty ? 'template0' : TEMPLATE)
  const dataDir = makeDirectory()
  const log = recordingLog()
  const store = await startEmbeddedPostgres({ dataDir, log })
  if (!isEmpty) await migrate(store.url)
  const close = async () => {
    await store.stop()
    removeDirectory(dataDir)
  }
  return { url: store.url, close: () => timed('stop postgres', close()) }
}

/** Makes all tables. */
export async function migrate(url: string): Promise<void> {
  const log = recordingLog()
  const postgres = new Postgres({ url, log })
  await migratePostgres(postgres, { log })
  await postgres.end()
}

async function copyDatabase(shared: string, template: string): Promise<TestStore> {
  const name = newName()
  const run = async (sql: string) => {
    const postgres = new Postgres({ url: shared, log: recordingLog() })
    await postgres.query(sql)
    await postgres.end()
  }
  await run(`CREATE DATABASE ${name} TEMPLATE ${template}`)
  const url = new URL(shared)
  url.pathname = `/${name}`
  return { url: url.href, close: () => run(`DROP DATABASE ${name} WITH (FORCE)`) }
}

/** The database of its URL is not there yet: `ensureClickHouse` makes it. */
export function openTestClickHouse(): Promise<TestStore> {
  return timed('start clickhouse', openClickHouse())
}

async function openClickHouse(): Promise<TestStore> {
  const shared = process.env.TEST_CLICKHOUSE ?? (await shareRealClickHouse())?.watcherUrl
  if (shared !== undefined) {
    const url = shared + newName()
    const close = async () => {
      const clickhouse = new ClickHouse({ url })
      await clickhouse.command(`DROP DATABASE IF EXISTS ${clickhouse.database} SYNC`)
      await clickhouse.close()
    }
    return { url, close }
  }
  const dataDir = makeDirectory()
  const store = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  const close = async () => {
    await store.stop()
    removeDirectory(dataDir)
  }
  return { url: store.url, close: () => timed('stop clickhouse', close()) }
}

function newName(): string {
  return `test_${randomBytes(6).toString('hex')}`
}
