/**
 * `filter_path` as Elasticsearch reads it, applied to the answers about documents: patterns of
 * dotted names, separated by commas; `*` for any part of a name, `**` for one or more names, a
 * leading `-` to exclude. A pattern includes what is below it. Objects and arrays that become empty
 * are left out as well.
 */
import {
  type BulkItemFields,
  ITEM_ALL,
  ITEM_ERROR_REASON,
  ITEM_ERROR_TYPE,
  ITEM_ID,
  ITEM_INDEX,
  ITEM_PRIMARY_TERM,
  ITEM_RESULT,
  ITEM_SEQ_NO,
  ITEM_SHARDS,
  ITEM_STATUS,
  ITEM_TYPE,
  ITEM_VERSION,
} from '../../../model/batch/bulk-items.ts'

/** Which parts of a bulk reply are sent. */
export interface BulkFilter {
  readonly took: boolean
  readonly errors: boolean
  readonly items: BulkItemFields
  /** The list is sent even when it is empty. */
  readonly emptyItems: boolean
}

/** Every value of an item by its path. `_shards` is sent as a whole or not at all. */
const ITEM_PATHS: readonly (readonly [readonly string[], number])[] = [
  [['_index'], ITEM_INDEX],
  [['_id'], ITEM_ID],
  [['_type'], ITEM_TYPE],
  [['_version'], ITEM_VERSION],
  [['result'], ITEM_RESULT],
  [['_shards', 'total'], ITEM_SHARDS],
  [['_shards', 'successful'], ITEM_SHARDS],
  [['_shards', 'failed'], ITEM_SHARDS],
  [['_seq_no'], ITEM_SEQ_NO],
  [['_primary_term'], ITEM_PRIMARY_TERM],
  [['status'], ITEM_STATUS],
  [['error', 'type'], ITEM_ERROR_TYPE],
  [['error', 'reason'], ITEM_ERROR_REASON],
]

type Pattern = readonly string[]

/** Whether the value at a path is sent. */
type IsSent = (path: readonly string[]) => boolean

/** The parameter's decoded value in a query string; empty when there is none. */
export function readFilterPath(queryString: string): string {
  if (!queryString.includes('filter_path')) return ''
  return new URLSearchParams(queryString).get('filter_path') ?? ''
}

/**
 * The filter of a bulk request; undefined when there is none. `text` is the parameter's value,
 * `known` the fields that it selects from.
 */
export function parseFilterPath(text: string, known = ITEM_ALL): BulkFilter | undefined {
  const isSent = parsePatterns(text)
  if (isSent === undefined) return undefined
  const fieldsOf = (operation: string) =>
    ITEM_PATHS.reduce((fields, [path, bit]) => {
      return isSent(['items', operation, ...path]) ? fields | (bit & known) : fields
    }, 0)
  return {
    took: isSent(['took']),
    errors: isSent(['errors']),
    items: {
      index: fieldsOf('index'),
      create: fieldsOf('create'),
      update: fieldsOf('update'),
      delete: fieldsOf('delete'),
    },
    emptyItems: false,
  }
}

/** What the filter `text` leaves of an answer of nested objects without arrays. */
export function filterAnswer(
  answer: Readonly<Record<string, unknown>>,
  text: string,
): Readonly<Record<string, unknown>> {
  const isSent = parsePatterns(text)
  return isSent === undefined ? answer : filterObject(answer, [], isSent)
}

function filterObject(
  object: Readonly<Record<string, unknown>>,
  path: readonly string[],
  isSent: IsSent,
): Record<string, unknown> {
  const left: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(object)) {
    const own = [...path, name]
    if (typeof value !== 'object' || value === null) {
      if (isSent(own)) left[name] = value
      continue
    }
    const inner = filterObject(value as Record<string, unknown>, own, isSent)
    if (Object.keys(inner).length > 0) left[name] = inner
  }
  return left
}

/** Undefined when everything is sent. */
function parsePatterns(text: string): IsSent | undefined {
  const includes: Pattern[] = []
  const excludes: Pattern[] = []
  for (const each of text.split(',')) {
    const pattern = each.trim()
    if (pattern.startsWith('-')) excludes.push(pattern.slice(1).split('.'))
    else if (pattern !== '') includes.push(pattern.split('.'))
  }
  if (includes.length === 0 && excludes.length === 0) return undefined
  return (path) =>
    (includes.length === 0 || includes.some((pattern) => covers(pattern, path))) &&
    !excludes.some((pattern) => covers(pattern, path))
}

/** Whether `pattern` matches `path` or one of its parents. */
function covers(pattern: Pattern, path: readonly string[], p = 0, at = 0): boolean {
  const segment = pattern[p]
  if (segment === undefined) return true
  const name = path[at]
  if (name === undefined || !matchesName(segment, name)) return false
  if (covers(pattern, path, p + 1, at + 1)) return true
  return segment === '**' && covers(pattern, path, p, at + 1)
}

/** `*` matches any characters, none included. Time is at most the product of the lengths. */
function matchesName(segment: string, name: string): boolean {
  let star = -1
  let resumeAt = 0
  let s = 0
  let n = 0
  while (n < name.length) {
    if (segment[s] === '*') {
      star = s++
      resumeAt = n
    } else if (segment[s] === name[n]) {
      s++
      n++
    } else if (star >= 0) {
      s = star + 1
      n = ++resumeAt
    } else {
      return false
    }
  }
  while (segment[s] === '*') s++
  return s === segment.length
}
