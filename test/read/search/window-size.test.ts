/** Goal: a search begins with few rows however dense events are, and soon looks at a year. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../../src/language/parse.ts'
import {
  SEARCH_GROWTH_MAX,
  SEARCH_GROWTH_MIN,
  SEARCH_RARE_FACTOR,
  SEARCH_WINDOW_MS_MIN,
  SEARCH_WINDOW_TARGET_MS,
} from '../../../src/limits.ts'
import { SEGMENT_ID_MS_SHIFT } from '../../../src/model/segment-id.ts'
import {
  asksForId,
  SEARCH_WINDOW_BYTES,
  SEARCH_WINDOW_ROWS,
  WindowSize,
} from '../../../src/read/search/window-size.ts'

const sized = (eventsPerMs: number, eventBytes = 500, isRare = false) => {
  return new WindowSize({ eventsPerMs, eventBytes }, isRare)
}
const msOf = (size: WindowSize) => Number(size.span >> BigInt(SEGMENT_ID_MS_SHIFT))

test('the first window has about SEARCH_WINDOW_ROWS, but SEARCH_WINDOW_MS_MIN at least', () => {
  assert.equal(msOf(sized(64)), SEARCH_WINDOW_ROWS / 64)
  assert.equal(msOf(sized(1e9)), SEARCH_WINDOW_MS_MIN)
  assert.equal(msOf(sized(0)), SEARCH_WINDOW_MS_MIN)
  assert.equal(msOf(sized(64, 0)), SEARCH_WINDOW_ROWS / 64)
})

test('of large events it has about SEARCH_WINDOW_BYTES', () => {
  const bytes = 256 * 1024
  assert.equal(msOf(sized(0.5, bytes)), SEARCH_WINDOW_BYTES / bytes / 0.5)
  assert.equal(msOf(sized(64, SEARCH_WINDOW_BYTES / SEARCH_WINDOW_ROWS)), SEARCH_WINDOW_ROWS / 64)
})

test('windows grow by how long they took, from SEARCH_GROWTH_MIN to SEARCH_GROWTH_MAX', () => {
  const size = sized(1e9)
  size.grow(0)
  assert.equal(msOf(size), SEARCH_WINDOW_MS_MIN * SEARCH_GROWTH_MAX)
  size.grow(10 * SEARCH_WINDOW_TARGET_MS)
  assert.equal(msOf(size), SEARCH_WINDOW_MS_MIN * SEARCH_GROWTH_MAX * SEARCH_GROWTH_MIN)
  for (let n = 0; n < 20; n++) size.grow(5)
  assert.ok(msOf(size) <= 2 ** 42)
})

test('a query for an id begins with SEARCH_RARE_FACTOR times as many rows', () => {
  const first = msOf(sized(64))
  assert.equal(msOf(sized(64, 500, true)), first * SEARCH_RARE_FACTOR)
  const ids = ['trace_id:4bf92f3577b34da6a3ce929d0e0e4736', 'a:x id:01234567-89ab-cdef-0123']
  for (const query of ids) assert.ok(asksForId(parse(query)), query)
  const others = ['level:error', 'a:abcdefghijklmnopqrstuvwxyz', 'a:"one 2 three four five"', '']
  for (const query of [...others, `NOT ${ids[0]}`, `a:1 OR ${ids[0]}`]) {
    assert.ok(!asksForId(parse(query)), query)
  }
})
