/** What a test of a query asks of one value on the tape: closures over byte ranges. */
import { makeNumberTest, type NumberTest } from '../../src/language/number-test.ts'
import type { Bound, RangeTest, Scalar, Test } from '../../src/language/query-tree.ts'
import { parseFloat64 } from '../block/native-values.ts'
import { FALSE, TRUE } from '../tape/tape-types.ts'
import type { EventPattern } from './event-pattern.ts'
import { makePatternTest, makeWordPatternTest } from './pattern-test.ts'
import type { Regexes } from './regexes.ts'
import type { NumberTextTest, StringTest } from './string-test.ts'
import { makeTimeTest } from './time-test.ts'
import { makeWordTest } from './word-test.ts'
import type { Work } from './work.ts'

/** By the kind of the value; undefined where no value of the kind meets the test. */
export interface ValueTest {
  /** Any value does. */
  readonly exists: boolean
  readonly string: StringTest | undefined
  /** An integer of 64 bits. */
  readonly integer: NumberTextTest | undefined
  readonly double: NumberTextTest | undefined
  /** TRUE or FALSE of the tape's types, or -1. */
  readonly boolean: number
}

/** What closures are made with. */
export interface Parts {
  readonly work: Work
  readonly regexes: Regexes
  readonly pattern: EventPattern
}

/** No value meets it. */
export const NOTHING: ValueTest = {
  exists: false,
  string: undefined,
  integer: undefined,
  double: undefined,
  boolean: -1,
}

/** `isText`: of a text field, where words are looked for. */
export function makeValueTest(test: Test, isText: boolean, parts: Parts): ValueTest {
  switch (test.kind) {
    case 'exists':
      return { ...NOTHING, exists: true }
    case 'regex':
      return { ...NOTHING, string: parts.regexes.makeTest(test.source, test.ignoreCase) }
    case 'wildcard': {
      const make = isText && !test.isWhole ? makeWordPatternTest : makePatternTest
      return { ...NOTHING, string: make(test.pattern, parts.regexes) }
    }
    case 'range':
      return makeRangeTest(test)
    case 'value': {
      const { value, isWhole } = test
      const string = isText && !isWhole ? makeWordTest(value.text, parts.work) : makeEquality(value)
      if (value.kind === 'boolean') {
        return { ...NOTHING, string, boolean: value.text === 'true' ? TRUE : FALSE }
      }
      if (value.kind === 'string') return { ...NOTHING, string }
      return { ...NOTHING, string, ...makeNumberTests([makeNumberTest('=', value.text)]) }
    }
  }
}

function makeEquality({ text }: Scalar): StringTest {
  const expected = Buffer.from(text)
  const { length } = expected
  return (bytes, start, end) => {
    if (end - start !== length) return false
    for (let i = 0; i < length; i++) if (bytes[start + i] !== expected[i]) return false
    return true
  }
}

function makeRangeTest({ of, low, high }: RangeTest): ValueTest {
  if (of === 'time') return { ...NOTHING, string: makeTimeTest(low, high) }
  if (of === 'string') return { ...NOTHING, string: makeOrderTest(low, high) }
  if (of === 'level') return NOTHING
  const tests: NumberTest[] = []
  if (low !== undefined) tests.push(makeNumberTest(low.isInclusive ? '>=' : '>', low.value.text))
  if (high !== undefined) tests.push(makeNumberTest(high.isInclusive ? '<=' : '<', high.value.text))
  return { ...NOTHING, ...makeNumberTests(tests) }
}

/** By UTF-8 bytes. */
function makeOrderTest(low: Bound | undefined, high: Bound | undefined): StringTest {
  const lowest = low && Buffer.from(low.value.text)
  const highest = high && Buffer.from(high.value.text)
  const leastOrder = low?.isInclusive === true ? 0 : 1
  const mostOrder = high?.isInclusive === true ? 0 : -1
  return (bytes, start, end) => {
    if (lowest !== undefined && compare(bytes, start, end, lowest) < leastOrder) return false
    return highest === undefined || compare(bytes, start, end, highest) <= mostOrder
  }
}

/** -1, 0 or 1. */
function compare(bytes: Uint8Array, start: number, end: number, other: Uint8Array): number {
  const length = Math.min(end - start, other.length)
  for (let i = 0; i < length; i++) {
    const order = bytes[start + i]! - other[i]!
    if (order !== 0) return Math.sign(order)
  }
  return Math.sign(end - start - other.length)
}

/** Digits that are exact as a double. */
const EXACT_CHARS = 15

/** All of the tests. */
function makeNumberTests(tests: readonly NumberTest[]): Pick<ValueTest, 'integer' | 'double'> {
  const integers = tests.flatMap(({ integer }) => integer ?? [])
  const doubles = tests.flatMap(({ double }) => double ?? [])
  const integer =
    integers.length < tests.length ? undefined : integers.map(makeIntegerTest).reduce(both)
  const double =
    doubles.length < tests.length ? undefined : doubles.map(makeDoubleTest).reduce(both)
  return { integer, double }
}

function both(left: NumberTextTest, right: NumberTextTest): NumberTextTest {
  return (bytes, start, end) => left(bytes, start, end) && right(bytes, start, end)
}

function makeIntegerTest({ operator, value }: NonNullable<NumberTest['integer']>): NumberTextTest {
  // Of short integers a bound that no double is exactly is as good as infinity.
  const isExact = BigInt.asIntN(53, value) === value
  const bound = isExact ? Number(value) : value > 0n ? Number.POSITIVE_INFINITY : -1 / 0
  return (bytes, start, end) => {
    if (end - start <= EXACT_CHARS) {
      const stored = parseFloat64(bytes, start, end)
      if (operator === '=') return stored === bound
      return operator === '>=' ? stored >= bound : stored <= bound
    }
    const stored = BigInt(bytes.toString('latin1', start, end))
    if (operator === '=') return stored === value
    return operator === '>=' ? stored >= value : stored <= value
  }
}

function makeDoubleTest({ operator, value }: NonNullable<NumberTest['double']>): NumberTextTest {
  return (bytes, start, end) => {
    const stored = parseFloat64(bytes, start, end)
    switch (operator) {
      case '=':
        return stored === value
      case '>':
        return stored > value
      case '>=':
        return stored >= value
      case '<':
        return stored < value
      case '<=':
        return stored <= value
    }
  }
}
