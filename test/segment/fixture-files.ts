/** Where the fixtures of stored segments lie. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { StoredEvent, StoredRow } from './stored-rows.ts'

/** In the sources: what is compiled has no copy of them. */
export const FIXTURES = new URL('../../../test/segment/fixtures/', import.meta.url)
/** As `sha256sum --check` reads it. */
export const SUMS_FILE = 'SHA256SUMS'

export interface Fixture {
  readonly name: string
  readonly row: StoredRow
  readonly payload: Buffer
  readonly events: readonly StoredEvent[]
}

export function fixtureFile(name: string, kind: 'segment' | 'ndjson'): string {
  return `${name}.${kind}`
}

export function checksumOf(file: string): string {
  return createHash('sha256')
    .update(readFileSync(new URL(file, FIXTURES)))
    .digest('hex')
}

/** The names of all files beside the README. */
export function listFixtureFiles(): string[] {
  const others = ['README.md', SUMS_FILE]
  return readdirSync(FIXTURES).filter((file) => !others.includes(file))
}

export function readFixtures(): Fixture[] {
  return listFixtureFiles()
    .filter((file) => file.endsWith('.segment'))
    .map((file) => readFixture(file.slice(0, -'.segment'.length)))
}

function readFixture(name: string): Fixture {
  const payload = readFileSync(new URL(fixtureFile(name, 'segment'), FIXTURES))
  const text = readFileSync(new URL(fixtureFile(name, 'ndjson'), FIXTURES), 'utf8')
  const [row, ...events] = text.trimEnd().split('\n')
  return {
    name,
    row: JSON.parse(row!) as StoredRow,
    payload,
    events: events.map((event) => JSON.parse(event) as StoredEvent),
  }
}
