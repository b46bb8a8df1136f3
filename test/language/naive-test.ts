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
  if (words.length === 0 || new RegExp(SPACELESS, 'u').test(asked)) return folded.includes(asked)
  return ` ${wordsOf(folded).join(' ')} `.includes(` ${words.join(' ')} `)
}

/** Sequences of letters and digits, of scripts with spaces between words or of scripts without. */
function wordsOf(text: string): string[] {
  return withoutEscapes(text).match(new RegExp(`${WORD}+|${SPACELESS}+`, 'gu')) ?? []
}

/** Escape sequences of terminals part words. */
function withoutEscapes(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with one.
  return text.replace(/\x1b(\[[0-?]*[ -/]*[@-~]|[ -/]+[0-~]|[0-Z^-~])/g, ' ')
}

/** By Unicode's own tables; the events of tests have no letters that only some versions know. */
const SCRIPTS = 'Han Hiragana Katakana Bopomofo Thai Lao Khmer Myanmar Tibetan'
const LETTERLESS = '(?![\\u2100-\\u214f\\u2460-\\u24ff\\ufe00-\\ufe0f])'
const ANY_LETTER = `${LETTERLESS}[\\p{L}\\p{N}\\p{M}]`
const SPACELESS_SCRIPT = `[${SCRIPTS.replace(/\w+ ?/g, (name) => `\\p{sc=${name.trim()}}`)}\\u30fc]`
const SPACELESS = `(?:(?=${SPACELESS_SCRIPT})${ANY_LETTER})`
const WORD = `(?:(?!${SPACELESS_SCRIPT})${ANY_LETTER})`

/** Whether the text has the words at a position that neither begins nor ends inside a word. */
function hasPattern(pattern: Pattern, text: string): boolean {
  if (pattern.map(({ kind }) => kind).join() === 'many,literal,many') {
    return pattern[1]?.kind === 'literal' && foldedHas(text, pattern[1].text)
  }
  const source = patternSource(pattern, '[^ \\t\\n\\f\\r]*', (literal) => literal.toLowerCase())
  const edge = `(?:(?<!${WORD})|(?!${WORD}))`
  return new RegExp(`${edge}${source}${edge}`, 'su').test(withoutEscapes(text.toLowerCase()))
}

function foldedHas(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase())
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
