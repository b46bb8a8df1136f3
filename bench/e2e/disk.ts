/** Bytes on disk, as `du` counts them: blocks that are taken, not lengths. */
import { type Dirent, lstatSync, readdirSync } from 'node:fs'
import { join, sep } from 'node:path'

const BLOCK_BYTES = 512

export interface DiskUse {
  /** Tables and indexes of the raw store. */
  readonly postgresTables: number
  /** Its write-ahead log: bounded, and used again. */
  readonly postgresWal: number
  readonly clickhouse: number
  readonly other: number
}

/** Sorts every file below `directory` by the store it belongs to. */
export function measureDisk(directory: string): DiskUse {
  const use = { postgresTables: 0, postgresWal: 0, clickhouse: 0, other: 0 }
  for (const { path, bytes } of walk(directory)) {
    const parts = path.slice(directory.length).split(sep)
    if (parts.includes('pg_wal')) use.postgresWal += bytes
    else if (parts.includes('base') && /postgres|pg/i.test(parts[1] ?? '')) {
      use.postgresTables += bytes
    } else if (/clickhouse|chdb/i.test(parts[1] ?? '')) use.clickhouse += bytes
    else use.other += bytes
  }
  return use
}

function* walk(directory: string): Generator<{ path: string; bytes: number }> {
  for (const entry of tryList(directory)) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) yield* walk(path)
    else if (entry.isFile()) yield { path, bytes: tryMeasureFile(path) }
  }
}

/** Merges remove directories while we walk: what is gone counts nothing. */
function tryList(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch {
    return []
  }
}

function tryMeasureFile(path: string): number {
  return (lstatSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * BLOCK_BYTES
}

export function subtractDisk(end: DiskUse, start: DiskUse): DiskUse {
  return {
    postgresTables: end.postgresTables - start.postgresTables,
    postgresWal: end.postgresWal - start.postgresWal,
    clickhouse: end.clickhouse - start.clickhouse,
    other: end.other - start.other,
  }
}
