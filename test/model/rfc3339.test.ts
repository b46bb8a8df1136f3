import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ceilMs, tryParseRfc3339 } from '../../src/model/rfc3339.ts'

test('RFC 3339 times are read to the nanosecond, in any zone', () => {
  const cases = [
    ['1970-01-01T00:00:00Z', 0n],
    ['1970-01-01t00:00:00z', 0n],
    ['1970-01-01 00:00:01Z', 1_000_000_000n],
    ['1970-01-01T00:00:00.000000001Z', 1n],
    ['1970-01-01T00:00:00.5Z', 500_000_000n],
    ['1970-01-01T01:00:00+01:00', 0n],
    ['1969-12-31T23:30:00-00:30', 0n],
    ['1969-12-31T23:59:59.999999999Z', -1n],
    ['2024-02-29T12:00:00Z', 1_709_208_000_000_000_000n],
    ['2016-12-31T23:59:60Z', 1_483_228_800_000_000_000n],
    ['0026-01-01T00:00:00Z', -61_346_678_400_000_000_000n],
  ] as const
  for (const [text, ns] of cases) assert.equal(tryParseRfc3339(text), ns, text)
})

test('what is not an RFC 3339 time is refused', () => {
  const texts = [
    '',
    '2024-01-01',
    '2024-01-01T00:00:00',
    '2024-02-30T00:00:00Z',
    'now',
    '1700000000',
  ]
  const more = ['2024-01-01T24:00:00Z', '2024-13-01T00:00:00Z', '2024-00-01T00:00:00Z']
  for (const text of [
    ...texts,
    ...more,
    '2024-01-01T00:00:00.Z',
    '2024-01-01T00:00:00.0000000001Z',
  ]) {
    assert.equal(tryParseRfc3339(text), undefined, text)
  }
})

test('ceilMs rounds up on both sides of 1970', () => {
  const cases = [
    [0n, 0n],
    [1n, 1n],
    [1_000_000n, 1n],
    [1_000_001n, 2n],
    [-1n, 0n],
  ] as const
  for (const [ns, ms] of cases) assert.equal(ceilMs(ns), ms, String(ns))
  assert.equal(ceilMs(-1_000_001n), -1n)
})
