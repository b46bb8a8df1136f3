/** The value of a group, as JSON text with all its digits. */
import { readElementTexts } from '../../api/json-text.ts'
import { type GroupValue, JSON_NUMBER } from '../../model/aggregates.ts'

/** An array whose text was cut is a string: the beginning of its JSON. */
export function groupJson({ kind, text }: GroupValue): string {
  switch (kind) {
    case 'null':
      return 'null'
    case 'boolean':
      return text === 'true' ? 'true' : 'false'
    case 'string':
      return JSON.stringify(text)
    case 'number':
      // Not every float of ClickHouse is a JSON number: inf and nan become strings.
      return JSON_NUMBER.test(text) ? text : JSON.stringify(text)
    case 'other':
      return arrayJson(text)
  }
}

/** In the projection an array or object among scalars is a string that holds its JSON. */
const INNER = /"(?:\[|\{)/
/** Nobody cuts texts that are shorter. */
const CUT_CHARS_MIN = 256

function arrayJson(text: string): string {
  if (text.length >= CUT_CHARS_MIN && !isJson(text)) return JSON.stringify(text)
  if (!INNER.test(text)) return text
  return `[${readElementTexts(text).map(innerJson).join(',')}]`
}

function innerJson(element: string): string {
  if (!element.startsWith('"[') && !element.startsWith('"{')) return element
  const inner = JSON.parse(element) as string
  return isJson(inner) ? inner : element
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
