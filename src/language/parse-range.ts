/** Ranges: `[1 TO 5]`, `{1 TO 5}`, `[5 TO *]`. */
import { isSpace, OPEN_BRACKET, QUOTE } from './characters.ts'
import { QueryError } from './query-error.ts'
import type { QueryReader } from './query-reader.ts'
import type { Bound, ExistsTest, RangeTest, Scalar } from './query-tree.ts'
import { makeRange, makeScalar } from './scalar.ts'
import { scanQuoted, scanWord, skipSpace, type WordEnds } from './scan.ts'

const ENDS: WordEnds = { atComma: false, atBrace: true, atBracket: true }

/** Whether a bound stands at `start`, and ` TO ` after it. */
export function isBoundBeforeTo(text: string, start: number): boolean {
  const isQuoted = text.charCodeAt(start) === QUOTE
  const { end } = isQuoted ? scanQuoted(text, start) : scanWord(text, start, ENDS)
  return end > start && isSpace(text.charCodeAt(end)) && isTo(text, skipSpace(text, end))
}

/** A range with two open ends is `f:*`. */
export function parseRange(reader: QueryReader): RangeTest | ExistsTest {
  const start = reader.at
  const opensInclusive = reader.code === OPEN_BRACKET
  reader.at++
  const low = takeBound(reader, start)
  takeTo(reader, start)
  const high = takeBound(reader, start)
  reader.skipSpace()
  const closing = reader.text[reader.at]
  if (closing !== ']' && closing !== '}') {
    const problem = `missing \`]\` or \`}\`, opened at column ${start + 1}`
    throw reader.fail(problem, 'a range is [low TO high]')
  }
  reader.at++
  const span = { start, end: reader.at }
  if (low === undefined && high === undefined) return { kind: 'exists', ...span }
  return makeRange(span, bound(low, opensInclusive), bound(high, closing === ']'))
}

function bound(value: Scalar | undefined, isInclusive: boolean): Bound | undefined {
  return value === undefined ? undefined : { value, isInclusive }
}

function isTo(text: string, at: number): boolean {
  return text.startsWith('TO', at) && (at + 2 >= text.length || isSpace(text.charCodeAt(at + 2)))
}

function takeTo(reader: QueryReader, opened: number): void {
  reader.skipSpace()
  const { text, at } = reader
  if (isTo(text, at)) {
    reader.at += 2
    return
  }
  const problem = `expected \` TO \` in the range opened at column ${opened + 1}`
  throw reader.fail(problem, 'a range is [low TO high]; quote text that begins with `[`')
}

/** Undefined for `*`. */
function takeBound(reader: QueryReader, opened: number): Scalar | undefined {
  reader.skipSpace()
  reader.expect('bound', reader.expected.field)
  const { text, at: start } = reader
  if (reader.code === QUOTE) {
    const { end, text: value } = scanQuoted(text, start)
    reader.at = end
    return makeScalar({ start, end }, value, true)
  }
  const { end, pattern } = scanWord(text, start, ENDS)
  const [first] = pattern
  if (first === undefined) {
    const problem = `expected a bound in the range opened at column ${opened + 1}`
    throw reader.fail(problem, 'a range is [low TO high], `*` for an open end')
  }
  reader.at = end
  if (pattern.length === 1 && first.kind === 'many') return undefined
  if (pattern.length > 1 || first.kind !== 'literal') {
    const repair = 'quote a bound that holds them'
    throw new QueryError({ start, end }, 'a bound has no wildcards', repair)
  }
  return makeScalar({ start, end }, first.text, false)
}
