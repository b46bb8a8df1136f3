/** How values of events are written where they stand alone, so that unlike ones look unlike. */
import {
  isMisleading,
  visibleLine,
  visibleString,
  visibleText,
} from '../../src/language/visible-text.ts'
import { type JsonSpan, jsonKind, jsonString, jsonText, wholeJson } from './exact-json.ts'

export const NO_VALUE = '(no value)'

/**
 * A value on one line: a string as it is, but in quotes where it could be taken for something else,
 * such as `"200"`, `"true"` or `""`; anything else as JSON; null in words.
 */
export function shownValue(json: string): string {
  const value = wholeJson(json)
  const kind = jsonKind(value)
  if (kind === 'null') return NO_VALUE
  return kind === 'string' ? visibleString(jsonString(value)) : visibleLine(jsonText(value))
}

/** The same where there may be lines, and null is null. */
export function shownSpan(value: JsonSpan): string {
  if (jsonKind(value) !== 'string') return visibleText(jsonText(value))
  const text = jsonString(value)
  return isMisleading(text) ? visibleText(JSON.stringify(text)) : visibleText(text)
}

/**
 * Isolated from what stands beside it, where that cannot be done by an element: in titles, labels
 * and charts. U+2068 and U+2069 are what `bdi` is.
 */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`
}
