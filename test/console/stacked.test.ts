/** Goal: bars by what makes them add up to the whole, however many there are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stackedOf, stepText, timesOf } from '../../console/usage/stacked.ts'

const STEPS = { from: '2026-01-31T12:00:00Z', to: '2026-01-31T14:00:00Z', bucket_ms: 3_600_000 }
const [NOON, ONE] = ['2026-01-31T12:00:00.000Z', '2026-01-31T13:00:00.000Z']

test('the largest have bars of their own, all others one together', () => {
  const times = timesOf(STEPS)
  assert.deepEqual(times, [Date.parse(NOON) / 1_000, Date.parse(ONE) / 1_000])
  const figures = ['a', 'b', 'c', 'd', 'e', 'f'].flatMap((label, at) => [
    { time: NOON, label, value: at + 1 },
    { time: ONE, label, value: 1 },
  ])
  assert.deepEqual(stackedOf(times, figures), [
    { label: 'f', values: [6, 1] },
    { label: 'e', values: [5, 1] },
    { label: 'd', values: [4, 1] },
    { label: 'c', values: [3, 1] },
    { label: '2 others', values: [3, 2] },
  ])
  assert.equal(stackedOf(times, figures.slice(0, 10)).at(-1)?.label, 'a')
  assert.deepEqual(stackedOf(times, []), [])
})

test('steps are called by their unit', () => {
  assert.deepEqual([900_000, 7_200_000, 86_400_000].map(stepText), ['15 min', '2 h', '1 d'])
})
