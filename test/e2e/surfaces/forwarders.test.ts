/**
 * Goal: the forwarders that speak to Elasticsearch carry on with us, from their first probe on.
 * Method: what each sends, as literal requests on a socket, and its answer judged by what that
 * forwarder looks for in it (docs/elastic.md). One service for all. Fluent Bit: fluent-bit.test.ts.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { deflateSync, gzipSync } from 'node:zlib'
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

type Body = string | Uint8Array
type Send = (requestLine: string, headers: readonly string[], body?: Body) => Promise<WireAnswer>

/** Sends with the stream's key as the password, as all of them are configured. */
function sender(stream: Stream, headersOfAll: readonly string[]): Send {
  const credential = Buffer.from(`elastic:${stream.key}`).toString('base64')
  return (requestLine, headers, body) => {
    const head = [
      `${requestLine} HTTP/1.1`,
      `Host: 127.0.0.1:${service.port}`,
      `Authorization: Basic ${credential}`,
      ...headersOfAll,
      ...headers,
    ]
    return sendWire(service.port, head, body)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the answer holds is judged by the test.
const json = (answer: WireAnswer): any => JSON.parse(answer.text)

function assertProduct(answer: WireAnswer, type = 'application/json'): void {
  assert.equal(answer.headers.get('x-elastic-product'), 'Elasticsearch')
  assert.equal(answer.headers.get('content-type'), type)
}

/** Payloads in the order in which they were sent. */
async function stored(stream: Stream): Promise<unknown[]> {
  return (await api.events(stream.id)).map(({ payload }) => payload).reverse()
}

test('Filebeat: greeting, license, templates, data stream, bulk', async () => {
  const stream = await api.createStream()
  const agent = 'Elastic-filebeat/8.17.4 (linux; amd64; 97b1e8e; 2025-03-19 22:46:12 +0000 UTC)'
  const send = sender(stream, [
    `User-Agent: ${agent}`,
    'Accept: application/json',
    'X-Elastic-Product-Origin: observability',
    'Accept-Encoding: gzip',
  ])
  const greeting = await send('GET /', [])
  assert.equal(json(greeting).version.number, '8.17.4')
  for (let i = 0; i < 2; i++) {
    const { license } = json(await send('GET /_license?human=false', []))
    assert.deepEqual([license.status, license.type], ['active', 'basic'])
    assert.equal(typeof license.uid, 'string')
  }
  const type = ['Content-Type: application/json; charset=UTF-8']
  assert.equal((await send('GET /_ilm/policy/filebeat', [])).status, 200)
  assert.equal((await send('HEAD /_index_template/filebeat-8.17.4', [])).status, 200)
  const template = '{"data_stream":{},"index_patterns":["filebeat-8.17.4"],"priority":150}'
  const put = await send('PUT /_index_template/filebeat-8.17.4', type, template)
  assert.deepEqual(json(put), { acknowledged: true })
  const streams = json(await send('GET /_data_stream/filebeat-8.17.4', []))
  assert.equal(streams.data_streams[0].name, 'filebeat-8.17.4')

  // Go's url.Values encodes commas and asterisks.
  const path = 'POST /_bulk?filter_path=errors%2Citems.%2A.error%2Citems.%2A.status'
  const meta = '{"create":{"_index":"filebeat-8.17.4"}}\n'
  const documents = Array.from({ length: 1_600 }, (_, n) => {
    return `{"@timestamp":"2026-11-21T12:00:00.000Z","message":"line ${n}","log":{"offset":${n}}}\n`
  })
  const body = gzipSync(documents.map((document) => meta + document).join(''))
  const answer = await send(path, [...type, 'Content-Encoding: gzip'], body)
  assert.equal(answer.status, 200)
  assertProduct(answer)
  // It walks the bytes: a dictionary, the items' list, in each a dictionary of one operation.
  const items = Array(1_600).fill('{"create":{"status":201}}').join(',')
  assert.equal(answer.text, `{"errors":false,"items":[${items}]}`)
  assert.deepEqual(
    await stored(stream),
    documents.map((document) => JSON.parse(document)),
  )
})

test('Beats: a bad event is final and alone, those around it are delivered', async () => {
  const stream = await api.createStream()
  const send = sender(stream, ['User-Agent: Elastic-filebeat/9.0.0 (linux; amd64; x; y)'])
  const path = 'POST /_bulk?filter_path=errors%2Citems.%2A.error%2Citems.%2A.status'
  const meta = '{"create":{"_index":"filebeat-9.0.0"}}\n'
  const body = `${meta}{"n":0}\n${meta}{"n":\n${meta}{"n":2}\n`
  const answer = json(await send(path, ['Content-Type: application/json'], body))
  assert.equal(answer.errors, true)
  assert.deepEqual(
    answer.items.map((item: { create: { status: number } }) => item.create.status),
    [201, 400, 201],
  )
  assert.equal(answer.items[1].create.error.type, 'document_parsing_exception')
  assert.deepEqual(await stored(stream), [{ n: 0 }, { n: 2 }])
})

test('Beats: an ApiKey as it is configured, id:key in base64', async () => {
  const stream = await api.createStream()
  const apiKey = Buffer.from(`filebeat:${stream.key}`).toString('base64')
  const answer = await sendWire(
    service.port,
    ['POST /_bulk HTTP/1.1', 'Host: x', `Authorization: ApiKey ${apiKey}`],
    '{"create":{"_index":"a"}}\n{"n":1}\n',
  )
  assert.equal(answer.status, 200)
})

test('Logstash: probes, then bulk with nulls in its meta', async () => {
  const stream = await api.createStream()
  const agent =
    'logstash/8.17.0 (OS=Linux-6.1.0-amd64-amd64; JVM=Eclipse Adoptium-21.0.5) ' +
    'logstash-output-elasticsearch/11.22.10-java'
  const send = sender(stream, [
    'Connection: Keep-Alive',
    `User-Agent: ${agent}`,
    'x-elastic-product-origin: logstash-output-elasticsearch',
  ])
  const head = await send('HEAD /', [])
  assert.deepEqual([head.status, head.text], [200, ''])
  assert.equal(json(await send('GET /', [])).version.number, '8.17.0')
  assert.equal(json(await send('GET /_license', [])).license.status, 'active')
  const type = ['Content-Type: application/json']
  assert.equal((await send('HEAD /_index_template/ecs-logstash', [])).status, 200)
  assert.equal((await send('PUT /_index_template/ecs-logstash', type, '{}')).status, 200)
  assert.equal((await send('HEAD /logstash', [])).status, 200)

  const path = 'POST /_bulk?filter_path=errors,items.*.error,items.*.status'
  const body = gzipSync(
    [
      '{"index":{"_id":null,"_index":"logstash-2026.11.21","routing":null}}',
      '{"message":"a","@version":"1","host":{"name":"h"}}',
      '{"create":{"_id":"own","_index":"logs-generic-default","routing":null,"pipeline":null}}',
      '{"message":"b ✓"}',
      '{"update":{"_id":"u","_index":"x","routing":null,"retry_on_conflict":1}}',
      '{"doc":{"message":"c"},"doc_as_upsert":true}',
      '{"update":{"_id":"v","_index":"x"}}',
      '{"script":{"source":"x"},"upsert":{"message":"d"},"scripted_upsert":true}',
      '',
    ].join('\n'),
  )
  const answer = await send(path, [...type, 'Content-Encoding: gzip'], body)
  assert.equal(
    answer.text,
    '{"errors":false,"items":[{"index":{"status":201}},{"create":{"status":201}},' +
      '{"update":{"status":201}},{"update":{"status":201}}]}',
  )
  const messages = (await stored(stream)).map((one) => (one as { message: string }).message)
  assert.deepEqual(messages, ['a', 'b ✓', 'c', 'd'])
})

test('Fluentd: sniffing, vendor types, meta with _type and _alias', async () => {
  const stream = await api.createStream()
  const type = 'application/vnd.elasticsearch+json; compatible-with=8'
  const send = sender(stream, [
    'User-Agent: elasticsearch-ruby/8.17.1 (RUBY_VERSION: 3.2.6; linux x86_64; Faraday v2.12.2)',
    'x-elastic-client-meta: es=8.17.1,rb=3.2.6,t=8.3.5,fd=2.12.2,nh=0.3.2',
    'Accept-Encoding: gzip;q=1.0,deflate;q=0.6,identity;q=0.3',
    `Accept: ${type}`,
  ])
  const greeting = await send('GET /', [])
  assertProduct(greeting, type.replace(' ', ''))
  assert.equal(json(greeting).version.number, '8.17.1')
  const { nodes } = json(await send('GET /_nodes/http', []))
  const [node] = Object.values(nodes) as { http: { publish_address: string } }[]
  assert.equal(node?.http.publish_address, `127.0.0.1:${service.port}`)
  const body =
    '{"index":{"_index":"fluentd","_type":"_doc","_alias":"f","_id":"one"}}\n{"a":1}\n' +
    '{"create":{"_index":"fluentd","_type":"_doc","require_alias":true}}\n{"a":2}\n'
  const bulkType = 'application/vnd.elasticsearch+x-ndjson; compatible-with=8'
  const answer = json(await send('POST /_bulk', [`Content-Type: ${bulkType}`], body))
  assert.equal(answer.errors, false)
  assert.equal(answer.items[0].index._id, 'one')
  assert.equal(answer.items[1].create.status, 201)
  assert.deepEqual(await stored(stream), [{ a: 1 }, { a: 2 }])
})

test('Vector: health, then bulk plain, gzip and deflate, judged by a literal', async () => {
  const stream = await api.createStream()
  const send = sender(stream, ['User-Agent: Vector/0.43.0 (x86_64-unknown-linux-gnu a1b2c3)'])
  assert.equal((await send('GET /_cluster/health', [])).status, 200)
  const type = 'Content-Type: application/x-ndjson'
  const body = '{"index":{"_index":"vector-2026.11.21","_type":"_doc"}}\n{"message":"m"}\n'
  const path = 'POST /_bulk?timeout=60s'
  for (const [encoding, bytes] of [
    ['identity', body],
    ['gzip', gzipSync(body)],
    ['deflate', deflateSync(body)],
  ] as const) {
    const answer = await send(path, [type, `Content-Encoding: ${encoding}`], bytes)
    assert.equal(answer.status, 200, encoding)
    assert.ok(!answer.text.includes('"errors":true'))
    assert.ok(answer.text.includes('"errors":false'))
  }
  const bad = await send(path, [type], `${body}{"index":{}}\nnot json\n`)
  assert.ok(bad.text.includes('"errors":true'))
  // Its snappy is not to be had; it tells so before anything is read.
  const snappy = await send(path, [type, 'Content-Encoding: snappy'], body)
  assert.equal(snappy.status, 415)
  assert.equal((await stored(stream)).length, 4)
})

test('rsyslog: health by curl, bulk with a space in its meta', async () => {
  const stream = await api.createStream()
  const send = sender(stream, ['Accept: */*'])
  const health = await send('GET /_cat/health', [])
  assert.equal(health.status, 200)
  const meta = '{"index":{"_index": "system-2026","_type":"events"}}\n'
  const body = `${meta}{"message":" a"}\n${meta}{"message":" b"}\n`
  const headers = ['Content-Type: application/json; charset=utf-8', 'Expect: 100-continue']
  const answer = await send('POST /_bulk', headers, body)
  assert.ok(answer.status >= 200 && answer.status < 300)
  const { errors, items } = json(answer)
  assert.deepEqual([errors, items.length, items[0].index.status], [false, 2, 201])
  assert.deepEqual(await stored(stream), [{ message: ' a' }, { message: ' b' }])
})

test("OpenTelemetry's elasticsearch exporter: its filter, its meta", async () => {
  const stream = await api.createStream()
  const send = sender(stream, [
    'User-Agent: OpenTelemetry Collector Contrib/0.120.0 (linux/amd64)',
    'X-Elastic-Client-Meta: es=8.17.1,go=1.23.6,t=8.6.1,hc=1.23.6',
  ])
  const fields = ['_index', 'status', 'error.type', 'error.reason']
  const filter = fields.map((field) => `items.*.${field}`).join('%2C')
  const body = [
    '{"create":{"_index":"logs-generic-default","dynamic_templates":{"a.b":"gauge"},' +
      '"require_data_stream":true,"list_executed_pipelines":true}}',
    '{"body":{"text":"x"}}',
    '{"create":{"_index":"logs-generic-default"}}',
    'no',
    '',
  ].join('\n')
  const path = `POST /_bulk?filter_path=${filter}&require_data_stream=true`
  const headers = ['Content-Type: application/vnd.elasticsearch+x-ndjson;compatible-with=8']
  const answer = json(await send(path, [...headers, 'Content-Encoding: gzip'], gzipSync(body)))
  assert.deepEqual(Object.keys(answer), ['items'])
  const [good, bad] = answer.items
  assert.deepEqual(good, { create: { _index: 'logs-generic-default', status: 201 } })
  assert.deepEqual(Object.keys(bad.create).sort(), ['_index', 'error', 'status'])
  assert.equal(bad.create.error.type, 'document_parsing_exception')
  assert.equal(typeof bad.create.error.reason, 'string')
})

test('winston: keys beside the operation, nulls in the meta', async () => {
  const stream = await api.createStream()
  const send = sender(stream, [])
  const meta = '{"index":{"_index":"logs-2026.11.21","_type":null,"pipeline":null},"attempts":0}'
  const headers = ['Content-Type: application/vnd.elasticsearch+x-ndjson; compatible-with=8']
  const body = `${meta}\n{"n":1}\n{"attempts":3,"create":{"_index":"x","_id":null}}\n{"n":2}\n`
  const answer = json(await send('PUT /_bulk?wait_for_active_shards=1', headers, body))
  assert.deepEqual([answer.errors, answer.items.length], [false, 2])
  assert.match(answer.items[1].create._id, /^\d+-\d+$/)
  assert.deepEqual(await stored(stream), [{ n: 1 }, { n: 2 }])
})

test('a bad action in the middle takes its document along and shifts no pair', async () => {
  const stream = await api.createStream()
  const send = sender(stream, ['Content-Type: application/x-ndjson'])
  const pair = (n: number) => `{"index":{"_id":"${n}"}}\n{"n":${n}}\n`
  for (const bad of [
    '{"index":{"_id":\n{"n":"x"}\n',
    '{"other":{}}\n{"n":"x"}\n',
    '\r\nzz\nzz\n',
  ]) {
    const answer = json(await send('POST /_bulk', [], `${pair(1)}${bad}${pair(2)}${pair(3)}`))
    const items = answer.items.map(({ index }: { index: { _id: string; status: number } }) => {
      return `${index._id} ${index.status}`
    })
    assert.deepEqual([items[0], items[2], items[3]], ['1 201', '2 201', '3 201'], bad)
    assert.match(items[1], / 400$/)
    assert.equal(items.length, 4)
  }
  const ns = (await stored(stream)).map((one) => (one as { n: number }).n)
  assert.deepEqual(ns, [1, 2, 3, 1, 2, 3, 1, 2, 3])
})

test('single-document writes are stored and answered as one item', async () => {
  const stream = await api.createStream()
  const send = sender(stream, ['Content-Type: application/json'])
  const made = await send('POST /logs/_doc', [], '{\n  "n": 1\n}\n')
  assert.equal(made.status, 201)
  assertProduct(made)
  const [event] = await api.events(stream.id)
  assert.deepEqual([json(made)._id, json(made)._index], [event?.id, 'logs'])
  for (const path of ['PUT /logs/_create/a%2Fb', 'POST /logs/_create/x', 'PUT /logs/_doc/y']) {
    const answer = await send(path, [], '{"n":2}')
    assert.deepEqual([answer.status, json(answer).result], [201, 'created'], path)
  }
  for (const body of ['', '{"n":', '[1]', '{"n":1}\n{"n":2}']) {
    const answer = await send('POST /logs/_doc', [], body)
    assert.deepEqual([answer.status, json(answer).status], [400, 400], body)
    assert.equal(typeof json(answer).error.reason, 'string')
    const type = body === '' ? 'illegal_argument_exception' : 'document_parsing_exception'
    assert.deepEqual([json(answer).error.type, json(answer).error.root_cause[0].type], [type, type])
  }
  const filtered = await send('POST /logs/_doc?filter_path=result,_shards.t*', [], '{"n":3}')
  assert.equal(filtered.text, '{"result":"created","_shards":{"total":1}}')
  assert.equal((await stored(stream)).length, 5)
})
