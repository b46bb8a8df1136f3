/**
 * Reads an archive once, from its beginning to its end: into a database, or only to check it. What
 * it fills is committed by the caller, who gets an answer only when every checksum was right.
 */
import {
  MANIFEST,
  MANIFEST_BYTES_MAX,
  type Manifest,
  PART,
  parseManifest,
  parseRows,
  ROWS,
  SUMS,
  SUMS_BYTES_MAX,
} from './manifest.ts'
import type { Progress } from './progress.ts'
import { ArchiveError, readTar, readWhole, type TarMember } from './tar.ts'

/** Where a table's data goes. Resolves with the number of rows; undefined: it was not counted. */
export type FillTable = (
  table: string,
  columns: readonly string[],
  chunks: AsyncIterable<Uint8Array>,
) => Promise<number | undefined>

export interface BackupReader {
  /** Once what the archive says of itself is known. */
  readonly begin: (manifest: Manifest) => Promise<FillTable>
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Throws `ArchiveError`, and what the reader's functions throw. */
export async function readBackup(
  input: AsyncIterable<Uint8Array>,
  { begin, progress, signal }: BackupReader,
): Promise<Manifest> {
  const members = readTar(input)
  const sums: string[] = []
  const seen = ({ digest, name }: TarMember) => sums.push(`${digest()}  ${name}\n`)
  const next = async (): Promise<TarMember> => {
    const { value, done } = await members.next()
    if (done !== true) return value
    throw new ArchiveError('the archive lacks its end: the backup was broken off')
  }
  const first = await next()
  if (first.name !== MANIFEST) throw new ArchiveError('this is no backup of Sluice')
  const manifest = parseManifest(await readWhole(first, MANIFEST_BYTES_MAX))
  seen(first)
  progress.begin(manifest.tables.reduce((sum, { bytes }) => sum + Number(bytes), 0))
  const fill = await begin(manifest)
  const counted = new Map<string, number | undefined>()
  let member = await next()
  for (const { name, columns } of manifest.tables) {
    const parts = async function* () {
      while (PART.exec(member.name)?.[1] === name) {
        for await (const chunk of member.body) {
          signal.throwIfAborted()
          progress.add(chunk.length)
          yield chunk
        }
        seen(member)
        member = await next()
      }
    }
    counted.set(name, await fill(name, columns, parts()))
  }
  if (member.name !== ROWS) throw new ArchiveError('the archive has a member out of its order')
  assertRows(counted, parseRows(await readWhole(member, MANIFEST_BYTES_MAX)))
  seen(member)
  const last = await next()
  if (last.name !== SUMS) throw new ArchiveError('the archive has a member out of its order')
  assertSums(sums, await readWhole(last, SUMS_BYTES_MAX))
  return manifest
}

function assertRows(
  counted: ReadonlyMap<string, number | undefined>,
  told: ReadonlyMap<string, number>,
): void {
  for (const [table, rows] of counted) {
    if (rows === undefined || rows === told.get(table)) continue
    throw new ArchiveError(`${table} has ${rows} rows, and the backup had ${told.get(table)}`)
  }
}

function assertSums(found: readonly string[], told: string): void {
  if (found.join('') === told) return
  const lines = new Set(told.split('\n').map((line) => `${line}\n`))
  const wrong = found.find((line) => !lines.has(line))
  const name = wrong?.trim().split('  ')[1]
  const what = name === undefined ? 'members are missing' : `${name} is not as it was written`
  throw new ArchiveError(`the archive is damaged: ${what} (its checksum differs)`)
}
