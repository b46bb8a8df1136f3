/**
 * Goal: a carriage return is white space between tokens of JSON (RFC 8259) and no end of a line: an
 * event is a line that a line feed ends. All surfaces take it so, and what is read back, line by
 * line or as server-sent events, has lines that any reader takes for one.
 * Method: the same bytes to each surface; what is stored and shown is compared.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, call, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'
import { connectAgent, createToken } from '../agents/agent-client.ts'

let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

const NDJSON = 'application/x-ndjson'
const OUTSIDE = '{"a":\r1,\r"b":\r["x",\r2]\r}'
const INSIDE = '{"a":"x\\ry"}'

const send = (stream: Stream, path: string, type: string, body: string) => {
  const headers = { 'content-type': type, 'x-api-key': stream.key }
  const authorization = `ApiKey ${stream.key}`
  const all = path.includes('_') ? { ...headers, authorization } : headers
  return call(`${service.url}${path}`, { method: 'POST', headers: all, body })
}

async function payloads(stream: Stream): Promise<unknown[]> {
  return (await api.events(stream.id)).map(({ payload }) => payload).reverse()
}

const EVENT = { a: 1, b: ['x', 2] }

test('between tokens it is white space, at the end of a line too, on every surface', async () => {
  for (const [path, type, body] of [
    ['/v1/ingest', NDJSON, `${OUTSIDE}\r\n\r\n\r${OUTSIDE}\n\r\r\n${INSIDE}`],
    ['/v1/ingest', 'application/json', `${OUTSIDE}\r\n\r\n\r${OUTSIDE}\n\r\r\n${INSIDE}`],
    ['/v1/ingest', 'application/json', `\r[\r${OUTSIDE}\r,\r${OUTSIDE},${INSIDE}\r]\r`],
    [
      '/_bulk',
      NDJSON,
      [
        `{"index":\r{}}\r\n${OUTSIDE}\r\n{"create":{}\r}\n${OUTSIDE}\n`,
        `{"index":{}}\r\r\n${INSIDE}\r\n`,
      ].join(''),
    ],
  ] as const) {
    const stream = await api.createStream()
    const answer = await send(stream, path, type, body)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(await payloads(stream), [EVENT, EVENT, { a: 'x\ry' }], `${path} ${type}`)
  }
  const one = await api.createStream()
  assert.equal((await send(one, '/logs/_doc', 'application/json', `\r${OUTSIDE}\r`)).status, 201)
  const pretty = OUTSIDE.replaceAll('\r', '\r\n')
  assert.equal((await send(one, '/v1/ingest', 'application/json', pretty)).status, 200)
  assert.deepEqual(await payloads(one), [EVENT, EVENT])
})

test('it ends no line: what follows in the line makes it malformed, or is text', async () => {
  const stream = await api.createStream()
  for (const type of [NDJSON, 'application/json']) {
    const two = await send(stream, '/v1/ingest', type, '{"a":1}\r{"a":2}\n{"a":3}')
    assert.deepEqual([two.status, JSON.parse(two.text).rejected], [200, 1], two.text)
    assert.match(two.text, /"line":1,"code":"malformed"/)
  }
  const bulk = await send(stream, '/_bulk', NDJSON, '{"index":{}}\n{"a":1}\r{"a":2}\n')
  assert.match(bulk.text, /"errors":true/)
  const raw = await send(stream, '/v1/ingest', NDJSON, '{"a":"x\ry"}\n{"a":4}')
  assert.match(raw.text, /"rejected":1/)
  const texts = await api.createStream()
  assert.equal((await send(texts, '/v1/ingest/text', 'text/plain', 'a\rb\r\n\r\nc\r')).status, 200)
  assert.deepEqual(await payloads(texts), [{ message: 'a\rb' }, { message: 'c' }])
})

test('lines that are read back have no carriage return of their own', async () => {
  const stream = await api.createStream()
  const token = await createToken(api, ['streams:read', 'events:read'])
  const headers = { authorization: `Bearer ${token}` }
  const tail = await fetch(`${service.url}/v1/streams/${stream.id}/tail`, { headers })
  const body = `${OUTSIDE}\n[1]\n${INSIDE}\n`
  assert.equal((await send(stream, '/v1/ingest', NDJSON, body)).status, 200)
  let seen = ''
  const decoder = new TextDecoder()
  for await (const chunk of tail.body as unknown as AsyncIterable<Uint8Array>) {
    seen += decoder.decode(chunk, { stream: true })
    if (/x\\ry/.test(seen)) break
  }
  assert.doesNotMatch(seen, /\r/)
  const lines = { ...headers, accept: NDJSON }
  const path = `${service.url}/v1/streams/${stream.id}/search`
  const exported = await call(path, { headers: lines })
  assert.doesNotMatch(exported.text, /\r/)
  const rows = exported.text.trimEnd().split('\n')
  assert.deepEqual(
    rows.map((line) => JSON.parse(line).payload),
    [EVENT, { a: 'x\ry' }],
  )
  const fields = await call(`${path}?fields=b`, { headers: lines })
  assert.doesNotMatch(fields.text, /\r/)
  const agent = await connectAgent(service, token)
  const { text } = await agent.call('search_events', { stream: stream.id })
  assert.doesNotMatch(text, /\r/)
  await agent.close()
})
