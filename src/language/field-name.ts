/** Names of fields in lists and parameters: plain paths, or as queries write them. */
import { QueryError } from './query-error.ts'
import { tryScanField } from './scan.ts'

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
