/**
 * The state of reading a query's text: the position, open brackets, and what the bounds leave. Also
 * what was expected last, from which input boxes complete (`complete.ts`).
 */
import {
  QUERY_CLAUSES_MAX,
  QUERY_LEVELS_MAX,
  QUERY_TEXT_BYTES_MAX,
  QUERY_WILDCARDS_MAX,
} from './bounds.ts'
import { BAR, CLOSE, CLOSE_BRACE, isSpace, OPEN, QUOTE } from './characters.ts'
import { QueryError } from './query-error.ts'
import type { Field, PathField } from './query-tree.ts'
import { type ScannedWord, scanWord, skipSpace, type WordEnds, wellFormed } from './scan.ts'

/** What is, or would be, at `start`. */
export interface Expected {
  readonly kind: 'clause' | 'operator' | 'value' | 'bound'
  readonly start: number
  /** The field that a value belongs to. */
  readonly field: Field | undefined
  /** The array whose element the clause is about. */
  readonly element: PathField | undefined
}

export class QueryReader {
  readonly text: string
  at = 0
  /** Where words end at this position. */
  ends: WordEnds = { atComma: false, atBrace: false, atBracket: false }
  /** The array whose element the clauses are about. */
  element: PathField | undefined
  /** The operator before this position, for messages. */
  operator: string | undefined
  expected: Expected = { kind: 'clause', start: 0, field: undefined, element: undefined }
  /** As `expected`, but never an operator: what the word that ends here was. */
  item: Expected = this.expected
  #levels = 0
  #clauses = 0
  #wildcards = 0

  constructor(text: string) {
    this.text = wellFormed(text)
    if (text.length > QUERY_TEXT_BYTES_MAX || byteLength(text) > QUERY_TEXT_BYTES_MAX) {
      const span = { start: 0, end: text.length }
      throw new QueryError(
        span,
        `the query is over ${QUERY_TEXT_BYTES_MAX} bytes (QUERY_TEXT_BYTES_MAX)`,
      )
    }
  }

  /** The character code at this position; NaN at the end. */
  get code(): number {
    return this.text.charCodeAt(this.at)
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length
  }

  skipSpace(): void {
    this.at = skipSpace(this.text, this.at)
  }

  expect(kind: Expected['kind'], field?: Field): void {
    this.expected = { kind, start: this.at, field, element: this.element }
    if (kind !== 'operator') this.item = this.expected
  }

  fail(problem: string, repair?: string, length = 1): QueryError {
    const end = Math.min(this.at + length, this.text.length)
    return new QueryError({ start: this.at, end }, problem, repair)
  }

  /** Takes the bracket at this position; returns the position. */
  open(): number {
    if (++this.#levels > QUERY_LEVELS_MAX) {
      throw this.fail(`nested deeper than ${QUERY_LEVELS_MAX} levels (QUERY_LEVELS_MAX)`)
    }
    return this.at++
  }

  /** Takes the bracket that closes the one at `opened`. */
  close(bracket: ')' | '}', opened: number): void {
    this.skipSpace()
    if (this.text[this.at] !== bracket) {
      throw this.fail(`missing \`${bracket}\`, opened at column ${opened + 1}`)
    }
    this.at++
    this.#levels--
  }

  countClause(start: number): void {
    if (++this.#clauses <= QUERY_CLAUSES_MAX) return
    const span = { start, end: this.at }
    throw new QueryError(span, `over ${QUERY_CLAUSES_MAX} clauses (QUERY_CLAUSES_MAX)`)
  }

  countWildcards(start: number, count: number): void {
    this.#wildcards += count
    if (this.#wildcards <= QUERY_WILDCARDS_MAX) return
    const span = { start, end: this.at }
    throw new QueryError(span, `over ${QUERY_WILDCARDS_MAX} wildcards (QUERY_WILDCARDS_MAX)`)
  }

  takeWord(): ScannedWord {
    const word = scanWord(this.text, this.at, this.ends)
    this.at = word.end
    return word
  }

  /** The keyword at this position, after white space. */
  peekKeyword(): { readonly kind: 'and' | 'or' | 'not'; readonly text: string } | undefined {
    this.skipSpace()
    const text = KEYWORD.exec(this.text.slice(this.at, this.at + 3))?.[0]
    if (text === undefined) return undefined
    const isSymbol = text === '&&' || text === '||'
    if (!isSymbol && !this.#endsKeyword(this.text.charCodeAt(this.at + text.length)))
      return undefined
    return { kind: KINDS[text.toLowerCase()]!, text }
  }

  #endsKeyword(code: number): boolean {
    if (Number.isNaN(code) || isSpace(code) || code === OPEN || code === CLOSE) return true
    return code === QUOTE || code === BAR || (code === CLOSE_BRACE && this.ends.atBrace)
  }

  /** Takes that operator if it is here; returns whether it was. */
  takeKeyword(kind: 'and' | 'or' | 'not'): boolean {
    const keyword = this.peekKeyword()
    if (keyword?.kind !== kind) return false
    this.at += keyword.text.length
    this.operator = keyword.text
    return true
  }

  /** Whether the open bracket or the text ends here, after white space. */
  isAtClose(): boolean {
    this.skipSpace()
    return this.isAtEnd || this.code === CLOSE || (this.code === CLOSE_BRACE && this.ends.atBrace)
  }
}

const KEYWORD = /^(?:and|AND|&&|or|OR|\|\||not|NOT)/
const KINDS: Readonly<Record<string, 'and' | 'or' | 'not'>> = {
  and: 'and',
  '&&': 'and',
  or: 'or',
  '||': 'or',
  not: 'not',
}

function byteLength(text: string): number {
  let bytes = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    // A pair of surrogates is four bytes, a lone one three as U+FFFD.
    const isPair = (code & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
    if (isPair) at++
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : isPair ? 4 : 3
  }
  return bytes
}
