/** Goal: a JSON number is compared as what is kept of it, with all its digits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readNumber } from '../../src/model/field-value.ts'

test('readNumber is exact', () => {
  const cases = [
    ['0', { integer: 0n, float: 0 }],
    ['1.20e1', { integer: 12n, float: 12 }],
    ['1.25', { float: 1.25 }],
    ['9007199254740993', { integer: 9007199254740993n }],
    ['123e-2', { float: 1.23 }],
    ['100e-2', { integer: 1n, float: 1 }],
    ['1e-400', { float: 0 }],
    ['0e999999999', { integer: 0n, float: 0 }],
    ['1e23', { integer: 10n ** 23n, float: 1e23 }],
    ['18446744073709551617', { integer: (1n << 64n) + 1n, float: 2 ** 64 }],
    ['-9223372036854775809', { integer: -(1n << 63n) - 1n, float: -(2 ** 63) }],
    ['9007199254740993.0', { integer: 9007199254740993n, float: 9007199254740992 }],
  ] as const
  for (const [text, expected] of cases) assert.deepEqual(readNumber(text), expected, text)
})
