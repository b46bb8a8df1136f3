/** Goal: the searches that a browser keeps are few, each there once, and none that is not ours. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  KEPT_CHARS_MAX,
  OFF,
  type PastSearch,
  readSearches,
  SEARCHES_MAX,
  withSearch,
} from '../../console/searches/past-searches.ts'

const ASKED = {
  ...{ streamId: '1' as string | undefined, query: 'level:error', from: '-1h', to: 'now' },
  clock: 'event_time' as const,
}

test('a query of a stream is there once, the newest first, with its last range', () => {
  let all: readonly PastSearch[] = []
  all = withSearch(all, ASKED, 1)
  all = withSearch(all, { ...ASKED, streamId: undefined }, 2)
  all = withSearch(all, { ...ASKED, query: ' level:error ', from: '-7d' }, 3)
  assert.deepEqual(
    all.map(({ streamId, from, atMs }) => [streamId, from, atMs]),
    [
      ['1', '-7d', 3],
      [undefined, '-1h', 2],
    ],
  )
  assert.deepEqual(readSearches(JSON.stringify(all)), all)
})

test('they are bounded in number and in length; nothing is kept of nothing', () => {
  let all: readonly PastSearch[] = []
  for (let n = 0; n < SEARCHES_MAX + 5; n++) all = withSearch(all, { ...ASKED, query: `n:${n}` }, n)
  assert.equal(all.length, SEARCHES_MAX)
  assert.equal(all[0]?.query, `n:${SEARCHES_MAX + 4}`)
  const long = 'x'.repeat(KEPT_CHARS_MAX + 1)
  for (const query of ['', '  ', long]) assert.equal(withSearch(all, { ...ASKED, query }, 9), all)
})

test('what is not ours is passed over; off stays off', () => {
  const ours = withSearch([], ASKED, 1)
  const strange = [null, 5, { query: 5 }, { ...ours[0], clock: 'no' }, { ...ours[0], to: null }]
  assert.deepEqual(readSearches(JSON.stringify([...strange, ...ours])), ours)
  for (const text of [undefined, '', '{}', 'null', '{"a']) assert.deepEqual(readSearches(text), [])
  assert.equal(readSearches(OFF), undefined)
})

test('a query that we would not keep is not read either', () => {
  const long = { ...withSearch([], ASKED, 1)[0], query: 'x'.repeat(KEPT_CHARS_MAX + 1) }
  assert.deepEqual(readSearches(JSON.stringify([long])), [])
})
