/** Goal: a change is told from chance, from what all events do, and from what varies anyway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  chanceOf,
  gSquared,
  judgeChange,
  type Scale,
  spreadOf,
} from '../../../src/read/compare/judge-change.ts'

const scaleOf = (window: number, baseline: number): Scale => ({
  events: { window, baseline },
  spans: { window: 3_600, baseline: 3_600 },
  tests: 1_000,
})
const counts = (window: number, baseline: number) => ({ window, baseline })

test('the log-likelihood ratio, and how likely it is by chance', () => {
  // 2 * (30 ln 30/20 + 10 ln 10/20 + 970 ln 970/980 + 990 ln 990/980)
  assert.ok(Math.abs(gSquared(counts(30, 10), counts(1_000, 1_000)) - 10.673) < 0.01)
  assert.equal(gSquared(counts(10, 10), counts(1_000, 1_000)), 0)
  for (const [score, chance] of [
    [0, 1],
    [3.8415, 0.05],
    [10.828, 0.001],
    [37.325, 1e-9],
  ] as const) {
    assert.ok(Math.abs(chanceOf(score) / chance - 1) < 1e-3, `${score}: ${chanceOf(score)}`)
  }
})

test('what is likely by chance is no change, nor what is rare, nor by a small factor', () => {
  const scale = scaleOf(10_000, 10_000)
  assert.equal(judgeChange(counts(12, 4), scale), undefined)
  assert.equal(judgeChange(counts(9, 0), scaleOf(20, 10_000)), undefined)
  assert.equal(judgeChange(counts(5_200, 4_000), scale), undefined)
  assert.deepEqual(judgeChange(counts(400, 100), scale)?.factor, 4)
  assert.deepEqual(judgeChange(counts(40, 0), scale)?.factor, Infinity)
  const gone = judgeChange(counts(0, 100), scale)
  assert.deepEqual([gone?.isMore, gone?.factor], [false, 0])
})

test('more or less of everything is no change of any value', () => {
  assert.equal(judgeChange(counts(3_000, 1_000), scaleOf(30_000, 10_000)), undefined)
  assert.equal(judgeChange(counts(300, 1_000), scaleOf(3_000, 10_000)), undefined)
  // What stays while all else sleeps, or while one value floods, has not changed.
  assert.equal(judgeChange(counts(1_000, 1_000), scaleOf(3_000, 10_000)), undefined)
  assert.equal(judgeChange(counts(1_000, 1_000), scaleOf(90_000, 10_000)), undefined)
  const flood = judgeChange(counts(85_000, 5_000), scaleOf(90_000, 10_000), { others: 1 })
  assert.equal(flood?.factor, 17)
})

test('a value that comes in bursts is no change by another burst', () => {
  const all = Array.from({ length: 8 }, () => 1_000)
  assert.equal(spreadOf([52, 47, 50, 49, 55, 44, 51, 52], all), 1)
  const spread = spreadOf([0, 200, 0, 0, 0, 180, 0, 20], all)
  assert.ok(spread > 50, String(spread))
  const scale = scaleOf(8_000, 8_000)
  assert.equal(judgeChange(counts(640, 400), scale, { spread }), undefined)
  assert.notEqual(judgeChange(counts(640, 400), scale), undefined)
  // Numbers that only rise: all of the last parts, none of the first.
  assert.equal(spreadOf([0, 0, 0, 0, 1_000, 1_000, 1_000, 1_000], all), Infinity)
})
