/** Which fields an export has, as the API names them, and which of the shown ones it lacks. */

import { isFieldPath, mayBeInArray } from '../../src/model/field-path.ts'
import { apiField, apiPath, type EventField, fieldText } from '../base/field.ts'

export interface ExportFields {
  readonly fields: readonly string[]
  /** Left out, as they are shown. */
  readonly left: readonly string[]
}

/** As many columns as the service takes (SEARCH_FIELDS_MAX). */
export const EXPORT_FIELDS_MAX = 64

/** Of columns: those of the service's own, and those within arrays, are none of an export. */
export function columnFields(columns: readonly EventField[]): ExportFields {
  const isTaken = (field: EventField) => {
    return field.kind === 'path' && field.parts.length === 1 && isExported(field.parts[0]!)
  }
  const taken = columns.filter(isTaken)
  return {
    fields: taken.slice(0, EXPORT_FIELDS_MAX).map(apiField),
    left: [...columns.filter((field) => !isTaken(field)), ...taken.slice(EXPORT_FIELDS_MAX)].map(
      fieldText,
    ),
  }
}

export interface CatalogField {
  readonly path: string
  readonly types: readonly string[]
  readonly last_seen_at: string
}

/** In the order of the catalog. Objects are there by what is in them, arrays as a whole. */
export function catalogFields(all: readonly CatalogField[]): ExportFields {
  const paths = all.filter(({ path, types }) => {
    return types.some((type) => type !== 'object') && !mayBeInArray(path) && isExported(path)
  })
  const bySeen = paths.toSorted((a, b) => Date.parse(b.last_seen_at) - Date.parse(a.last_seen_at))
  const taken = new Set(bySeen.slice(0, EXPORT_FIELDS_MAX))
  return {
    fields: paths.filter((field) => taken.has(field)).map(({ path }) => apiPath(path)),
    left: paths.filter((field) => !taken.has(field)).map(({ path }) => path),
  }
}

function isExported(path: string): boolean {
  return isFieldPath(path) && !path.startsWith('.') && !path.endsWith('.')
}
