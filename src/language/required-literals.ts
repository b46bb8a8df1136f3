/**
 * Bytes that an event must hold for a query to match it. Where they are missing, nobody needs to
 * decode the events: most of what waits to be projected is passed over by them.
 *
 * What follows from the query is necessary and not sufficient, so a clause of which nothing can be
 * said is left out, and a literal may ignore case where the clause does not.
 */

import type { TextNames } from '../model/text-fields.ts'
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

/** More than these are not looked for. */
const ALTERNATIVES_MAX = 64
/** Of a phrase the longest ones are. */
const WORDS_MAX = 4
const NUMBER_BYTES = 8

const encoder = new TextEncoder()

/** Every event that matches the query has all of these; none where nothing can be said. */
export function requiredLiterals(query: Query, text: TextNames): readonly RequiredLiteral[] {
  switch (query.kind) {
    case 'and':
      return query.clauses.flatMap((clause) => requiredLiterals(clause, text))
    case 'or': {
      const firsts = query.clauses.map((clause) => requiredLiterals(clause, text)[0])
      if (firsts.some((first) => first === undefined)) return []
      return bounded(firsts.flatMap((first) => first ?? []))
    }
    case 'text':
      // In any string of an event without text fields.
      return placed(query.test, wordLiterals(query.test), undefined)
    case 'field':
      return fieldLiterals(query, text)
    case 'all':
    case 'not':
    case 'element':
      return []
  }
}

function fieldLiterals({ field, test }: FieldClause, text: TextNames): RequiredLiteral[] {
  if (field.kind === 'system') return []
  if (field.kind === 'path' && field.parts.length > 1) return []
  const path = field.kind === 'path' ? field.parts[0]! : undefined
  const isExact = path !== undefined && !text.has(path)
  const isWhole = isExact || ('isWhole' in test && test.isWhole)
  return placed(test, isWhole ? exactLiterals(test) : wordLiterals(test), path)
}

/** All that a string has which meets the test; instead of each of them, a number may do. */
function placed(
  test: Test,
  ofString: readonly Literal[],
  path: string | undefined,
): RequiredLiteral[] {
  const numbers = test.kind === 'value' ? numberLiterals(test.value) : []
  if (numbers === undefined) return []
  return ofString.flatMap((literal) => {
    return bounded([literal, ...numbers].map((each) => ({ ...each, path })))
  })
}

function bounded(alternatives: readonly PlacedLiteral[]): RequiredLiteral[] {
  return alternatives.length > ALTERNATIVES_MAX ? [] : [alternatives]
}

type Literal = Omit<PlacedLiteral, 'path'>

/** Of a test that compares whole values. */
function exactLiterals(test: Test): Literal[] {
  return textsOf(test).map((text) => ({ bytes: encoder.encode(text), ignoresCase: false }))
}

/** Of a test of words, or of whole values: those have the words, too. */
function wordLiterals(test: Test): Literal[] {
  const texts = textsOf(test).flatMap((text) => {
    if (test.kind === 'wildcard') return foldCase(text)
    const asked = makeTextTest(text)
    if (asked.kind === 'words') return asked.words
    return asked.kind === 'substring' ? asked.text : []
  })
  // Outside ASCII a letter may change its length with its case.
  const ascii = texts.filter((text) => /^[\0-\x7f]+$/.test(text))
  const longest = ascii.toSorted((a, b) => b.length - a.length).slice(0, WORDS_MAX)
  return longest.map((text) => ({ bytes: encoder.encode(text), ignoresCase: true }))
}

/** What a test says of strings letter by letter. */
function textsOf(test: Test): string[] {
  const texts = test.kind === 'value' ? [test.value.text] : []
  if (test.kind === 'wildcard') texts.push(...literalsOf(test.pattern))
  return texts.filter((text) => text !== '')
}

function literalsOf(pattern: Pattern): string[] {
  return pattern.flatMap((token) => (token.kind === 'literal' ? [token.text] : []))
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
