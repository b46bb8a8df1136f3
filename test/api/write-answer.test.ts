/** Goal: an answer has the members that its schema names, in their order, and no other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeJson } from '../../src/api/write-answer.ts'
import { STREAM } from '../../src/read/stream-settings.ts'

test('a member that the schema does not name is not written', () => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } } } as const
  assert.equal(writeJson(schema, { a: 1, secret: 'x' }), '{"a":1}')
})

test('a stream is shown as the documents show it: what it is, settings, when it was made', () => {
  const { properties } = STREAM
  const value = Object.fromEntries(Object.keys(properties).map((name) => [name, null]))
  const stream = {
    ...value,
    redact_fields: [],
    text_fields: [],
    created_at: '2026-01-31T12:00:00.000Z',
  }
  const names = Object.keys(JSON.parse(writeJson(STREAM, stream)))
  assert.deepEqual(names.slice(0, 4), ['id', 'name', 'owner', 'retention'])
  assert.equal(names.at(-1), 'created_at')
})
