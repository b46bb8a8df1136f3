/**
 * The PostgreSQL of a backup or restore: that of a URL, that of a service which runs on the data
 * directory, or the embedded one, started for this alone.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import { runningPostgresUrl, startEmbeddedPostgres } from '../embedded/postgres.ts'
import { openDataDirectory } from '../machine/data-directory.ts'
import { Postgres } from '../store/postgres.ts'
import { StoreError } from '../store/store-error.ts'
import type { StoreLog } from '../store/store-log.ts'

export interface OpenedPostgres {
  readonly postgres: Postgres
  close(): Promise<void>
}

/** Throws `ConfigError` and `StoreError`. */
export async function openForBackup(config: Config, log: StoreLog): Promise<OpenedPostgres> {
  const { postgresUrl, dataDir } = config
  if (postgresUrl !== undefined) return connect(postgresUrl, log)
  if (!existsSync(join(dataDir, 'postgres', 'PG_VERSION'))) {
    throw new ConfigError(
      `${dataDir} holds no embedded PostgreSQL: name the service's --data, or its --postgres-url`,
    )
  }
  try {
    return await startFor(dataDir, log)
  } catch (cause) {
    // In use by a running service: its PostgreSQL answers us as well.
    if (!(cause instanceof StoreError) || cause.kind !== 'conflict') throw cause
    const running = runningPostgresUrl(dataDir)
    const opened = connect(running.url, log)
    return { ...opened, close: () => opened.close().finally(() => running.close()) }
  }
}

/** What other starts left in a directory, without data. */
const EMPTY_NAMES = /^(?:node-identity|postgres|postgres-.*|sluice\.pid|.*\.lock|lost\+found)$/

/** Throws `ConfigError` and `StoreError`. */
export async function openForRestore(config: Config, log: StoreLog): Promise<OpenedPostgres> {
  const { postgresUrl, dataDir } = config
  if (postgresUrl !== undefined) return connect(postgresUrl, log)
  const names = existsSync(dataDir) ? readdirSync(dataDir) : []
  const other = names.find((name) => !EMPTY_NAMES.test(name))
  if (other !== undefined) {
    throw new ConfigError(
      `${dataDir} holds data (${other}): name a new directory by --data, or move this one away`,
    )
  }
  return startFor(dataDir, log)
}

function connect(url: string, log: StoreLog): OpenedPostgres {
  const postgres = new Postgres({ url, log, connectionsMax: 1 })
  return { postgres, close: () => postgres.end() }
}

async function startFor(dataDir: string, log: StoreLog): Promise<OpenedPostgres> {
  const directory = await openDataDirectory(dataDir, log)
  try {
    const store = await startEmbeddedPostgres({ dataDir: directory.path, log })
    const opened = connect(store.url, log)
    const close = async () => {
      await opened.close()
      await store.stop()
      await directory.close()
    }
    return { ...opened, close }
  } catch (cause) {
    await directory.close()
    throw cause
  }
}
