/**
 * Goal: a link shows to others what its maker saw: the same events, and the same times where these
 * are meant. What is open survives the address, whatever it is called.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonical, href, listText, readList, readRoute } from '../../console/base/address.ts'
import { OPENED_MAX, openedText, readOpened } from '../../console/base/opened-events.ts'
import { isMoving, linkOf } from '../../console/share/link.ts'

const NOW_MS = Date.parse('2026-01-31T12:00:00Z')
const FIXED = { isFixed: true, nowMs: NOW_MS }
const MOVING = { isFixed: false, nowMs: NOW_MS }
const shared = (text: string, wish: Parameters<typeof linkOf>[1]): Record<string, unknown> => {
  const { screen, streamId, params } = readRoute(linkOf(readRoute(text), wish))
  return { at: [screen, streamId], ...Object.fromEntries(params) }
}

test('a range that moves is that of the moment, or moves on', () => {
  const text = '#/explore/7?q=a%26b&from=-15m&live=1&dialog=export'
  const own = { at: ['explore', '7'], q: 'a&b' }
  assert.deepEqual(shared(text, FIXED), {
    ...own,
    from: '2026-01-31T11:45:00.000Z',
    to: '2026-01-31T12:00:00.000Z',
  })
  assert.deepEqual(shared(text, MOVING), { ...own, from: '-15m', live: '1' })
  // Without a word of it the range is the last hour.
  assert.equal(shared('#/explore/7', FIXED).from, '2026-01-31T11:00:00.000Z')
})

test('a range that stands still is asked nothing about, and stays', () => {
  const still = '#/explore?from=2026-01-01T00:00:00.000Z&to=2026-01-02T00:00:00.000Z'
  assert.equal(isMoving(readRoute(still)), false)
  assert.equal(linkOf(readRoute(still), FIXED), canonical(still))
  for (const moving of ['#/explore', '#/explore?from=-1h', `${still}-1h`, `#/explore?to=now-5m`]) {
    assert.equal(isMoving(readRoute(moving)), !moving.endsWith('Z-1h'), moving)
  }
  for (const none of ['#/explore?from=-999999999w', '#/explore?from=yesterday']) {
    assert.equal(isMoving(readRoute(none)), false, none)
  }
  // What cannot be read is told where it is opened.
  assert.equal(shared('#/explore?from=yesterday', FIXED).from, 'yesterday')
})

test('a link to an event opens it alone, as it is shown', () => {
  const text = '#/explore/7?event=17-3,18-0:around'
  assert.equal(shared(text, { ...MOVING, eventId: '18-0' }).event, '18-0:around')
  assert.equal(shared(text, { ...MOVING, eventId: '19-0' }).event, '19-0')
  assert.equal(shared(text, MOVING).event, '17-3,18-0:around')
})

test('of open events what is one is read, each once, and not too many', () => {
  assert.deepEqual(readOpened('17-3,x,18-0:raw,17-3:raw,-,19-1:other'), [
    { id: '17-3', view: 'raw' },
    { id: '18-0', view: 'raw' },
    { id: '19-1', view: 'tree' },
  ])
  assert.deepEqual(readOpened(null), [])
  const many = Array.from({ length: 50 }, (_, n) => ({ id: `1-${n}`, view: 'raw' as const }))
  assert.equal(readOpened(openedText(many)).length, OPENED_MAX)
})

test('a list survives the address, whatever is in it', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', minLength: 1 })), (items) => {
      const address = href('schema', '1', { field: listText(items) })
      assert.deepEqual(readList(readRoute(address).params.get('field')), items)
    }),
  )
  // As people type it.
  assert.deepEqual(readList('100%,b'), ['100%', 'b'])
})

test('an address by hand: a ? in it, and a parameter that is there twice', () => {
  const { params } = readRoute('#/explore/7?q=path:/a?b=1&from=-1h&q=other&from=-7d')
  assert.deepEqual(
    [...params],
    [
      ['q', 'path:/a?b=1'],
      ['from', '-1h'],
    ],
  )
  const [screen, id] = [readRoute('#explore/7'), readRoute('#/explore/7/?a')]
  assert.deepEqual([screen.streamId, id.streamId, id.params.get('a')], ['7', '7', ''])
})
