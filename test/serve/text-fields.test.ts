/** Goal: a stream's settings for reading and OTLP are within bounds, and shown as they were set. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { TEXT_FIELDS_MAX } from '../../src/limits.ts'
import { TEXT_FIELDS_DEFAULT } from '../../src/model/text-fields.ts'
import { streamRoutes } from '../../src/serve/streams.ts'
import { RestHarness, startDatabase, type TestDatabase } from './rest-harness.ts'

const SCOPES = ['streams:read', 'streams:write'] as const

let database: TestDatabase
let rest: RestHarness

before(async () => {
  database = await startDatabase()
  rest = await RestHarness.start(database.postgres, (harness) => streamRoutes(harness))
})

after(async () => {
  await rest.close().finally(() => database.close())
})

const newStream = async (token: string) => {
  const { json } = await rest.call('POST', '/v1/streams', { token, body: { name: 'web' } })
  return json.id as string
}

test('a stream has default text fields; of others it keeps TEXT_FIELDS_MAX, in order', async () => {
  const token = await rest.token('texts', SCOPES)
  const id = await newStream(token)
  const created = await rest.call('GET', `/v1/streams/${id}`, { token })
  assert.deepEqual(created.json.text_fields, TEXT_FIELDS_DEFAULT)
  const paths = Array.from({ length: TEXT_FIELDS_MAX }, (_, i) => `n${TEXT_FIELDS_MAX - i}.é`)
  const body = { text_fields: paths }
  const { status } = await rest.call('PATCH', `/v1/streams/${id}`, { token, body })
  assert.equal(status, 200)
  const { json } = await rest.call('GET', `/v1/streams/${id}`, { token })
  assert.deepEqual(json.text_fields, paths)
})

test('names with "+" are added to the default', async () => {
  const token = await rest.token('added', SCOPES)
  const id = await newStream(token)
  const body = { text_fields: ['+comment', '+Message', '+app.note'] }
  const { status, json } = await rest.call('PATCH', `/v1/streams/${id}`, { token, body })
  assert.equal(status, 200)
  assert.deepEqual(json.text_fields, [...TEXT_FIELDS_DEFAULT, 'comment', 'app.note'])
})

test('what becomes of the context of OTLP records is drop or keep', async () => {
  const token = await rest.token('contexts', SCOPES)
  const id = await newStream(token)
  const patch = async (value: unknown) => {
    return rest.call('PATCH', `/v1/streams/${id}`, { token, body: { otlp_context: value } })
  }
  assert.equal((await patch('keep')).json.otlp_context, 'keep')
  for (const value of ['all', null, true]) {
    const { status, json } = await patch(value)
    assert.equal(status, 400)
    assert.match(JSON.stringify(json), /otlp_context.*must be/)
  }
  const { json } = await rest.call('GET', `/v1/streams/${id}`, { token })
  assert.equal(json.otlp_context, 'keep')
})

test('text fields out of bounds are refused, with the limit', async () => {
  const token = await rest.token('bounds', SCOPES)
  const id = await newStream(token)
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ text_fields: 'message' }, /"text_fields" must be a list/],
    [{ text_fields: null }, /"text_fields" must be a list/],
    [{ text_fields: [1] }, /"text_fields"\[0\] must be a string/],
    [{ text_fields: [] }, /"text_fields" must have at least one name/],
    [{ text_fields: [''] }, /"text_fields"\[0\] is not the name of a field/],
    [{ text_fields: ['a.^`b`'] }, /"text_fields"\[0\] is not the name of a field/],
    [{ text_fields: ['a\u0000'] }, /"text_fields"\[0\] is not the name of a field/],
    [{ text_fields: ['\ud800'] }, /"text_fields"\[0\] is not the name of a field/],
    [{ text_fields: ['a', 'items[].note'] }, /"text_fields"\[1\] leads into an array/],
    [{ text_fields: ['a', 'b', 'A'] }, /"text_fields"\[2\] is in the list twice: .* as \[0\]/],
    [{ text_fields: ['+a', 'b'] }, /"text_fields" has names with and without "\+"/],
    [{ text_fields: ['+a', '+items[].note'] }, /"text_fields"\[1\] leads into an array/],
    [
      { text_fields: ['é'.repeat(513)] },
      /"text_fields"\[0\] is 1026 bytes, over FIELD_PATH_BYTES_MAX \(1024\)/,
    ],
    [
      { text_fields: Array.from({ length: TEXT_FIELDS_MAX + 1 }, (_, i) => `f${i}`) },
      /33 names, over TEXT_FIELDS_MAX \(32\)/,
    ],
  ]
  for (const [body, message] of cases) {
    const { status, json } = await rest.call('PATCH', `/v1/streams/${id}`, { token, body })
    assert.equal(status, 400)
    assert.match(json.detail, message)
  }
})
