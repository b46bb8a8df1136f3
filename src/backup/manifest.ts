/** What an archive says of itself, and the names of its members. Read from archives: input. */
import type { SourceContents } from '../store/backup/backup-source.ts'
import { ArchiveError } from './tar.ts'

export const FORMAT = 1
export const MANIFEST = 'sluice-backup/manifest.json'
/** After all tables: how many rows each has. */
export const ROWS = 'sluice-backup/rows.json'
/** The last member: what `sha256sum -c` takes. */
export const SUMS = 'sluice-backup/SHA256SUMS'
/** A piece of a table's COPY data; they follow one another. */
export const PART = /^sluice-backup\/tables\/([a-z_]{1,60})\/\d{6,9}\.copy$/
export const PART_BYTES = 8 * 1024 * 1024
export const MANIFEST_BYTES_MAX = 1024 * 1024
/** 160 million parts are over a petabyte. */
export const SUMS_BYTES_MAX = 256 * 1024 * 1024

export interface Manifest extends SourceContents {
  readonly format: typeof FORMAT
  readonly sluice: string
}

export function partName(table: string, number: number): string {
  return `sluice-backup/tables/${table}/${String(number).padStart(6, '0')}.copy`
}

/** Throws `ArchiveError`. */
export function parseManifest(text: string): Manifest {
  const manifest = parseObject(MANIFEST, text) as Partial<Manifest>
  const { format, migrations, tables, counters } = manifest
  if (format !== FORMAT) {
    const known = `this Sluice reads format ${FORMAT}`
    throw new ArchiveError(`the backup has format ${String(format).slice(0, 20)}; ${known}`)
  }
  const isWhole =
    isListOf(migrations, ['name', 'checksum']) &&
    isListOf(tables, ['name']) &&
    isListOf(counters, ['table', 'column', 'value']) &&
    tables!.every(({ columns }) => Array.isArray(columns) && columns.every(isText)) &&
    migrations!.every(({ version }) => Number.isSafeInteger(version))
  if (!isWhole) throw new ArchiveError(`${MANIFEST} is not one of a backup`)
  return manifest as Manifest
}

/** By table. Throws `ArchiveError`. */
export function parseRows(text: string): ReadonlyMap<string, number> {
  return new Map(Object.entries(parseObject(ROWS, text) as Record<string, number>))
}

function parseObject(name: string, text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    throw new ArchiveError(`${name} is not JSON: the archive is damaged`)
  }
  throw new ArchiveError(`${name} is not an object: the archive is damaged`)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isListOf(value: unknown, members: readonly string[]): boolean {
  return (
    Array.isArray(value) &&
    value.every((one: unknown) => {
      const record = typeof one === 'object' && one !== null ? (one as Record<string, unknown>) : {}
      return members.every((name) => isText(record[name]))
    })
  )
}
