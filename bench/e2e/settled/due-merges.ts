/**
 * Whether the embedded ClickHouse has parts that it will merge: in a table of wide parts any
 * neighbours are, once they are old enough, that are together below the table's bound. Seen from
 * its files, as it has no port to be asked at.
 */
import { type Dirent, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MERGE_BYTES_MAX } from '../../../src/limits.ts'

export interface Part {
  readonly day: string
  readonly first: number
  readonly last: number
  readonly version: string
  readonly bytes: number
  readonly isMerged: boolean
}

const OWN_TABLE = /^events_[1-9][0-9]*$/
/** `20261123_1_30_1`, with `_31` after a mutation. */
const PART = /^([0-9]{8})_([0-9]+)_([0-9]+)_([0-9]+)(_[0-9]+)?$/

/** `dataDirectory`: the service's. */
export function isMergeDue(dataDirectory: string, bytesMax = MERGE_BYTES_MAX): boolean {
  return partsByTable(dataDirectory).some((parts) => {
    return parts.some((part, at) => {
      const next = parts[at + 1]
      return next?.day === part.day && part.bytes + next.bytes <= bytesMax
    })
  })
}

/** The parts of all tables that streams have for themselves. */
export function listParts(dataDirectory: string): Part[] {
  return partsByTable(dataDirectory).flat()
}

function partsByTable(dataDirectory: string): Part[][] {
  const database = join(dataDirectory, 'clickhouse', 'data', 'data', 'sluice')
  const tables = tryList(database).filter(({ name }) => OWN_TABLE.test(name))
  return tables.map(({ name }) => activeParts(join(database, name)))
}

/** In their order, without those that others were made of, which stay for minutes. */
function activeParts(table: string): Part[] {
  const parts = tryList(table).flatMap(({ name }): Part[] => {
    const [, day, first, last, level, mutation] = PART.exec(name) ?? []
    if (day === undefined || first === undefined || last === undefined) return []
    const version = `${level?.padStart(9, '0')}${mutation ?? ''}`
    const bytes = bytesIn(join(table, name))
    const isMerged = level !== '0'
    return [{ day, first: Number(first), last: Number(last), version, bytes, isMerged }]
  })
  const active = parts.filter((part) => {
    return !parts.some((other) => other !== part && isMadeOf(other, part))
  })
  return active.sort((a, b) => a.day.localeCompare(b.day) || a.first - b.first)
}

function isMadeOf(part: Part, source: Part): boolean {
  const isWithin = part.day === source.day && part.first <= source.first && part.last >= source.last
  return isWithin && part.version > source.version
}

function bytesIn(directory: string): number {
  return tryList(directory).reduce((bytes, { name }) => {
    return bytes + (statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0)
  }, 0)
}

/** Merges remove directories while we look. */
function tryList(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch {
    return []
  }
}
