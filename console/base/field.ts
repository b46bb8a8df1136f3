/**
 * A field of events as the console names it, wherever it does: in filters, columns, groups, facets,
 * addresses and saved views. It is written as in a query, so any name stays what it is; the API
 * has a form of its own, which only this file knows.
 */
import { FIELD_PATH_BYTES_MAX } from '../../src/language/bounds.ts'
import { readFields, tryReadField } from '../../src/language/field-text.ts'
import { writeField } from '../../src/language/format.ts'
import { isQueryablePath } from '../../src/language/parse-field.ts'
import {
  type PathField,
  SYSTEM_FIELDS,
  type SystemField,
  type SystemFieldName,
} from '../../src/language/query-tree.ts'
import { mayBeInArray } from '../../src/model/field-path.ts'

/** `stream`: of which stream an event is; the API counts by it, queries do not know it. */
export type EventField = PathField | SystemField | { readonly kind: 'stream' }

const NOWHERE = { start: 0, end: 0 }
const STREAM = '_stream'
/** What the API can count by, of what is no path of the payload. */
const COUNTED: readonly string[] = [STREAM, '_level', '_service', '_shape', '_pattern']
/** What a figure of groups is called in requests. */
export const FIGURE = 'figure'
/** Members of an answer's row that are no field. */
const OF_ROWS: readonly string[] = ['_bucket', FIGURE]

/** The path of a payload with these parts (see `PathField`). */
export function pathField(parts: readonly string[]): PathField {
  return { kind: 'path', parts, ...NOWHERE }
}

export function systemField(name: SystemFieldName): SystemField {
  return { kind: 'system', name, ...NOWHERE }
}

/** As it is written in queries and addresses; the same field always has the same text. */
export function fieldText(field: EventField): string {
  if (field.kind === 'stream') return STREAM
  const isNamedSo = field.kind === 'path' && field.parts.length === 1 && field.parts[0] === STREAM
  return isNamedSo ? `\`${STREAM}\`` : writeField(field)
}

/** What somebody typed, or an address has: one field; undefined for nothing, and for no name. */
export function readFieldText(text: string): EventField | undefined {
  const typed = text.trim()
  if (typed === STREAM) return { kind: 'stream' }
  const field = tryReadField(typed)
  if (field !== undefined) return field
  return isQueryablePath([typed]) ? pathField([typed]) : undefined
}

/** Several, with commas between them. Each is there once. */
export function readFieldList(text: string): readonly EventField[] {
  const byText = new Map<string, EventField>()
  for (const field of readFields(text)) {
    const isStream = text.slice(field.start, field.end) === STREAM
    const one = isStream ? ({ kind: 'stream' } as const) : field
    byText.set(fieldText(one), one)
  }
  return [...byText.values()]
}

/** As many as a view may have; of more than that no row could be drawn in time. */
export const COLUMNS_MAX = 64

/** The fields of the address that are columns. */
export function readColumns(params: URLSearchParams): readonly EventField[] {
  return readFieldList(params.get('cols') ?? '').slice(0, COLUMNS_MAX)
}

export function fieldListText(fields: readonly EventField[]): string {
  return fields.map(fieldText).join(',')
}

/** Whether the API can count by it: not by what is in arrays, ids, times and overlong names. */
export function isCounted(field: EventField): boolean {
  if (field.kind === 'stream') return true
  if (field.kind === 'system') return COUNTED.includes(field.name)
  const [path = '', ...inside] = field.parts
  return inside.length === 0 && utf8.encode(path).length <= FIELD_PATH_BYTES_MAX
}

const utf8 = new TextEncoder()

/**
 * As the API takes it in `fields`, `group_by` and aggregates: a path as it is, and in backquotes
 * where that would be read as something else.
 */
export function apiField(field: EventField): string {
  if (field.kind === 'stream') return STREAM
  if (field.kind === 'system') return field.name
  return apiPath(field.parts.join('[].'))
}

/** The same of a path of the payload. */
export function apiPath(path: string): string {
  const isTaken = [...COUNTED, ...OF_ROWS, ...SYSTEM_FIELDS].includes(path)
  const looksWritten = path.includes('`') && tryReadField(path) !== undefined
  const isOdd = isTaken || looksWritten || mayBeInArray(path)
  return isOdd ? `\`${path.replace(/[`\\]/g, '\\$&')}\`` : path
}

/** Back from `apiField`; undefined for what is no field. */
export function fieldOfApi(text: string): EventField | undefined {
  if (text === STREAM) return { kind: 'stream' }
  const name = SYSTEM_FIELDS.find((one) => one === text)
  if (name !== undefined) return systemField(name)
  const written = text.includes('`') ? tryReadField(text) : undefined
  if (written !== undefined) return written
  return isQueryablePath([text]) ? pathField([text]) : undefined
}
