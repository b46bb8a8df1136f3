/** The filter of a request: a field and the value that it must have. */
import { FIELD_PATH_BYTES_MAX } from '../limits.ts'
import { isFieldPath } from '../model/field-path.ts'
import type { FieldFilter, FieldValue } from '../model/field-value.ts'
import { isPathTooLong, malformed, readFields } from './body-fields.ts'
import { ExactNumber } from './exact-json.ts'

/** Reads `value`, of a body by `parseExactJson`; messages call it `name`. Throws `malformed`. */
export function readFieldFilter(name: string, value: unknown): FieldFilter {
  const { field, equals } = readFields(value, ['field', 'equals'], `"${name}"`)
  return {
    field: readFieldPath(`${name}.field`, field),
    equals: readFieldValue(`${name}.equals`, equals),
  }
}

/** A dotted path that events can be asked for. Throws `malformed`. */
export function readFieldPath(name: string, value: unknown): string {
  if (typeof value !== 'string') throw malformed(`"${name}" must be a dotted path`)
  if (isPathTooLong(value)) {
    throw malformed(`"${name}" is over ${FIELD_PATH_BYTES_MAX} bytes (FIELD_PATH_BYTES_MAX)`)
  }
  if (!isFieldPath(value)) throw malformed(`"${name}" is not a path that can be queried`)
  return value
}

function readFieldValue(name: string, value: unknown): FieldValue {
  if (value === null) return { kind: 'null' }
  if (value instanceof ExactNumber) return { kind: 'number', text: value.text }
  if (typeof value === 'string') return { kind: 'string', value }
  if (typeof value === 'boolean') return { kind: 'boolean', value }
  throw malformed(`"${name}" must be a string, a number, true, false or null`)
}
