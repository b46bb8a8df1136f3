/** Writes an archive: the manifest, each table in parts, how many rows they had, checksums. */
import { BackupSource, type SourceContents } from '../store/backup/backup-source.ts'
import type { Postgres } from '../store/postgres.ts'
import { FORMAT, MANIFEST, type Manifest, PART_BYTES, partName, ROWS, SUMS } from './manifest.ts'
import type { Progress } from './progress.ts'
import { TarWriter, type WriteBytes } from './tar.ts'

export interface BackupTask {
  readonly postgres: Postgres
  /** Of Sluice. */
  readonly version: string
  readonly write: WriteBytes
  readonly progress: Progress
  readonly signal: AbortSignal
}

export interface Written {
  readonly bytes: number
  readonly contents: SourceContents
}

/** Throws `StoreError`, and what `write` throws; what was written then is no backup. */
export async function writeBackup(task: BackupTask): Promise<Written> {
  const { postgres, version, write, progress, signal } = task
  const source = await BackupSource.open(postgres)
  try {
    const { contents } = source
    const tar = new TarWriter(write)
    const manifest: Manifest = { format: FORMAT, sluice: version, ...contents }
    await tar.add(MANIFEST, Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`))
    progress.begin(contents.tables.reduce((sum, { bytes }) => sum + bytes, 0))
    const rows: Record<string, number> = {}
    for (const table of contents.tables) {
      let part = 0
      const add = async (bytes: Uint8Array) => {
        signal.throwIfAborted()
        await tar.add(partName(table.name, part++), bytes)
        progress.add(bytes.length)
      }
      rows[table.name] = await inParts(source.copyOut(table), add)
    }
    await tar.add(ROWS, Buffer.from(`${JSON.stringify(rows)}\n`))
    await tar.add(SUMS, Buffer.from(tar.sums.join('')))
    await tar.end()
    return { bytes: tar.bytes, contents }
  } finally {
    source.close()
  }
}

/** Hands on what comes in pieces of `PART_BYTES` or a little more, and returns what it returns. */
async function inParts<T>(
  chunks: AsyncGenerator<Uint8Array, T>,
  add: (bytes: Uint8Array) => Promise<void>,
): Promise<T> {
  let pieces: Uint8Array[] = []
  let bytes = 0
  for (;;) {
    const { value, done } = await chunks.next()
    if (done === true) {
      if (bytes > 0) await add(Buffer.concat(pieces))
      return value
    }
    pieces.push(value)
    bytes += value.length
    if (bytes < PART_BYTES) continue
    await add(Buffer.concat(pieces))
    pieces = []
    bytes = 0
  }
}
