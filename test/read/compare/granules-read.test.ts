/** Goal: of many events some granules are read, of few all, each side by itself where it can be. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCompareRequest } from '../../../src/read/compare/compare-request.ts'
import {
  areApart,
  COMPARED_EVENTS_MAX,
  oneInOf,
  oneInOfFinding,
} from '../../../src/read/compare/granules-read.ts'

test('a side is read whole up to its half of the events, then by some granules', () => {
  const of = (events: number, rows = events) => oneInOf({ events, rows })
  assert.equal(of(COMPARED_EVENTS_MAX / 2), 1)
  assert.equal(of(10 * COMPARED_EVENTS_MAX), 20)
  // Few events among many rows: fewer granules, as long as there are events enough.
  assert.equal(of(1_000, 1e9), 1)
  assert.ok(of(200_000, 1e9) === 10)
  assert.equal(oneInOfFinding({ window: 100, baseline: 0 }, 1e9), 1)
  assert.equal(oneInOfFinding({ window: 1e6, baseline: 0 }, 4e6), 10)
})

test('ranges that have events in common are read alike', () => {
  const nowMs = Date.UTC(2026, 0, 31)
  const apart = (baseline: unknown) => {
    return areApart(readCompareRequest({ window: { from: '-1h' }, baseline }, nowMs))
  }
  assert.equal(apart('before'), true)
  assert.equal(apart('yesterday'), true)
  assert.equal(apart({ from: '-1d', to: 'now' }), false)
  assert.equal(apart({ query: 'a:1' }), false)
})
