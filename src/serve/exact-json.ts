/**
 * JSON whose numbers keep their text: `JSON.parse` would round integers past 2^53, and a query for
 * one id would then find its neighbour.
 */
import { stringEnd } from '../api/json-text.ts'
import { REST_DEPTH_MAX } from '../limits.ts'
import { malformed } from './body-fields.ts'

/** A number as it was written, such as `9223372036854775807` or `1e3`. */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * Strings whole, or numbers. In text that is known to be JSON every quote outside a string opens
 * one, so a number is never found within a string, nor within `true`, `false` and `null`.
 */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g

/** The value of a body that is JSON. Throws `malformed`. */
export function parseBody(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw malformed('the body is not valid JSON', cause)
  }
}

/** As `JSON.parse`, with an `ExactNumber` for each number. Throws `malformed`. */
export function parseExactJson(text: string): unknown {
  const numbers: ExactNumber[] = []
  parseBody(text) // Judges it: the scans below need JSON.
  // JSON.parse itself takes any depth, but not with a function for each value.
  if (depthOf(text) > REST_DEPTH_MAX) {
    throw malformed(`the body is nested over ${REST_DEPTH_MAX} levels (REST_DEPTH_MAX)`)
  }
  // Each number becomes its index, which is small enough for JSON.parse to keep.
  const indexed = text.replace(STRING_OR_NUMBER, (token) => {
    if (token.startsWith('"')) return token
    return String(numbers.push(new ExactNumber(token)) - 1)
  })
  return JSON.parse(indexed, (_, value: unknown) =>
    typeof value === 'number' ? numbers[value] : value,
  )
}

/** How deep objects and arrays are nested. `text` is known to be JSON. */
function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = stringEnd(text, at)
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth)
    else if (code === 0x7d || code === 0x5d) depth--
  }
  return deepest
}
