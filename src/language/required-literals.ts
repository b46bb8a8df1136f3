/**
 * Bytes that an event must hold for a query to match it. Where they are missing, nobody needs to
 * decode the events: most of what waits to be projected is passed over by them.
 *
 * What follows from the query is necessary and not sufficient, so a clause of which nothing can be
 * said is left out, and a literal may ignore case where the clause does not.
 */
import { makeNumberTest } from './number-test.ts'
import type { FieldClause, Pattern, Query, Scalar, Test } from './query-tree.ts'
import { foldCase, makeTextTest } from './words.ts'

/** A literal, and where it must be. */
export interface PlacedLiteral {
  /** A path outside of arrays, the arrays that it has included; undefined for any place. */
  readonly path: string | undefined
  /** Not empty: UTF-8 of a text, or the eight bytes of a number, lowest first. */
  readonly bytes: Uint8Array
  /**
   * The bytes are ASCII in lower case; the event may have them in upper case, or as one of the two
   * characters outside ASCII that fold into it: `İ` and the Kelvin sign.
   */
  readonly ignoresCase: boolean
}

/** The event has at least one of these. */
export type RequiredLiteral = readonly PlacedLiteral[]

/** Where the evaluator looks for words; as in `workers/evaluate/compile-query.ts`. */
export interface TextPlaces {
  readonly textFields: readonly string[]
  readonly isAllText: boolean
}

/** More than these are not looked for. */
const ALTERNATIVES_MAX = 64
const NUMBER_BYTES = 8

const encoder = new TextEncoder()

/** Every event that matches the query has all of these; none where nothing can be said. */
export function requiredLiterals(query: Query, text: TextPlaces): readonly RequiredLiteral[] {
  switch (query.kind) {
    case 'and':
      return query.clauses.flatMap((clause) => requiredLiterals(clause, text))
    case 'or': {
      const firsts = query.clauses.map((clause) => requiredLiterals(clause, text)[0])
      if (firsts.some((first) => first === undefined)) return []
      return bounded(firsts.flatMap((first) => first ?? []))
    }
    case 'text': {
      const words = wordLiteral(query.test)
      const numbers = query.test.kind === 'value' ? numberLiterals(query.test.value) : []
      if (words === undefined || numbers === undefined) return []
      const places = text.isAllText ? [undefined] : text.textFields
      const literals = [words, ...numbers]
      return bounded(places.flatMap((path) => literals.map((each) => ({ ...each, path }))))
    }
    case 'field':
      return fieldLiterals(query, text)
    case 'all':
    case 'not':
    case 'element':
      return []
  }
}

function fieldLiterals({ field, test }: FieldClause, text: TextPlaces): RequiredLiteral[] {
  if (field.kind === 'system') return []
  if (field.kind === 'path' && field.parts.length > 1) return []
  const path = field.kind === 'path' ? field.parts[0]! : undefined
  // A path that is no text field may still be one where all strings are, or be below `*`.
  const isExact = path !== undefined && !text.isAllText && !text.textFields.includes(path)
  const string =
    isExact || ('isWhole' in test && test.isWhole) ? exactLiteral(test) : wordLiteral(test)
  const numbers = test.kind === 'value' ? numberLiterals(test.value) : []
  if (string === undefined || numbers === undefined) return []
  return bounded([string, ...numbers].map((literal) => ({ ...literal, path })))
}

function bounded(alternatives: readonly PlacedLiteral[]): RequiredLiteral[] {
  return alternatives.length > ALTERNATIVES_MAX ? [] : [alternatives]
}

type Literal = Omit<PlacedLiteral, 'path'>

/** Of a test that compares whole values. */
function exactLiteral(test: Test): Literal | undefined {
  if (test.kind === 'value') return literalOf(test.value.text)
  return test.kind === 'wildcard' ? literalOf(longest(literalsOf(test.pattern))) : undefined
}

function literalOf(text: string): Literal | undefined {
  return text === '' ? undefined : { bytes: encoder.encode(text), ignoresCase: false }
}

/** Of a test of words, or of whole values: those have the words, too. */
function wordLiteral(test: Test): Literal | undefined {
  if (test.kind === 'wildcard') return foldedLiteral(literalsOf(test.pattern).map(foldCase))
  if (test.kind !== 'value') return undefined
  const asked = makeTextTest(test.value.text)
  if (asked.kind === 'words') return foldedLiteral(asked.words)
  return asked.kind === 'substring' ? foldedLiteral([asked.text]) : undefined
}

function literalsOf(pattern: Pattern): string[] {
  return pattern.flatMap((token) => (token.kind === 'literal' ? [token.text] : []))
}

/** Outside ASCII a letter may change its length with its case. */
function foldedLiteral(texts: readonly string[]): Literal | undefined {
  const ascii = texts.filter((text) => /^[\0-\x7f]+$/.test(text))
  const literal = literalOf(longest(ascii))
  return literal && { ...literal, ignoresCase: true }
}

function longest(texts: readonly string[]): string {
  return texts.reduce((a, b) => (b.length > a.length ? b : a), '')
}

/** Of what else a value equals; undefined where that has no bytes of its own. */
function numberLiterals({ kind, text }: Scalar): Literal[] | undefined {
  if (kind === 'string') return []
  if (kind === 'boolean') return undefined
  const { integer, double } = makeNumberTest('=', text)
  if (double?.value === 0) return undefined // It equals -0, which has other bytes.
  const literals: Literal[] = []
  const add = (write: (view: DataView) => void) => {
    const bytes = new Uint8Array(NUMBER_BYTES)
    write(new DataView(bytes.buffer))
    literals.push({ bytes, ignoresCase: false })
  }
  if (integer !== undefined) add((view) => view.setBigInt64(0, integer.value, true))
  if (double !== undefined) add((view) => view.setFloat64(0, double.value, true))
  return literals
}
