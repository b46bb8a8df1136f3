/** Goal: the time of an HEC event to the digit, in whatever unit it is said. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HecTime } from '../../src/model/hec-time.ts'

const time = new HecTime()

function read(text: string): string | undefined {
  const bytes = Buffer.from(text)
  if (!time.tryRead(bytes, 0, bytes.length)) return undefined
  return String(BigInt(time.ms) * 1_000_000n + BigInt(time.nanos))
}

test('seconds with a fraction of nine digits; what is beyond them is cut off', () => {
  for (const [text, nanos] of [
    ['1433188255', '1433188255000000000'],
    ['1433188255.500', '1433188255500000000'],
    ['1433188255.123456789', '1433188255123456789'],
    ['1433188255.1234567899', '1433188255123456789'],
    ['0.000000001', '1'],
    ['0', '0'],
    ['0001.5', '1500000000'],
    ['9999999999', undefined],
    ['9223372035.999999999', '9223372035999999999'],
    ['9223372037', undefined],
  ] as const) {
    assert.equal(read(text), nanos, text)
  }
})

test('more digits are milliseconds, microseconds or nanoseconds', () => {
  for (const [text, nanos] of [
    ['10000000000', '10000000000000000'],
    ['1732604863241', '1732604863241000000'],
    ['1732604863241.5', '1732604863241500000'],
    ['1732604863241123', '1732604863241123000'],
    ['1732604863241123456', '1732604863241123456'],
    ['1732604863241123456.9', '1732604863241123456'],
    ['17326048632411234567', undefined],
  ] as const) {
    assert.equal(read(text), nanos, text)
  }
})

test('with an exponent, as some languages write large numbers', () => {
  assert.equal(read('1.7e9'), '1700000000000000000')
  assert.equal(read('1.7E+12'), '1700000000000000000')
  assert.equal(read('17e-1'), '1700000000')
  assert.equal(read('1e400'), undefined)
})

test('anything else is no time', () => {
  for (const text of ['', ' 1', '1 ', '-1', '+1', '1.', '.5', '1.2.3', '0x10', 'NaN', 'Infinity']) {
    assert.equal(read(text), undefined, text)
  }
  assert.equal(read('1'.repeat(100_000)), undefined)
})
