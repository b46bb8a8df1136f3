/**
 * Goal: parts of a multipart body come out as they went in; what is no such body is refused, and
 * so is one over its bound.
 */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import {
  RequestRejected,
  readBody,
  readParts,
  Spool,
} from '../../src/embedded/clickhouse-request.ts'
import { makeDirectory, removeDirectory } from '../store/temporary.ts'

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

const MIB = 1024 * 1024

/** A request whose body has so many MiB. */
function requestOf(count: number): IncomingMessage {
  const chunk = Buffer.alloc(MIB)
  const body = Readable.from(Array.from({ length: count }, () => chunk))
  return Object.assign(body, { headers: {} }) as unknown as IncomingMessage
}

test('data of an INSERT over 256 MiB and statements over 16 MiB are refused', async () => {
  const directory = makeDirectory()
  after(() => removeDirectory(directory))
  const spool = new Spool(directory)
  const isTooLarge = (error: unknown) => error instanceof RequestRejected && error.status === 413
  await assert.rejects(spool.body(requestOf(257)), isTooLarge)
  ;(await spool.body(requestOf(256))).close()
  await assert.rejects(readBody(requestOf(17)), isTooLarge)
  assert.equal((await readBody(requestOf(16))).length, 16 * MIB)
})
