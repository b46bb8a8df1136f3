import assert from 'node:assert/strict'
import { test } from 'node:test'
import { worstOf } from '../../console/explore/worst.ts'

const bars = (...errors: readonly number[]) =>
  errors.map((error, startMs) => ({ startMs, counts: { error, info: 50 - startMs } }))

test('the stretch around the most errors, over one bar that has few, and a bar before', () => {
  assert.deepEqual(worstOf(bars(1, 0, 9, 3, 8, 0, 5, 0, 0, 9)), { from: 1, to: 6 })
  assert.deepEqual(worstOf(bars(0, 0, 7)), { from: 1, to: 2 })
})

test('fatal ones count; without any error it is the most events, without events nothing', () => {
  const fatal = { startMs: 9, counts: { fatal: 5 } }
  assert.deepEqual(worstOf([...bars(0, 1), fatal]), { from: 1, to: 2 })
  assert.deepEqual(worstOf([{ startMs: 0, counts: {} }, ...bars(0)]), { from: 0, to: 1 })
  assert.equal(worstOf([{ startMs: 0, counts: {} }]), undefined)
  assert.equal(worstOf([]), undefined)
})
