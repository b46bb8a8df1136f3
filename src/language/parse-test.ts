/** Parses the test on a field: what follows its colon, or a comparison. */
import { QUERY_REGEX_BYTES_MAX } from './bounds.ts'
import {
  BANG,
  CLOSE,
  COMMA,
  EQUALS,
  OPEN,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
} from './characters.ts'
import { conjoin, negate } from './combine.ts'
import { findMistakenOperator, findMistakenSuffix, findMistakenValue } from './mistakes.ts'
import { isArray } from './parse-field.ts'
import { isBoundBeforeTo, parseRange } from './parse-range.ts'
import { QueryError } from './query-error.ts'
import type { QueryReader } from './query-reader.ts'
import type {
  Bound,
  ElementClause,
  ExistsTest,
  Field,
  PathField,
  Query,
  RegexTest,
  Test,
  ValueTest,
  WildcardTest,
} from './query-tree.ts'
import { findRegexFault } from './regex-syntax.ts'
import { makeRange, makeScalar } from './scalar.ts'
import { isFieldColon, scanQuoted, skipSpace, tryScanField, tryScanRegex } from './scan.ts'
import { readSystemTest } from './system-fields.ts'

type ParseQuery = (reader: QueryReader) => Query

/** Whether a comparison is at `at`, including those of other languages. */
export function isComparison(text: string, at: number): boolean {
  const char = text[at]
  if (char === '=' || char === '<' || char === '>') return true
  return char === '!' && (text[at + 1] === '=' || text[at + 1] === '~')
}

/** The test at this position; `parseQuery` reads the query on an element. */
export function parseTest(reader: QueryReader, field: Field, parseQuery: ParseQuery): Query {
  reader.skipSpace()
  reader.expect('value', field)
  const { text, at, code } = reader
  if (code === OPEN) return parseList(reader, field, parseQuery)
  if (code === OPEN_BRACKET) return makeClause(reader, field, parseRange(reader))
  if (code === OPEN_BRACE) {
    if (isRangeAt(reader, field)) return makeClause(reader, field, parseRange(reader))
    return parseElement(reader, field, parseQuery)
  }
  if (isComparison(text, at)) return parseComparison(reader, field)
  const mistake = findMistakenValue(reader, text.slice(field.start, field.end))
  if (mistake !== undefined) throw mistake
  return makeClause(reader, field, takeValue(reader, code === SLASH, false))
}

/** Whether the brace at this position opens a range: `{`, a bound, ` TO `. */
function isRangeAt({ text, at }: QueryReader, field: Field): boolean {
  const start = skipSpace(text, at + 1)
  // After an array it may begin a condition on an element: `items[]:{price:[1 TO 5]}`.
  const name = isArray(field) ? tryScanField(text, start) : undefined
  const next = name === undefined ? text.length : skipSpace(text, name.end)
  return !isFieldColon(text, next) && !isComparison(text, next) && isBoundBeforeTo(text, start)
}

/** A clause from the field (in a list, from the value) to this position. */
function makeClause(reader: QueryReader, field: Field, test: Test): Query {
  const isFirst = !reader.ends.atComma
  const start = isFirst ? field.start : test.start
  reader.countClause(start)
  if (field.kind === 'any' || field.kind === 'below') reader.countWildcards(start, 1)
  const read = field.kind === 'system' ? readSystemTest(field, test) : test
  const isAny = field.kind === 'any' && read.kind === 'exists'
  if (isAny) return { kind: 'all', start, end: test.end }
  return { kind: 'field', start, end: test.end, field, test: read }
}

/** Quoted text, a regular expression if `mayBeRegex`, or a word. */
export function takeValue(
  reader: QueryReader,
  mayBeRegex: boolean,
  isWhole: boolean,
): ValueTest | WildcardTest | RegexTest | ExistsTest {
  const { text, at: start, code } = reader
  if (code === QUOTE) {
    const { end, text: value } = scanQuoted(text, start)
    reader.at = end
    const mistake = findMistakenSuffix(reader, start)
    if (mistake !== undefined) throw mistake
    const span = { start, end }
    return { kind: 'value', ...span, value: makeScalar(span, value, true), isWhole }
  }
  const regex = mayBeRegex ? takeRegex(reader) : undefined
  if (regex !== undefined) return regex
  const { end, pattern, wildcards } = reader.takeWord()
  const [first] = pattern
  const span = { start, end }
  if (first === undefined) throw reader.fail('expected a value', 'quote text that begins like this')
  const mistake = findMistakenSuffix(reader, start)
  if (mistake !== undefined) throw mistake
  if (pattern.length === 1 && first.kind === 'many') return { kind: 'exists', ...span }
  reader.countWildcards(start, wildcards)
  if (pattern.length > 1 || first.kind !== 'literal') {
    return { kind: 'wildcard', ...span, pattern, isWhole }
  }
  return { kind: 'value', ...span, value: makeScalar(span, first.text, false), isWhole }
}

