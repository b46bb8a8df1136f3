import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatEventId, tryParseEventId } from '../../src/model/event-id.ts'

test('an event id is read back as it was written', () => {
  for (const text of ['0-0', '123-7', '9223372036854775807-2147483647']) {
    const id = tryParseEventId(text)
    assert.ok(id)
    assert.equal(formatEventId(id), text)
  }
})

test('what is not an event id is refused', () => {
  const texts = [
    '',
    '1',
    '1-',
    '-1',
    '1-01',
    '01-1',
    '1--1',
    '9223372036854775808-0',
    '1-2147483648',
  ]
  for (const text of [...texts, ' 1-1', '1-1 ', 'a-b']) {
    assert.equal(tryParseEventId(text), undefined, text)
  }
})
