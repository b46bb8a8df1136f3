/** Fields that stand alone, outside a query: as columns, as what is counted, in addresses. */
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
