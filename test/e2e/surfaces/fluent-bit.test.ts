/**
 * Goal: Fluent Bit, with the buffer it has by default, sends no chunk again of which anything was
 * stored; clients of other kinds are told what they read.
 * Method: its requests as literal bytes, the answers read as each of its versions reads them.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  FLUENT_BIT_BUFFER_BYTES,
  FLUENT_BIT_READERS,
  readAsFluentBit,
} from '../../accept/surfaces/elastic/fluent-bit-model.ts'
import { Api, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'
import { sendWire, type WireAnswer } from './wire-request.ts'

let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

const FLUENT_BIT = ['User-Agent: Fluent-Bit', 'Content-Type: application/x-ndjson']
const META = '{"create":{"_index":"fluent-bit","_type":"_doc"}}\n'

function send(
  stream: Stream,
  headers: readonly string[],
  body: string,
  path = '/_bulk',
): Promise<WireAnswer> {
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${service.port}`,
    `Authorization: Basic ${Buffer.from(`any:${stream.key}`).toString('base64')}`,
    ...headers,
  ]
  return sendWire(service.port, head, body)
}

function chunk(count: number): string {
  return Array.from({ length: count }, (_, n) => {
    return `${META}{"@timestamp":"2026-11-21T12:00:00.000Z","log":"line ${n}","stream":"stdout"}\n`
  }).join('')
}

function assertDelivered(answer: WireAnswer): void {
  const headers = [...answer.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const bytes = `HTTP/1.1 ${answer.status} OK\r\n${headers}\r\n${answer.text}`
  for (const [version, judge] of FLUENT_BIT_READERS) {
    assert.equal(readAsFluentBit(bytes, judge), 'delivered', version)
  }
}

test('a chunk of 20,000 records is taken for delivered', async () => {
  const stream = await api.createStream()
  const answer = await send(stream, FLUENT_BIT, chunk(20_000))
  assertDelivered(answer)
  assert(answer.bytes.length < FLUENT_BIT_BUFFER_BYTES / 4, `${answer.bytes.length} bytes`)
  assert.equal((await api.usage(stream.id)).events, 20_000)
})

test('a chunk with bad records is delivered nevertheless, and they are reported', async () => {
  const stream = await api.createStream()
  const bad = `${META}[1]\n${META}{"log":\n`
  const answer = await send(stream, FLUENT_BIT, `${chunk(3)}${bad}${chunk(2)}`, '/any/_bulk')
  assertDelivered(answer)
  const { errors, items } = JSON.parse(answer.text)
  assert.equal(errors, false)
  assert.deepEqual(
    items.map((item: { create: { status: number } }) => item.create.status),
    [400, 400],
  )
  assert.match(items[0].create.error.reason, /^line 8: /)
  assert.equal((await api.usage(stream.id)).events, 5)
})

test('nothing but bad records: sending them again would not make them better', async () => {
  const stream = await api.createStream()
  const answer = await send(stream, FLUENT_BIT, `${META}[1]\n`.repeat(30_000))
  assertDelivered(answer)
  assert(answer.bytes.length < 8_192, `${answer.bytes.length} bytes`)
})

test('a filter_path works for every sender', async () => {
  const stream = await api.createStream()
  const path = '/_bulk?filter_path=errors,items.*.status'
  const answer = await send(stream, FLUENT_BIT, `${chunk(1)}${META}[1]\n`, path)
  assert.equal(
    answer.text,
    '{"errors":true,"items":[{"create":{"status":201}},{"create":{"status":400}}]}',
  )
})

test('clients of version 7 get the type, alone or in a bulk request', async () => {
  const stream = await api.createStream()
  const body = '{"index":{"_index":"a","_id":"1"}}\n{"n":1}\n{"index":{"_id":"2"}}\n{"n"\n'
  for (const [header, hasType] of [
    ['User-Agent: elasticsearch-java/7.17.26 (Java/17.0.15)', true],
    ['Accept: application/vnd.elasticsearch+json; compatible-with=7', true],
    ['User-Agent: elasticsearch-java/8.17.0 (Java/17.0.15)', false],
    ['Accept: application/vnd.elasticsearch+json; compatible-with=8', false],
  ] as const) {
    const headers = [header, 'Content-Type: application/x-ndjson']
    const { items } = JSON.parse((await send(stream, headers, body)).text)
    const single = JSON.parse((await send(stream, headers, '{"n":2}', '/a/_doc')).text)
    const types = [items[0].index, items[1].index, single].map(({ _type }) => _type)
    assert.deepEqual(types, Array(3).fill(hasType ? '_doc' : undefined), header)
    assert.equal(items[0].index._seq_no, hasType ? 0 : undefined)
  }
})
