/** Goal: a search begins with few rows however dense events are, and soon looks at a year. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  SEARCH_GROWTH_MAX,
  SEARCH_GROWTH_MIN,
  SEARCH_WINDOW_MS_MIN,
  SEARCH_WINDOW_ROWS,
  SEARCH_WINDOW_TARGET_MS,
} from '../../../src/limits.ts'
import { SEGMENT_ID_MS_SHIFT } from '../../../src/model/segment-id.ts'
import { WindowSize } from '../../../src/read/search/window-size.ts'

const msOf = (size: WindowSize) => Number(size.span >> BigInt(SEGMENT_ID_MS_SHIFT))

test('the first window has about SEARCH_WINDOW_ROWS, but SEARCH_WINDOW_MS_MIN at least', () => {
  assert.equal(msOf(new WindowSize(64)), SEARCH_WINDOW_ROWS / 64)
  assert.equal(msOf(new WindowSize(1e9)), SEARCH_WINDOW_MS_MIN)
  assert.equal(msOf(new WindowSize(0)), SEARCH_WINDOW_MS_MIN)
})

test('windows grow by how long they took, from SEARCH_GROWTH_MIN to SEARCH_GROWTH_MAX', () => {
  const size = new WindowSize(1e9)
  size.grow(0)
  assert.equal(msOf(size), SEARCH_WINDOW_MS_MIN * SEARCH_GROWTH_MAX)
  size.grow(10 * SEARCH_WINDOW_TARGET_MS)
  assert.equal(msOf(size), SEARCH_WINDOW_MS_MIN * SEARCH_GROWTH_MAX * SEARCH_GROWTH_MIN)
  for (let n = 0; n < 20; n++) size.grow(5)
  assert.ok(msOf(size) <= 2 ** 42)
})
