/**
 * Reads a query: text to tree (`query-tree.ts`), or one `QueryError`. The language is described in
 * docs/language.md.
 *
 * Precedence climbing without a separate lexer, since what a character means depends on its
 * position (`/` opens a regular expression only where a value begins). Linear in the text: nothing
 * is read more than a few times. It recurses only for brackets, which are at most
 * `QUERY_LEVELS_MAX` deep.
 */
import { BANG, CLOSE, EQUALS, isSpace, MINUS, OPEN, SLASH } from './characters.ts'
import { conjoin, negate } from './combine.ts'
import { findMistakenClause, findMistakenSuffix, findMistakenWord } from './mistakes.ts'
import { takeField } from './parse-field.ts'
import { isComparison, parseComparison, parseTest, takeValue } from './parse-test.ts'
import { QueryReader } from './query-reader.ts'
import type { Query } from './query-tree.ts'
import { isFieldColon, skipSpace, tryScanField } from './scan.ts'

/** Throws only `QueryError`. */
export function parse(text: string): Query {
  return parseText(new QueryReader(text))
}

/** As `parse`, with a reader, which knows afterwards how far it came and what it expected there. */
export function parseText(reader: QueryReader): Query {
  reader.skipSpace()
  if (reader.isAtEnd) return { kind: 'all', start: 0, end: reader.text.length }
  const query = parseOr(reader)
  if (reader.isAtEnd) return query
  throw reader.fail('`)` closes nothing', 'remove it, or quote it: `")"`')
}

function parseOr(reader: QueryReader): Query {
  const clauses = [parseAnd(reader)]
  while (reader.takeKeyword('or')) clauses.push(parseAnd(reader))
  return conjoin('or', clauses)
}

function parseAnd(reader: QueryReader): Query {
  const clauses = [parseNot(reader)]
  for (;;) {
    reader.expect('operator')
    const isJoined = reader.takeKeyword('and')
    if (!isJoined && (reader.isAtClose() || reader.peekKeyword()?.kind === 'or')) break
    clauses.push(parseNot(reader))
  }
  return conjoin('and', clauses)
}

function parseNot(reader: QueryReader): Query {
  reader.skipSpace()
  const start = reader.at
  let isNegated = false
  while (takeNegation(reader)) isNegated = !isNegated
  reader.skipSpace()
  reader.expect('clause')
  const mistake = findMistakenClause(reader)
  if (mistake !== undefined) throw mistake
  reader.operator = undefined
  const query = reader.code === OPEN ? parseGroup(reader) : parseClause(reader)
  return isNegated ? negate({ start, end: reader.at }, query) : query
}

/** `NOT`, or `-` and `!` right before something. */
function takeNegation(reader: QueryReader): boolean {
  if (reader.takeKeyword('not')) return true
  const { text, at, code } = reader
  const next = text.charCodeAt(at + 1)
  if (code !== MINUS && code !== BANG) return false
  if (Number.isNaN(next) || isSpace(next) || next === CLOSE || next === EQUALS) return false
  reader.operator = text[at]
  reader.at++
  return true
}

function parseGroup(reader: QueryReader): Query {
  const opened = reader.open()
  const query = parseOr(reader)
  reader.close(')', opened)
  throwIfAny(findMistakenSuffix(reader, opened))
  return query
}

function parseClause(reader: QueryReader): Query {
  const { text, at } = reader
  const scanned = tryScanField(text, at)
  if (scanned === undefined) return parseBare(reader)
  const next = skipSpace(text, scanned.end)
  const isField = isFieldColon(text, next)
  if (!isField && !isComparison(text, next)) return parseBare(reader)
  const field = takeField(reader, scanned, isField)
  if (field.kind === 'exists') return field.clause
  reader.at = next
  if (isField) {
    reader.at++
    return parseTest(reader, field.field, parseOr)
  }
  return parseComparison(reader, field.field)
}

/** A clause without a field, which searches the text fields. */
function parseBare(reader: QueryReader): Query {
  const start = reader.at
  const test = takeValue(reader, reader.code === SLASH, false)
  const isWord = test.kind === 'value' ? !test.value.isQuoted : test.kind === 'wildcard'
  if (isWord) throwIfAny(findMistakenWord(reader, start))
  reader.countClause(start)
  const { end } = test
  if (test.kind === 'exists') return { kind: 'all', start, end }
  const what = reader.text.slice(start, Math.min(end, start + 40))
  if (reader.element !== undefined) {
    reader.at = start
    const repair = 'inside `{…}` each clause names a field of the element: name:value'
    throw reader.fail(`expected a field before \`${what}\``, repair, end - start)
  }
  if (test.kind === 'value' && test.value.text === '') {
    reader.at = start
    throw reader.fail(
      'an empty phrase finds nothing',
      'write field:"" for fields that are empty',
      2,
    )
  }
  return { kind: 'text', start, end, test }
}

function throwIfAny(mistake: Error | undefined): void {
  if (mistake !== undefined) throw mistake
}
