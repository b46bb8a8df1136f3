/**
 * A result must fit into a model's context: long strings are cut, rows that do not fit are left
 * out, and the result says so. Works on JSON as text, so that numbers keep their digits.
 */
import { stringEnd } from '../api/json-text.ts'
import { MCP_RESULT_CHARS_MAX, MCP_STRING_CHARS_MAX } from '../limits.ts'

export const CUT_MARK = '…(+'
/** What follows the mark, and the way to what was cut. */
export const CUT_HINT =
  '…(+n) ends what is cut, by n characters: get_event with "field" reads a value whole'

/** Reserved for what surrounds the rows: cursors, hints, notes on the answer itself. */
const FRAME_CHARS = 4_000
const HIGH_SURROGATE_END = /[\ud800-\udbff]$/

/** Cuts each string of `json`, names too, at so many characters: `…(+n)` for n more. */
export function cutStrings(json: string, charsMax = MCP_STRING_CHARS_MAX): string {
  const pieces: string[] = []
  let from = 0
  for (let at = json.indexOf('"'); at >= 0; ) {
    const end = stringEnd(json, at) + 1
    if (end - at > charsMax + 2) {
      pieces.push(json.slice(from, at), cutString(json.slice(at, end), charsMax))
      from = end
    }
    at = json.indexOf('"', end)
  }
  pieces.push(json.slice(from))
  return pieces.join('')
}

function cutString(token: string, charsMax: number): string {
  return JSON.stringify(cutText(JSON.parse(token) as string, charsMax))
}

export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const kept = text.slice(0, charsMax).replace(HIGH_SURROGATE_END, '')
  return `${kept}${CUT_MARK}${text.length - kept.length})`
}

/** As many of the first `rows` as fit, with commas between them. */
export function fitRows(rows: readonly string[], charsMax = MCP_RESULT_CHARS_MAX - FRAME_CHARS) {
  let chars = 0
  let count = 0
  for (const row of rows) {
    chars += row.length + 1
    if (chars > charsMax) break
    count++
  }
  return { json: rows.slice(0, count).join(','), count, isCut: count < rows.length }
}

/** The last resort, for an answer that is still too long. */
export function fitWhole(text: string): string {
  return cutText(text, MCP_RESULT_CHARS_MAX - 20)
}
