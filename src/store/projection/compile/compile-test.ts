/**
 * A test of one value, as SQL over an expression of its type. It may be NULL where the value is
 * NULL, and has no `ifNull` and no casts, so that indexes on the column can be used.
 */
import { makeNumberTest, type NumberTest } from '../../../language/number-test.ts'
import type {
  Pattern,
  RangeTest,
  Test,
  ValueTest,
  WildcardTest,
} from '../../../language/query-tree.ts'
import { FOLD_FUNCTION, FOLDED_TO_ASCII, foldCase, makeTextTest } from '../../../language/words.ts'
import type { ScalarType } from '../../../model/field-catalog.ts'
import { INT64_MAX, INT64_MIN, UINT64_MAX } from '../../../model/int64.ts'
import { separatedSql, unescapedSql } from '../text-index.ts'
import { bothBounds } from './both-bounds.ts'
import { matchSql } from './match-sql.ts'
import { wholePattern, wordPattern } from './pattern-regex.ts'
import type { SqlParams } from './sql-params.ts'
import { timeRange } from './time-sql.ts'

/** A value of one type: a column, or an element of one. */
export interface TypedValue {
  readonly sql: string
  readonly type: ScalarType
}

/**
 * The condition; `undefined` where no value of this type meets the test. `isText`: the value is one
 * of a text field, which is searched by words. Precondition: the test is not `exists`.
 */
export function compileTest(
  test: Exclude<Test, { kind: 'exists' }>,
  value: TypedValue,
  isText: boolean,
  params: SqlParams,
): string | undefined {
  if (test.kind === 'range') return compileRange(test, value, params)
  if (value.type !== 'String') return compileEquals(test, value, params)
  const { sql } = value
  const isWords = isText && test.kind !== 'regex' && !test.isWhole
  switch (test.kind) {
    case 'value':
      if (isWords) return compileWords(test, sql, params)
      return `${sql} = ${params.add('String', test.value.text)}`
    case 'wildcard':
      return isWords ? compileWordPattern(test, sql, params) : compilePattern(test, sql, params)
    case 'regex': {
      const flags = test.ignoreCase ? '(?i)' : ''
      return matchSql(sql, `${flags}${test.source}`, params)
    }
  }
}

/** Of numbers and booleans. */
function compileEquals(
  test: Test,
  { sql, type }: TypedValue,
  params: SqlParams,
): string | undefined {
  if (test.kind !== 'value') return undefined
  const { kind, text } = test.value
  if (type === 'Bool') return kind === 'boolean' ? `${sql} = ${text}` : undefined
  if (kind !== 'number') return undefined
  return compileNumber(makeNumberTest('=', text), { sql, type }, params)
}

function compileNumber(
  { integer, double }: NumberTest,
  { sql, type }: TypedValue,
  params: SqlParams,
): string | undefined {
  if (type === 'Float64') {
    if (double === undefined) return undefined
    return `${sql} ${double.operator} ${params.add('Float64', floatText(double.value))}`
  }
  if (integer === undefined) return undefined
  const { operator, value } = integer
  // An integer is a `UInt64` only where no `Int64` can hold it.
  const [min, max] = type === 'Int64' ? [INT64_MIN, INT64_MAX] : [INT64_MAX + 1n, UINT64_MAX]
  // All values of the type meet a bound outside of the type's range, or none does.
  if (value >= min && value <= max) return `${sql} ${operator} ${params.add(type, String(value))}`
  const isMet = operator === '>=' ? value < min : operator === '<=' && value > max
  return isMet ? `isNotNull(${sql})` : undefined
}

function floatText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? 'inf' : '-inf'
}

function compileRange(
  { of, low, high }: RangeTest,
  value: TypedValue,
  params: SqlParams,
): string | undefined {
  switch (of) {
    case 'number': {
      if (value.type === 'String' || value.type === 'Bool') return undefined
      return bothBounds(low, high, (operator, bound) => {
        return compileNumber(makeNumberTest(operator, bound.value.text), value, params)
      })
    }
    case 'string':
      if (value.type !== 'String') return undefined
      return bothBounds(low, high, (operator, bound) => {
        return `${value.sql} ${operator} ${params.add('String', bound.value.text)}`
      })
    case 'time':
      return value.type === 'String' ? timeRange(value.sql, low, high, params) : undefined
    case 'level':
      return undefined
  }
}

/** The expression is written as in the text index, or it would not be used. */
function compileWords({ value }: ValueTest, sql: string, params: SqlParams): string {
  const test = makeTextTest(value.text)
  switch (test.kind) {
    case 'empty':
      return `${sql} = ''`
    case 'substring':
      return compileContains(test.text, sql, params)
    case 'words': {
      const { words } = test
      const separated = separatedSql(sql, (text) => params.add('String', text))
      if (words.length === 1)
        return `hasAllTokens(${separated}, ${params.add('Array(String)', words)})`
      return `hasPhrase(${separated}, ${params.add('String', words.join(' '))})`
    }
  }
}

/**
 * The text somewhere, in any case; `folded` is. To fold the column takes three times as long as to
 * search it, so ASCII is searched in the column as it is, and only what may hold other spellings of
 * an ASCII letter is folded.
 */
function compileContains(folded: string, sql: string, params: SqlParams): string {
  const text = params.add('String', folded)
  const inFolded = `position(${FOLD_FUNCTION}(${sql}), ${text}) > 0`
  if (/[^\0-\x7f]/.test(folded)) return inFolded
  const asItIs = `positionCaseInsensitive(${sql}, ${text}) > 0`
  const others = [...FOLDED_TO_ASCII].flatMap(([letter, other]) => {
    return folded.includes(letter) ? [other] : []
  })
  if (others.length === 0) return asItIs
  const hasOther = `multiSearchAny(${sql}, ${params.add('Array(String)', others)})`
  return `(${asItIs} OR (${hasOther} AND ${inFolded}))`
}

function compileWordPattern({ pattern }: WildcardTest, sql: string, params: SqlParams): string {
  if (isContained(pattern)) {
    return compileContains(foldCase(literalOf(pattern)), sql, params)
  }
  const unescaped = unescapedSql(sql, (text) => params.add('String', text))
  return matchSql(unescaped, wordPattern(pattern), params)
}

/** The usual forms without a regular expression. */
function compilePattern({ pattern }: WildcardTest, sql: string, params: SqlParams): string {
  const kinds = kindsOf(pattern)
  const literal = () => params.add('String', literalOf(pattern))
  if (kinds === 'literal,many') return `startsWith(${sql}, ${literal()})`
  if (kinds === 'many,literal') return `endsWith(${sql}, ${literal()})`
  if (isContained(pattern)) return `position(${sql}, ${literal()}) > 0`
  return matchSql(sql, wholePattern(pattern), params)
}

function kindsOf(pattern: Pattern): string {
  return pattern.map(({ kind }) => kind).join()
}

/** `*text*` */
function isContained(pattern: Pattern): boolean {
  return kindsOf(pattern) === 'many,literal,many'
}

function literalOf(pattern: Pattern): string {
  const [literal] = pattern.flatMap((token) => (token.kind === 'literal' ? [token.text] : []))
  return literal ?? ''
}
