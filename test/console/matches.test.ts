/**
 * Goal: what the list and an open event mark is what the query finds there, by the language's own
 * rules, and nothing that it does not.
 * Method: literal queries and texts, marked places in brackets.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFieldText } from '../../console/base/field.ts'
import { Cells } from '../../console/events/cells.ts'
import { readEvents } from '../../console/events/event.ts'
import { type Marked, Matches } from '../../console/text/matches.ts'
import type { Piece } from '../../console/text/pieces.ts'
import { TEXT_FIELDS_DEFAULT, TextNames } from '../../src/model/text-fields.ts'

const names = new TextNames(TEXT_FIELDS_DEFAULT)

/** The text with brackets around what is marked of it, as the value of `field`. */
function marked(query: string, text: string, field = 'message', isFree = field === 'message') {
  const asked: Marked = { text, field: readFieldText(field), isFree }
  let shown = ''
  let at = 0
  for (const [start, end] of new Matches(query, names).placesIn(asked)) {
    shown += `${text.slice(at, start)}[${text.slice(start, end)}]`
    at = end
  }
  return shown + text.slice(at)
}

test('words and phrases, in any case, where they are words', () => {
  assert.equal(marked('timeout', 'a Timeout, no timeouts'), 'a [Timeout], no timeouts')
  assert.equal(marked('"timed out"', 'timed out, out timed'), '[timed out], out timed')
  assert.equal(marked('timed OR out', 'timed out'), '[timed] [out]')
  assert.equal(marked('message:timeout', 'a timeout'), 'a [timeout]')
  assert.equal(marked('message="a timeout"', 'a timeout'), '[a timeout]')
  assert.equal(marked('message="timeout"', 'a timeout'), 'a timeout')
})

test('nothing of what is excluded, is elsewhere, or cannot be read', () => {
  assert.equal(marked('NOT timeout', 'a timeout'), 'a timeout')
  assert.equal(marked('msg:timeout', 'a timeout'), 'a timeout')
  assert.equal(marked('timeout', 'a timeout', 'host'), 'a timeout')
  assert.equal(marked('timeout', 'timeout', 'host', true), '[timeout]')
  assert.equal(marked('timeout (', 'a timeout'), 'a timeout')
  assert.equal(marked('status:>=500 message:*', '502'), '502')
})

test('whole values of other fields', () => {
  assert.equal(marked('status:502', '502', 'status'), '[502]')
  assert.equal(marked('status:502', '502.0', 'status'), '[502.0]')
  assert.equal(marked('status:"502"', '502', 'status'), '[502]')
  assert.equal(marked('status:50', '502', 'status'), '502')
  assert.equal(marked('host:web', 'web 1', 'host'), 'web 1')
  assert.equal(marked('_service:cart', 'cart', '_service'), '[cart]')
  assert.equal(marked('http.*:x', 'x', 'http.host'), '[x]')
  assert.equal(marked('http.*:x', 'x', 'https.host'), 'x')
  assert.equal(marked('*:x', 'x', 'http.host'), '[x]')
  assert.equal(marked('items[]:{name:x}', 'x', 'items[].name'), '[x]')
})

test('patterns: whole values, and in text where words begin and end', () => {
  assert.equal(marked('path:/api/*', '/api/x', 'path'), '[/api/x]')
  assert.equal(marked('path:/api/*x?', '/api/axxb', 'path'), '[/api/axxb]')
  assert.equal(marked('path:/api/*', '/app/x', 'path'), '/app/x')
  assert.equal(marked('time*', 'a Timeout, overtime'), 'a [Timeout,] overtime')
  assert.equal(marked('*out', 'timeout outer'), '[timeout] outer')
  assert.equal(marked('*meo*', 'timeout someone'), 'ti[meo]ut so[meo]ne')
  assert.equal(marked('t?med', 'timed tamed untimed'), '[timed] [tamed] untimed')
  const long = 'a'.repeat(50_000)
  assert.equal(marked(`${'*a'.repeat(500)}*b`, long), long)
})

test('regular expressions, of those that cannot take for ever', () => {
  assert.equal(marked('/time ?out/i', 'Timeout, time out'), '[Timeout], [time out]')
  assert.equal(marked('/[0-9]+ ms/', 'took 30 ms'), 'took [30 ms]')
  const startMs = performance.now()
  for (const evil of [
    '/(a+)+b/',
    '/a*a*a*a*b/',
    '/(a|a)*b/',
    `/${'a?'.repeat(30)}${'a'.repeat(30)}/`,
  ]) {
    const text = 'a'.repeat(3_000)
    assert.equal(marked(evil, text), text)
  }
  assert.ok(performance.now() - startMs < 2_000)
})

function eventOf(payload: object) {
  const record = { id: '1-0', ingested_at: '2026-01-31T10:00:00.000Z', payload }
  return readEvents(JSON.stringify({ events: [record] })).events[0]!
}

const shown = (pieces: readonly Piece[]) =>
  pieces.map(({ text, isMatch }) => (isMatch ? `[${text}]` : text)).join('')

test('an event’s line is its text, else its payload, whose names are not marked', () => {
  const cells = new Cells('error', TEXT_FIELDS_DEFAULT, true)
  assert.equal(shown(cells.lineOf(eventOf({ host: 'error', message: 'an error' }))), 'an [error]')
  const json = shown(cells.lineOf(eventOf({ error: 'x' })))
  assert.equal(json, 'x', 'a field that is text by its name')
  const textless = cells.lineOf(eventOf({ kind: 'error', of: { error: 1 } }))
  assert.equal(shown(textless), '{"kind":"[error]","of":{"error":1}}')
  const long = cells.lineOf(eventOf({ message: `error ${'x'.repeat(2_000)}` }))
  assert.match(shown(long), /^\[error\] x{300,}…$/)
})

test('a cell shows kinds of values as they are elsewhere', () => {
  const cells = new Cells('status:200', TEXT_FIELDS_DEFAULT, true)
  const cellOf = (payload: object) =>
    shown(cells.cellOf(eventOf(payload), readFieldText('status')!))
  assert.equal(cellOf({ status: 200 }), '[200]')
  assert.equal(cellOf({ status: '200' }), '["200"]')
  assert.equal(cellOf({ status: 'a\nb\u0007' }), 'a\\nb\\u0007')
  assert.equal(cellOf({ status: { a: 1 } }), '{"a":1}')
  assert.equal(cellOf({ other: 1 }), '')
})
