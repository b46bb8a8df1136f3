/** Fields that stand alone, outside a query: as columns, in addresses, in lists and parameters. */
import { COMMA } from './characters.ts'
import { isQueryablePath } from './parse-field.ts'
import { QueryError } from './query-error.ts'
import {
  type PathField,
  SYSTEM_FIELDS,
  type SystemField,
  type SystemFieldName,
} from './query-tree.ts'
import { skipSpace, tryScanField } from './scan.ts'

/** The field whose text this is, as `writeField` writes it; undefined when it is none. */
export function tryReadField(text: string): PathField | SystemField | undefined {
  const found = tryTakeField(text, 0)
  return found?.end === text.length ? found : undefined
}

/**
 * Fields separated by commas; a comma within backquotes is part of a name. What is no field in the
 * language, such as `user name`, counts as the name as it stands, up to the next comma.
 */
export function readFields(text: string): readonly (PathField | SystemField)[] {
  const fields: (PathField | SystemField)[] = []
  for (let at = skipSpace(text, 0); at < text.length; ) {
    const found = tryTakeField(text, at)
    const isWhole = found && (found.end === text.length || text.charCodeAt(found.end) === COMMA)
    const comma = text.indexOf(',', at)
    const end = isWhole ? found.end : comma < 0 ? text.length : comma
    const name = text.slice(at, end).trim()
    if (isWhole) fields.push(found)
    else if (isQueryablePath([name])) {
      fields.push({ kind: 'path', start: at, end, parts: [name] })
    }
    at = skipSpace(text, end + 1)
  }
  return fields
}

function tryTakeField(text: string, start: number): PathField | SystemField | undefined {
  const scanned = tryScan(text, start)
  if (scanned === undefined || scanned.isOpen || !isQueryablePath(scanned.parts)) return undefined
  const { end, parts, isPlain } = scanned
  const [name] = parts
  const isSystem = (SYSTEM_FIELDS as readonly (string | undefined)[]).includes(name)
  return isSystem && isPlain && parts.length === 1
    ? { kind: 'system', start, end, name: name as SystemFieldName }
    : { kind: 'path', start, end, parts }
}

function tryScan(text: string, start: number) {
  try {
    return tryScanField(text, start)
  } catch (cause) {
    if (cause instanceof QueryError) return undefined
    throw cause
  }
}

/** A name in a list or a parameter: a plain path, or as queries write it. */
export interface FieldName {
  /** Without the backquotes, their escapes undone. */
  readonly path: string
  /** Brackets and the names of system fields in it are nothing special. */
  readonly isQuoted: boolean
}

/**
 * Of a text with backquotes that is a field of the query language, that field; any other text is a
 * path as it is. So a name may hold backquotes of its own, as long as it does not look like one.
 */
export function readFieldName(text: string): FieldName {
  if (!text.includes('`')) return { path: text, isQuoted: false }
  const plain = looselyQuoted(text) ?? { path: text, isQuoted: false }
  try {
    const scanned = tryScanField(text, 0)
    if (scanned?.end !== text.length || scanned.isOpen) return plain
    const path = scanned.parts.join('[].') // As `catalogPath`, which browsers do not have.
    return path === '' ? plain : { path, isQuoted: scanned.parts.length === 1 }
  } catch (cause) {
    if (cause instanceof QueryError) return plain
    throw cause
  }
}

/** In backquotes, with others inside that are not escaped. */
function looselyQuoted(text: string): FieldName | undefined {
  const isQuoted = text.length > 2 && text.startsWith('`') && text.endsWith('`')
  return isQuoted ? { path: text.slice(1, -1), isQuoted } : undefined
}
