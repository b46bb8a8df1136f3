/** Whether one value passes a test: the lines of the table in docs/language.md, one by one. */

import type {
  Bound,
  Pattern,
  RangeTest,
  Scalar,
  Test,
  ValueTest,
} from '../../src/language/query-tree.ts'
import { tryReadTime } from '../../src/language/scalar.ts'
import { isSpaceless } from '../../src/language/words.ts'
import { LEVELS } from '../../src/model/event-labels.ts'

export type NaiveValue =
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  /** A 64-bit integer, or a double. */
  | { readonly kind: 'number'; readonly value: bigint | number }
  /** Of system fields. */
  | { readonly kind: 'time'; readonly ns: bigint }
  | { readonly kind: 'level'; readonly text: string }

type Order = -1 | 0 | 1

/** `isText`: the value is that of a text field. */
export function testsValue(test: Test, value: NaiveValue, isText: boolean): boolean {
  if (test.kind === 'exists') return true
  if (test.kind === 'range') return isInRange(test, value)
  if (test.kind === 'value') {
    if (value.kind === 'number') {
      const { kind, text } = test.value
      return kind === 'number' && compareNumbers(value.value, text) === 0
    }
    if (value.kind === 'boolean') {
      return test.value.kind === 'boolean' && test.value.text === String(value.value)
    }
  }
  const text = value.kind === 'string' || value.kind === 'level' ? value.text : undefined
  if (text === undefined) return false
  switch (test.kind) {
    case 'value':
      return isText && !test.isWhole ? hasWords(test, text) : test.value.text === text
    case 'wildcard':
      return isText && !test.isWhole
        ? hasPattern(test.pattern, text)
        : isPattern(test.pattern, text)
    case 'regex':
      return toRegExp(test.source, test.ignoreCase).test(text)
  }
}

function isInRange({ of, low, high }: RangeTest, value: NaiveValue): boolean {
  const orderOf = ({ value: bound }: Bound): Order | undefined => {
    switch (of) {
      case 'number':
        return value.kind === 'number' ? compareNumbers(value.value, bound.text) : undefined
      case 'time': {
        const ns =
          value.kind === 'time'
            ? value.ns
            : value.kind === 'string'
              ? tryReadTime(value.text)
              : undefined
        return ns === undefined ? undefined : compare(ns, bound.timeNs!)
      }
      case 'string':
        if (value.kind !== 'string') return undefined
        return Buffer.compare(Buffer.from(value.text), Buffer.from(bound.text))
      case 'level':
        return value.kind === 'level' ? compare(severity(value), severity(bound)) : undefined
    }
  }
  if (low !== undefined) {
    const order = orderOf(low)
    if (order === undefined || order < 0 || (order === 0 && !low.isInclusive)) return false
  }
  if (high !== undefined) {
    const order = orderOf(high)
    if (order === undefined || order > 0 || (order === 0 && !high.isInclusive)) return false
  }
  return true
}

function severity({ text }: Pick<Scalar, 'text'>): number {
  return (LEVELS as readonly string[]).indexOf(text)
}

function compare<T extends bigint | number>(left: T, right: T): Order {
  return left < right ? -1 : left > right ? 1 : 0
}

/** Exact; undefined when by the rules the two are neither less, equal nor more. */
function compareNumbers(stored: bigint | number, asked: string): Order {
  const integer = /^-?[0-9]+$/.test(asked) ? BigInt(asked) : undefined
  const is64 = integer !== undefined && integer >= -(2n ** 63n) && integer < 2n ** 64n
  if (typeof stored === 'number') {
    // A double is compared with what an event with the same digits stores.
    if (!is64) return compare(stored, Number(asked))
    if (stored === Number.POSITIVE_INFINITY) return 1
    if (stored === Number.NEGATIVE_INFINITY) return -1
    const order = compare(BigInt(Math.trunc(stored)), integer)
    return order !== 0 ? order : compare(stored, Math.trunc(stored))
  }
  return compare(stored * SCALE, scaled(asked))
}

const DIGITS = 1_000n
const SCALE = 10n ** DIGITS

/** A decimal times `SCALE`, rounded away from what an integer could equal. */
function scaled(text: string): bigint {
  const [, sign, whole, fraction = '', exponentText = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(text)!
  const digits = BigInt(`${sign}${whole}${fraction}`)
  if (digits === 0n) return 0n
  const exponent = Number(exponentText) - fraction.length
  if (exponent > 500) return digits * SCALE ** 2n
  if (exponent < -900) return digits > 0n ? 1n : -1n
  return digits * 10n ** (DIGITS + BigInt(exponent))
}

/** `f:x` on a text field: the words of x in a row, in any case. */
function hasWords({ value }: ValueTest, text: string): boolean {
  const asked = value.text.toLowerCase()
  const folded = text.toLowerCase()
  if (asked === '') return folded === ''
  const words = wordsOf(asked)
  if (words.length === 0 || isSpaceless(asked)) return folded.includes(asked)
  return ` ${wordsOf(folded).join(' ')} `.includes(` ${words.join(' ')} `)
}

/** Sequences of ASCII letters, digits and characters outside ASCII. */
function wordsOf(text: string): string[] {
  return text.match(new RegExp(`${WORD}+`, 'gu')) ?? []
}

const WORD = '[0-9A-Za-z\\u{80}-\\u{10ffff}]'

/** Whether the text has the words at a position that neither begins nor ends inside a word. */
function hasPattern(pattern: Pattern, text: string): boolean {
  const source = patternSource(pattern, '[^ \\t\\n\\f\\r]*', (literal) => literal.toLowerCase())
  const edge = `(?:(?<!${WORD})|(?!${WORD}))`
  return new RegExp(`${edge}${source}${edge}`, 'su').test(text.toLowerCase())
}

function isPattern(pattern: Pattern, text: string): boolean {
  return new RegExp(`^${patternSource(pattern, '.*', (literal) => literal)}$`, 'su').test(text)
}

function patternSource(pattern: Pattern, many: string, fold: (text: string) => string): string {
  const sources = pattern.map((token) => {
    if (token.kind === 'many') return many
    return token.kind === 'one' ? '.' : fold(token.text).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  })
  return sources.join('')
}

/** For the regular expressions of these tests, which mean the same in RE2 and in JavaScript. */
function toRegExp(source: string, ignoreCase: boolean): RegExp {
  return new RegExp(source, ignoreCase ? 'siu' : 'su')
}
