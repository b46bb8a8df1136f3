/**
 * JSON whose numbers keep their text: `JSON.parse` would round integers past 2^53, and a query for
 * one id would then find its neighbour.
 */
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

/** As `JSON.parse`, with an `ExactNumber` for each number. Throws `malformed`. */
export function parseExactJson(text: string): unknown {
  const numbers: ExactNumber[] = []
  try {
    JSON.parse(text) // Judges it: the scan below needs JSON.
  } catch (cause) {
    throw malformed('the body is not valid JSON', cause)
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
