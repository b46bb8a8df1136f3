/**
 * Goal: numbers compare exactly, as the projection keeps them.
 * Method: random pairs of texts around the limits of 64 bits and of doubles. Stored values are
 * modelled on decision 2; the reference is a comparison of decimals as fractions of integers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeNumberTest, type NumberOperator } from '../../src/language/number-test.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

/** How a number is stored: as an integer, or as a double. */
function stored(text: string): bigint | number {
  if (!/^-?[0-9]+$/.test(text)) return Number(text)
  const value = BigInt(text)
  const fits = value >= -(1n << 63n) && value < 1n << 64n
  return fits ? value : Number(text)
}

function matches(kept: bigint | number, operator: NumberOperator, text: string): boolean {
  const { integer, double } = makeNumberTest(operator, text)
  if (typeof kept === 'bigint') {
    return integer !== undefined && compares(kept, integer.operator, integer.value)
  }
  return double !== undefined && compares(kept, double.operator, double.value)
}

function compares<T extends bigint | number>(left: T, operator: NumberOperator, right: T): boolean {
  switch (operator) {
    case '=':
      return left === right
    case '>':
      return left > right
    case '>=':
      return left >= right
    case '<':
      return left < right
    case '<=':
      return left <= right
  }
}

/** A decimal times 10^400, if that is an integer. */
function scaled(text: string): bigint {
  const [, sign, whole, fraction = '', exponent = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(text)!
  const shift = 400 + Number(exponent) - fraction.length
  return BigInt(`${sign}${whole}${fraction}${'0'.repeat(shift)}`)
}

const OPERATORS = ['=', '>', '>=', '<', '<='] as const

const around = (value: bigint) =>
  fc.integer({ min: -3, max: 3 }).map((by) => String(value + BigInt(by)))
const integer = fc.oneof(
  ...[0n, 1n << 53n, -(1n << 53n), 1n << 63n, -(1n << 63n), 1n << 64n, 200n].map(around),
)
const decimal = fc.tuple(
  integer,
  fc.constantFrom('.0', '.5', '.9', '.25', 'e0', 'e1', 'e-1', '.5e1'),
)
const number = fc.oneof(
  integer,
  decimal.map((parts) => parts.join('')),
)

test('integers compare with the digits of the query', () => {
  const property = fc.property(
    integer,
    fc.constantFrom(...OPERATORS),
    number,
    (text, op, query) => {
      const kept = stored(text)
      if (typeof kept !== 'bigint') return
      assert.equal(matches(kept, op, query), compares(scaled(text), op, scaled(query)))
    },
  )
  fc.assert(property, fuzzed(seed, 10_000, 2_000))
})

test('doubles compare exactly with integers, and as doubles with what is stored as one', () => {
  const property = fc.property(
    decimal,
    fc.constantFrom(...OPERATORS),
    number,
    (parts, op, query) => {
      const kept = stored(parts.join(''))
      assert.ok(typeof kept === 'number')
      const asked = stored(query)
      const expected =
        typeof asked === 'number'
          ? compares(kept, op, asked)
          : compares(scaled(BigInt(Math.trunc(kept)).toString()), op, scaled(query))
      // The truncated integer says nothing about a double with a fraction.
      if (typeof asked === 'number' || Number.isInteger(kept)) {
        assert.equal(matches(kept, op, query), expected)
      }
    },
  )
  fc.assert(property, fuzzed(seed, 10_000, 2_000))
})

test('an event is found by its own digits', () => {
  const property = fc.property(number, (text) => assert.ok(matches(stored(text), '=', text)))
  fc.assert(property, fuzzed(seed, 5_000, 1_000))
})

test('numbers of any size are accepted', () => {
  for (const text of ['1e400', '-1e400', '1e-400', '1e999999999999', '0e999999999999']) {
    for (const operator of OPERATORS) makeNumberTest(operator, text)
  }
  assert.equal(matches(5n, '<', '1e400'), true)
  assert.equal(matches(5n, '>', '-1e999999999'), true)
  assert.equal(matches(0n, '<', '1e-400'), true)
  assert.equal(matches(0n, '>', '-1e-400'), true)
})