function takeRegex(reader: QueryReader): RegexTest | undefined {
  const { text, at: start } = reader
  const regex = tryScanRegex(text, start)
  if (regex === undefined) return undefined
  const { source, ignoreCase, end } = regex
  const span = { start, end }
  // A code unit takes at most three bytes, so few sources need counting.
  const bytes = 3 * source.length <= QUERY_REGEX_BYTES_MAX ? 0 : encodedLength(source)
  if (bytes > QUERY_REGEX_BYTES_MAX) {
    const problem = `the regular expression is over ${QUERY_REGEX_BYTES_MAX} bytes`
    throw new QueryError(span, `${problem} (QUERY_REGEX_BYTES_MAX)`)
  }
  const fault = findRegexFault(source)
  if (fault !== undefined) {
    const repair = `${fault.repair}; if it is text, quote it`
    throw new QueryError(span, `in the regular expression: ${fault.problem}`, repair)
  }
  reader.at = end
  return { kind: 'regex', ...span, source, ignoreCase }
}

function encodedLength(text: string): number {
  let bytes = 0
  for (const char of text) {
    const code = char.codePointAt(0)!
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
  }
  return bytes
}

/** `=x`, `!=x`, `>=x` and so on. */
export function parseComparison(reader: QueryReader, field: Field): Query {
  const mistake = findMistakenOperator(reader)
  if (mistake !== undefined) throw mistake
  const { text, at: start, code } = reader
  const hasEquals = text.charCodeAt(start + 1) === EQUALS
  reader.at += hasEquals ? 2 : 1
  reader.skipSpace()
  reader.expect('value', field)
  const operator = text.slice(start, start + (hasEquals ? 2 : 1))
  const name = text.slice(field.start, field.end)
  const missing = findMistakenValue(reader, name)
  if (missing !== undefined) throw missing
  if (reader.code === OPEN) throw reader.fail('a list has no operator', `write ${name}:(a OR b)`)
  if (isComparison(text, reader.at)) {
    throw reader.fail(`expected a value after \`${operator}\``, 'quote text that begins like this')
  }
  const test = takeValue(reader, false, true)
  if (code === EQUALS) return makeClause(reader, field, test)
  if (code === BANG) {
    const clause = makeClause(reader, field, test)
    return negate(clause, clause)
  }
  if (test.kind !== 'value') {
    const problem = `\`${operator}\` compares with one value, without wildcards`
    throw new QueryError(test, problem, 'quote a value that holds them')
  }
  const bound: Bound = { value: test.value, isInclusive: hasEquals }
  const span = { start, end: test.end }
  const isLow = operator[0] === '>'
  const range = makeRange(span, isLow ? bound : undefined, isLow ? undefined : bound)
  return makeClause(reader, field, range)
}

/** `(a OR b)`, `(a AND b)`, `(a b)`, `(a, b)`: without an operator, OR joins values. */
function parseList(reader: QueryReader, field: Field, parseQuery: ParseQuery): Query {
  const { ends } = reader
  const opened = reader.open()
  reader.ends = { ...ends, atComma: true }
  const clauses = [parseListAnd(reader, field, parseQuery)]
  for (;;) {
    reader.skipSpace()
    if (reader.isAtEnd || reader.code === CLOSE || reader.isAtClose()) break
    if (reader.code === COMMA) reader.at++
    else reader.takeKeyword('or')
    clauses.push(parseListAnd(reader, field, parseQuery))
  }
  reader.close(')', opened)
  reader.ends = ends
  const mistake = findMistakenSuffix(reader, opened)
  if (mistake !== undefined) throw mistake
  return conjoin('or', clauses)
}

function parseListAnd(reader: QueryReader, field: Field, parseQuery: ParseQuery): Query {
  const clauses = [parseListNot(reader, field, parseQuery)]
  while (reader.takeKeyword('and')) clauses.push(parseListNot(reader, field, parseQuery))
  return conjoin('and', clauses)
}

function parseListNot(reader: QueryReader, field: Field, parseQuery: ParseQuery): Query {
  reader.skipSpace()
  const start = reader.at
  let isNegated = false
  while (reader.takeKeyword('not')) isNegated = !isNegated
  const query = parseTest(reader, field, parseQuery)
  return isNegated ? negate({ start, end: reader.at }, query) : query
}

function parseElement(reader: QueryReader, field: Field, parseQuery: ParseQuery): ElementClause {
  const { text, ends, element: outer } = reader
  if (!isArray(field)) {
    const name = text.slice(field.start, field.end)
    const repair = `write ${name}[]:{…} for one element of an array, {low TO high} for a range`
    throw reader.fail(`\`{\` after \`${name}\` opens neither a range nor an element`, repair)
  }
  const array: PathField = field
  const opened = reader.open()
  reader.ends = { atComma: false, atBrace: true, atBracket: false }
  reader.element = array
  const query = parseQuery(reader)
  reader.close('}', opened)
  reader.ends = ends
  reader.element = outer
  return { kind: 'element', start: field.start, end: reader.at, field: array, query }
}
