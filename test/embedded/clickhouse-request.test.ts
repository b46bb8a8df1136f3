/** Goal: parts of a multipart body come out as they went in; what is no such body is refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestRejected, readParts } from '../../src/embedded/clickhouse-request.ts'

const BOUNDARY = '----b0undary'
const PARTS = [
  ['param_text', "a--b'\\é\r\n\r\n--"],
  ['param_none', ''],
  ['query', 'SELECT {text:String},\r\n{none:String}'],
] as const
const BODY = `${PARTS.map(
  ([name, value]) =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
).join('')}--${BOUNDARY}--\r\n`

test('names and values, whatever is in them', () => {
  assert.deepEqual(readParts(Buffer.from(BODY), BOUNDARY), PARTS)
  assert.deepEqual(readParts(Buffer.from(`--${BOUNDARY}--`), BOUNDARY), [])
})

test('a body that breaks off or is none is refused', () => {
  const broken = ['', BODY.slice(0, -8), BODY.slice(0, 40), BODY.replace('name=', 'nome='), 'x']
  for (const body of broken) {
    assert.throws(() => readParts(Buffer.from(body), BOUNDARY), RequestRejected, body)
  }
})
