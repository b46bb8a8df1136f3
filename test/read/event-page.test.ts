/**
 * Goal: following the cursors of a list shows every event once, in order, whatever the segments.
 * Method: random segments and page sizes; pages are planned over them as over rows of the store.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readQueryString } from '../../src/api/check-value.ts'
import { EVENTS_PAGE_BYTES_MAX } from '../../src/limits.ts'
import { formatEventId } from '../../src/model/event-id.ts'
import { makeSegmentId } from '../../src/model/segment-id.ts'
import type { SegmentInfo } from '../../src/model/segment-place.ts'
import { EVENTS_QUERY, planPage, readPageQuery, segmentsToList } from '../../src/read/event-page.ts'

/** Newest first. */
function makeSegments(sizes: readonly (readonly [number, number])[]): SegmentInfo[] {
  return sizes.map(([eventCount, eventBytes], index) => ({
    segmentId: makeSegmentId({ ms: 1_000_000 - index, node: 3, counter: 9 }),
    eventCount,
    rawBytes: eventCount * eventBytes,
  }))
}

function idsOf(segments: readonly SegmentInfo[]): string[] {
  return segments.flatMap(({ segmentId, eventCount }) =>
    Array.from({ length: eventCount }, (_, i) =>
      formatEventId({ segmentId, ordinal: eventCount - 1 - i }),
    ),
  )
}

/** One page as the route makes it: ids newest first. */
function page(segments: readonly SegmentInfo[], parameters: string) {
  const query = readPageQuery(readQueryString(EVENTS_QUERY, new URLSearchParams(parameters)))
  const inRange = segments.filter((s) => s.segmentId >= query.start && s.segmentId < query.end)
  const rows = query.after === undefined ? inRange : inRange.toReversed()
  const { slices, hasMore } = planPage(query, rows.slice(0, segmentsToList(query)))
  const ids = slices.flatMap(({ segmentId, fromOrdinal, toOrdinal }) =>
    Array.from({ length: toOrdinal - fromOrdinal }, (_, i) =>
      formatEventId({ segmentId, ordinal: toOrdinal - 1 - i }),
    ),
  )
  return { ids, hasMore, slices }
}

const size = fc.tuple(fc.integer({ min: 1, max: 7 }), fc.constantFrom(1, 1_000, 5_000_000))
const segmentsOf = fc.array(size, { maxLength: 12 }).map(makeSegments)

test('downwards every event comes once, newest first, and the last page says so', () => {
  fc.assert(
    fc.property(segmentsOf, fc.integer({ min: 1, max: 9 }), (segments, limit) => {
      const seen: string[] = []
      for (let more = true, before = ''; more; ) {
        const next = page(segments, `limit=${limit}${before}`)
        assert.ok(next.ids.length <= limit)
        assert.ok(next.ids.length > 0 || segments.length === 0, 'a page never stands still')
        seen.push(...next.ids)
        more = next.hasMore
        before = `&before=${seen.at(-1)}`
      }
      assert.deepEqual(seen, idsOf(segments))
    }),
  )
})

test('upwards from the oldest, pages hold the events right after the cursor', () => {
  fc.assert(
    fc.property(segmentsOf, fc.integer({ min: 1, max: 9 }), (segments, limit) => {
      const all = idsOf(segments)
      let after = all.at(-1)
      const seen: string[] = after === undefined ? [] : [after]
      while (after !== undefined) {
        const { ids, hasMore } = page(segments, `limit=${limit}&after=${after}`)
        seen.unshift(...ids)
        after = hasMore ? ids[0] : undefined
      }
      assert.deepEqual(seen, all)
    }),
  )
})

test('a page ends at EVENTS_PAGE_BYTES_MAX, but holds one event at least', () => {
  const mib = 1024 * 1024
  const many = makeSegments(Array.from({ length: 40 }, () => [2, mib / 2] as const))
  const { ids, hasMore } = page(many, 'limit=1000')
  assert.equal(ids.length, EVENTS_PAGE_BYTES_MAX / (mib / 2))
  assert.equal(hasMore, true)
  const huge = makeSegments([[3, 2 * EVENTS_PAGE_BYTES_MAX]])
  assert.equal(page(huge, '').ids.length, 1)
})

test('a cursor need not be an event that is still there', () => {
  const segments = makeSegments([
    [3, 10],
    [3, 10],
  ])
  const [newest, older] = segments
  assert.ok(newest && older)
  const gone = formatEventId({ segmentId: newest.segmentId, ordinal: 99 })
  assert.equal(page(segments, `before=${gone}`).ids.length, 6)
  assert.equal(page(segments, `after=${gone}`).ids.length, 0)
  const between = makeSegmentId({ ms: 999_999, node: 4, counter: 0 })
  assert.equal(page(segments, `before=${between}-5`).ids.length, 3)
  assert.equal(page(segments, `after=${between}-5`).ids.length, 3)
})

test('from is inclusive and to exclusive, on the receipt time', () => {
  const segments = makeSegments([
    [1, 1],
    [1, 1],
    [1, 1],
  ]) // At 1,000,000, 999,999, 999,998 ms.
  const at = (ms: number) => new Date(ms).toISOString()
  const cases = [
    [`from=${at(999_999)}`, 2],
    [`to=${at(999_999)}`, 1],
    [`from=${at(999_999)}&to=${at(1_000_000)}`, 1],
    ['from=1970-01-01T00:16:39.999000001Z', 1],
    ['to=1970-01-01T00:16:39.999000001Z', 2],
    ['from=0001-01-01T00:00:00Z&to=9999-01-01T00:00:00Z', 3],
    [`from=${at(1_000_001)}&to=${at(5)}`, 0],
  ] as const
  for (const [parameters, count] of cases) {
    assert.equal(page(segments, parameters).ids.length, count, parameters)
  }
})
