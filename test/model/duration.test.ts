import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DURATION_MS_MAX, formatDuration, tryParseDuration } from '../../src/model/duration.ts'

test('durations are read in every unit and written in the largest that divides', () => {
  const cases = [
    ['1s', 1_000, '1s'],
    ['90s', 90_000, '90s'],
    ['120s', 120_000, '2m'],
    ['90m', 5_400_000, '90m'],
    ['12h', 43_200_000, '12h'],
    ['24h', 86_400_000, '1d'],
    ['30d', 2_592_000_000, '30d'],
    ['2w', 1_209_600_000, '14d'],
    ['365d', 31_536_000_000, '1y'],
    ['1y', 31_536_000_000, '1y'],
    ['100y', DURATION_MS_MAX, '100y'],
  ] as const
  for (const [text, ms, canonical] of cases) {
    assert.equal(tryParseDuration(text), ms, text)
    assert.equal(formatDuration(ms), canonical, text)
  }
})

test('what is not a positive duration of at most 100 years is refused', () => {
  const texts = ['', '0d', '-1d', '1', 'd', '1.5d', '1D', ' 1d', '1d ', '01d', '101y', '1e3s']
  for (const text of [...texts, '36501d', '999999999999y', '1000000000000s', '1ms', '1d12h']) {
    assert.equal(tryParseDuration(text), undefined, text)
  }
})
