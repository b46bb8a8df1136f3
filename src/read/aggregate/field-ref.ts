/** Reads which field events are grouped by or counted in. */
import { IngestError } from '../../errors.ts'
import { readFieldName } from '../../language/field-text.ts'
import { SYSTEM_FIELDS } from '../../language/query-tree.ts'
import { FIELD_PATH_BYTES_MAX } from '../../limits.ts'
import { type FieldRef, LABELS } from '../../model/aggregates.ts'
import { isFieldPath, mayBeInArray } from '../../model/field-path.ts'

/** In backquotes any name is a path of the payload. Throws `malformed`; `name` is the member. */
export function readFieldRef(name: string, text: string): FieldRef {
  const { path, isQuoted } = readFieldName(text)
  const label = LABELS.find((one) => one === text)
  if (label !== undefined) return { kind: 'system', label }
  const fail = (rule: string) => new IngestError('malformed', `"${name}" ${rule}`)
  if ((SYSTEM_FIELDS as readonly string[]).includes(text)) {
    throw fail(
      `cannot be "${text}"; of system fields take ${LABELS.join(', ')}, or {"bucket": "auto"}`,
    )
  }
  if (Buffer.byteLength(path) > FIELD_PATH_BYTES_MAX) {
    throw fail(`is over ${FIELD_PATH_BYTES_MAX} bytes (FIELD_PATH_BYTES_MAX)`)
  }
  if (!isFieldPath(path)) throw fail('must be a dotted path, such as "http.status"')
  if (!isQuoted && mayBeInArray(path)) {
    throw fail('cannot be of values in arrays ("[]"): ask for the array, or quote it: "`a[]`"')
  }
  return { kind: 'path', path }
}
