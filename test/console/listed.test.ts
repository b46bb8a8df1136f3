/** Goal: a stream is found by what is typed of its name, and lists are in the order asked for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listStreams, nextSort, readSort } from '../../console/streams/listed.ts'

const STREAMS = ['web', 'web-10', 'web-9', 'Payments'].map((name, at) => {
  return { id: String(at + 1), name, owner: at === 3 ? 'ann' : 'admin' }
})

function usage(events: number, more: object = {}) {
  const stored = { raw: events, projection: 0 }
  const base = { events, raw_bytes: events, stored_bytes: stored, newest_event_at: null }
  return { ...base, lag_seconds: 0, ...more }
}

const USAGES = new Map([
  ['1', usage(5, { newest_event_at: '2026-01-31T12:00:00Z' })],
  ['2', usage(50, { lag_seconds: 9 })],
  ['3', usage(5, { stored_bytes: { raw: 1, projection: 99 } })],
])

function shown(text: string, sort: string | null = null) {
  const listed = listStreams(STREAMS, USAGES, { text, sort: readSort(sort) })
  return listed.map(({ stream }) => stream.name)
}

test('every word must be in the name or the owner, in any case; an id is taken whole', () => {
  assert.deepEqual(shown(''), ['web', 'web-10', 'web-9', 'Payments'])
  assert.deepEqual(shown('PAY'), ['Payments'])
  assert.deepEqual(shown(' 1 web '), ['web-10'])
  assert.deepEqual(shown('ann'), ['Payments'])
  assert.deepEqual(shown('2'), ['web-10'])
  assert.deepEqual(shown('nothing'), [])
})

test('by each column, both ways; what is not known is least', () => {
  assert.deepEqual(shown('', 'name'), ['Payments', 'web', 'web-9', 'web-10'])
  assert.deepEqual(shown('', '-name'), ['web-10', 'web-9', 'web', 'Payments'])
  assert.deepEqual(shown('', '-events'), ['web-10', 'web', 'web-9', 'Payments'])
  assert.deepEqual(shown('', '-sent')[0], 'web-10')
  assert.deepEqual(shown('', '-size')[0], 'web-9')
  assert.deepEqual(shown('', '-newest')[0], 'web')
  assert.deepEqual(shown('', '-lag')[0], 'web-10')
  assert.deepEqual(shown('', 'lag').at(-1), 'web-10')
  assert.deepEqual(shown('', 'constructor'), shown(''))
})

test('a heading sorts figures by the largest first, and turns round', () => {
  assert.equal(nextSort('events', undefined), '-events')
  assert.equal(nextSort('events', readSort('-events')), 'events')
  assert.equal(nextSort('name', readSort('-events')), 'name')
})
