/** Versions of what several people change: each says which one he means to replace. */
import { IngestError } from '../errors.ts'
import type { Schema } from './schema.ts'

interface Versioned {
  readonly version: number
}

export const IF_MATCH: Readonly<Record<'If-Match', Schema>> = {
  'If-Match': { type: 'string', description: 'The `ETag` that is to be changed; else 412' },
}

export const IF_NONE_MATCH: Readonly<Record<'If-None-Match', Schema>> = {
  'If-None-Match': { type: 'string', description: '`*`: only if there is none of the name' },
}

export function etagOf({ version }: Versioned): string {
  return `"${version}"`
}

/**
 * Throws `precondition_failed` unless `known`, the `thing` as it is now, is one that the request
 * means; undefined: there is none.
 */
export function assertMatch(
  headers: Readonly<Record<string, string | undefined>>,
  known: Versioned | undefined,
  thing: string,
): void {
  const wanted = headers['if-match']
  const isNew = headers['if-none-match'] !== '*' || known === undefined
  if (isNew && (wanted === undefined || isOneOf(wanted, known))) return
  throw changedMeanwhile(thing)
}

export function changedMeanwhile(thing: string): IngestError {
  const text = `the ${thing} has another version by now; read it again, then change it`
  return new IngestError('precondition_failed', text)
}

function isOneOf(wanted: string, known: Versioned | undefined): boolean {
  if (known === undefined) return false
  const tags = wanted.split(',').map((tag) => tag.trim())
  return wanted === '*' || tags.includes(etagOf(known))
}
