/** The field before a test. */
import { isFieldPath } from '../model/field-path.ts'
import { QUOTE } from './characters.ts'
import type { QueryReader } from './query-reader.ts'
import {
  type Field,
  type PathField,
  type Query,
  SYSTEM_FIELDS,
  type SystemFieldName,
} from './query-tree.ts'
import { type ScannedField, scanQuoted, skipSpace, tryScanField } from './scan.ts'

export type TakenField =
  | { readonly kind: 'field'; readonly field: Field }
  /** `_exists_:f`, whole. */
  | { readonly kind: 'exists'; readonly clause: Query }

/** Takes the field that was scanned at this position. */
export function takeField(
  reader: QueryReader,
  scanned: ScannedField,
  hasColon: boolean,
): TakenField {
  const start = reader.at
  const [name] = scanned.parts
  const isSimple = scanned.isPlain && !scanned.isOpen && scanned.parts.length === 1
  if (isSimple && hasColon && name === '_exists_') {
    return { kind: 'exists', clause: takeExists(reader, scanned.end) }
  }
  reader.at = scanned.end
  return { kind: 'field', field: makeField(reader, scanned, start) }
}

function makeField(reader: QueryReader, scanned: ScannedField, start: number): Field {
  const { end, parts, isOpen, isPlain } = scanned
  const span = { start, end }
  if (parts.length === 0) return { kind: 'any', ...span }
  if (!isQueryablePath(parts)) {
    reader.at = start
    throw reader.fail('this is not a path that can be queried', undefined, end - start)
  }
  if (isOpen) return { kind: 'below', ...span, parts }
  const [name] = parts
  const isSystem = (SYSTEM_FIELDS as readonly (string | undefined)[]).includes(name)
  if (isSystem && isPlain && parts.length === 1 && reader.element === undefined) {
    return { kind: 'system', ...span, name: name as SystemFieldName }
  }
  return { kind: 'path', ...span, parts }
}

/** Whether a query can name the path with these parts (see `PathField`). */
export function isQueryablePath(parts: readonly string[]): boolean {
  return parts.every((part, index) => (part === '' ? index > 0 : isFieldPath(part)))
}

function takeExists(reader: QueryReader, nameEnd: number): Query {
  const { text, at: start } = reader
  reader.at = skipSpace(text, text.indexOf(':', nameEnd) + 1)
  reader.expect('value')
  const from = reader.at
  const quoted = reader.code === QUOTE ? scanQuoted(text, from) : undefined
  const scanned = quoted === undefined ? tryScanField(text, from) : tryScanField(quoted.text, 0)
  const isWhole = quoted === undefined || scanned?.end === quoted.text.length
  if (scanned === undefined || !isWhole) {
    throw reader.fail('expected a field after `_exists_:`', 'e.g. _exists_:user.id')
  }
  const end = quoted?.end ?? scanned.end
  const field = makeField(reader, { ...scanned, end }, from)
  reader.at = end
  reader.countClause(start)
  if (scanned.isOpen) reader.countWildcards(start, 1)
  if (field.kind === 'any') return { kind: 'all', start, end }
  return { kind: 'field', start, end, field, test: { kind: 'exists', start: from, end } }
}

export function isArray(field: Field): field is PathField {
  return field.kind === 'path' && field.parts.length > 1 && field.parts.at(-1) === ''
}
