/**
 * Goal: what sends to Splunk's HTTP Event Collector sends here: the answers are Splunk's by status,
 * text and code, a request is stored as a whole or not at all, and success means stored.
 * Method: literal requests to a running service; events are read back.
 */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { BODY_BYTES_MAX, DEPTH_MAX, HEC_METADATA_BYTES_MAX } from '../../../src/limits.ts'
import { eventually } from '../../store/temporary.ts'
import { type Answer, Api, type Call, call, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

/** Splunk's own library for JavaScript, which has no types. */
interface SplunkLogger {
  error: (error: unknown) => void
  send(context: object): void
  flush(done: (error: unknown, response: unknown, body: unknown) => void): void
}
const { Logger } = createRequire(import.meta.url)('splunk-logging') as {
  readonly Logger: new (config: object) => SplunkLogger
}

const SUCCESS = '{"text":"Success","code":0}'
let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

type Headers = NonNullable<Call['headers']>

function post(
  path: string,
  body: Call['body'],
  key: string | Stream,
  headers: Headers = {},
): Promise<Answer> {
  const authorization = `Splunk ${typeof key === 'string' ? key : key.key}`
  const method = 'POST'
  return call(`${api.url}/services/collector${path}`, {
    method,
    headers: { authorization, ...headers },
    body,
  })
}

async function payloads(stream: Stream) {
  return (await api.events(stream.id)).map(({ payload }) => payload).reverse()
}

test('envelopes are stored from every path, whatever the type of the body', async () => {
  const stream = await api.createStream()
  const one = '{"time":1433188255.123456789,"host":"h","event":{"a":1},"fields":{"x":"y"}}'
  for (const path of ['', '/', '/event', '/event/1.0', '/event/1.0/']) {
    const answer = await post(path, one, stream)
    assert.deepEqual([answer.status, answer.text], [200, SUCCESS], path)
    assert.equal(answer.headers['content-type'], 'application/json')
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  assert.equal((await post('', `${one}${one}`, stream, form)).text, SUCCESS)
  const gzip = { 'content-encoding': 'gzip' }
  assert.equal((await post('', gzipSync(`[${one},\n${one}]`), stream, gzip)).text, SUCCESS)
  const events = await api.events(stream.id)
  assert.equal(events.length, 9)
  for (const { payload, event_time, event_time_source } of events) {
    assert.deepEqual(payload, { a: 1, host: 'h', x: 'y' })
    assert.equal(event_time, '2015-06-01T19:50:55.123456789Z')
    assert.equal(event_time_source, 'otlp')
  }
})

test('a string is a message; one that is a JSON object is extracted', async () => {
  const stream = await api.createStream()
  const inner = JSON.stringify({ level: 'error', n: 1 })
  const body = `{"event":"plain"}${JSON.stringify({ event: inner })}`
  assert.equal((await post('', body, stream)).text, SUCCESS)
  const raw = `first\r\n\n${inner}\nlast`
  const answer = await post('/raw?host=h&source=a%20b&time=1.5', raw, stream)
  assert.equal(answer.text, SUCCESS)
  const extracted = { log: { level: 'error', n: 1, _raw: inner } }
  const url = { host: 'h', source: 'a b' }
  assert.deepEqual(await payloads(stream), [
    { message: 'plain' },
    extracted,
    { message: 'first', ...url },
    { ...extracted, ...url },
    { message: 'last', ...url },
  ])
  const times = (await api.events(stream.id)).map(({ event_time }) => Date.parse(event_time))
  assert.deepEqual(times.slice(0, 3), [1_500, 1_500, 1_500])
})

test('a large body is cut, and stored as a whole', async () => {
  const stream = await api.createStream()
  const envelope = (n: number) =>
    JSON.stringify({ event: { n, pad: '}{"'.repeat(1_500) }, host: 'h' })
  const all = Array.from({ length: 300 }, (_, n) => envelope(n))
  for (const body of [all.join(''), `[${all.join(',')}]`, all.join('\n')]) {
    assert.equal((await post('', body, stream)).text, SUCCESS)
  }
  const events = await payloads(stream)
  assert.deepEqual(
    events.map(({ n }) => n),
    [0, 1, 2].flatMap(() => all.map((_, n) => n)),
  )
  const lines = await api.createStream()
  assert.equal((await post('/raw?source=s', all.join('\n'), lines)).text, SUCCESS)
  assert.equal((await api.usage(lines.id)).events, all.length)
  const { events: newest } = await api.page(lines.id, '?limit=1')
  assert.equal(newest[0]?.payload.source, 's')
  const broken = await post('', `${all.join('')}{"host":"h"}`, stream)
  assert.deepEqual(
    [broken.status, JSON.parse(broken.text)],
    [400, { text: 'Event field is required', code: 12, 'invalid-event-number': 300 }],
  )
  assert.equal((await api.events(stream.id)).length, events.length)
})

test('with a channel every success has an id that is acknowledged at once', async () => {
  const stream = await api.createStream()
  const channel = { 'x-splunk-request-channel': 'FE0ECFAD-13D5-401B-847D-77833BD77131' }
  const ids: number[] = []
  for (const [path, headers] of [
    ['', channel],
    ['/raw', channel],
    ['/event?channel=c', {}],
  ] as const) {
    const answer = await post(path, '{"event":"x"}', stream, headers)
    const { text, code, ackId } = JSON.parse(answer.text)
    assert.deepEqual([text, code], ['Success', 0])
    ids.push(ackId)
  }
  assert.equal(new Set(ids).size, 3)
  const future = Number.MAX_SAFE_INTEGER
  const asked = JSON.stringify({ acks: [...ids, future, 'x'] })
  const acks = await post('/ack?channel=c', asked, stream)
  const known = Object.fromEntries(ids.map((id) => [id, true]))
  assert.deepEqual(JSON.parse(acks.text), { acks: { ...known, [future]: false, x: false } })
  const code = async (answer: Promise<Answer>) => {
    const { status, text } = await answer
    return [status, JSON.parse(text).code]
  }
  assert.deepEqual(await code(post('/ack', asked, stream)), [400, 10])
  assert.deepEqual(await code(post('/ack?channel=c', '{"acks":1}', stream)), [400, 6])
  assert.deepEqual(await code(post('/ack?channel=c', '', stream)), [400, 6])
  assert.deepEqual(await code(post('/ack?channel=c', asked, 'no')), [403, 4])
})

test('refusals have the codes of Splunk, and store nothing', async () => {
  const stream = await api.createStream()
  const refusals: readonly (readonly [path: string, body: string, status: number, code: number])[] =
    [
      ['', '', 400, 5],
      ['', ' \n', 400, 5],
      ['', '[]', 400, 5],
      ['/raw', '\n\r\n', 400, 5],
      ['', 'no JSON', 400, 6],
      ['', '[{"event":1}', 400, 6],
      ['', '{"event":"x","time":"soon"}', 400, 6],
      ['/raw?time=soon', 'x', 400, 6],
      ['', '{"event":"x"}{"event":""}', 400, 13],
      ['', '{"event":"x","fields":{"a":{}}}', 400, 15],
      ['', `{"event":{"a":${'['.repeat(DEPTH_MAX)}${']'.repeat(DEPTH_MAX)}}}`, 400, 6],
      ['', `{"event":"${'x'.repeat(BODY_BYTES_MAX / 2)}"}`, 413, 6],
      ['', 'x'.repeat(BODY_BYTES_MAX + 1), 413, 6],
      [`/raw?host=${'h'.repeat(HEC_METADATA_BYTES_MAX)}`, 'x', 413, 6],
    ]
  for (const [path, body, status, code] of refusals) {
    const answer = await post(path, body, stream)
    const shown = `${path} ${body.slice(0, 40)}: ${answer.text}`
    assert.deepEqual([answer.status, JSON.parse(answer.text).code], [status, code], shown)
  }
  const { text } = await post('', '{"event":"x"}\n{"event":"x"}\n{"event":x}', stream)
  assert.deepEqual(JSON.parse(text), {
    text: 'Invalid data format',
    code: 6,
    'invalid-event-number': 2,
    detail: 'invalid JSON: expected a value',
  })
  assert.deepEqual(await payloads(stream), [])
  const encoded = await post('', 'x', stream, { 'content-encoding': 'lzma' })
  assert.equal(encoded.status, 415)
})

test('an event over a limit is rejected alone', async () => {
  const stream = await api.createStream()
  const deep = `{"event":{"a":${'['.repeat(DEPTH_MAX)}${']'.repeat(DEPTH_MAX)}}}`
  assert.equal((await post('', `{"event":"a"}${deep}{"event":"b"}`, stream)).text, SUCCESS)
  assert.deepEqual(await payloads(stream), [{ message: 'a' }, { message: 'b' }])
  await eventually('the reject is counted', async () => {
    return /too_deep/.test(await api.rest(`/v1/streams/${stream.id}/usage`))
  })
})

test('the key comes in every form that Splunk takes', async () => {
  const stream = await api.createStream()
  const url = `${api.url}/services/collector`
  const basic = Buffer.from(`x:${stream.key}`).toString('base64')
  const send = (headers: Headers, query = '') => {
    return call(`${url}${query}`, { method: 'POST', headers, body: '{"event":"x"}' })
  }
  const forms: readonly Headers[] = [
    { authorization: `Splunk ${stream.key}` },
    { authorization: `splunk  ${stream.key} ` },
    { authorization: `Bearer ${stream.key}` },
    { authorization: `Basic ${basic}` },
    { 'x-api-key': stream.key },
  ]
  for (const headers of forms) {
    assert.equal((await send(headers)).status, 200, JSON.stringify(headers))
  }
  const refused = async (headers: Headers, query?: string) => {
    const { status, text } = await send(headers, query)
    return [status, JSON.parse(text).code, JSON.parse(text).text]
  }
  assert.deepEqual(await refused({}), [401, 2, 'Token is required'])
  assert.deepEqual(await refused({ authorization: stream.key }), [401, 3, 'Invalid authorization'])
  const invalid = { authorization: `Splunk ${stream.key.slice(0, -1)}_` }
  assert.deepEqual(await refused(invalid), [403, 4, 'Invalid token'])
  assert.deepEqual(await refused({ authorization: `Splunk ${api.token}` }), [
    403,
    4,
    'Invalid token',
  ])
  const inQuery = `?token=${stream.key}`
  const off = 'Query string authorization is not enabled'
  assert.deepEqual(await refused({}, inQuery), [400, 16, off])
  assert.equal((await api.events(stream.id)).length, 5)
})

test('it says that it is there', async () => {
  const stream = await api.createStream()
  const url = `${api.url}/services/collector`
  for (const path of ['/health', '/health/1.0', '//health/']) {
    const { status, text } = await call(`${url}${path}`)
    assert.deepEqual([status, JSON.parse(text)], [200, { text: 'HEC is healthy', code: 17 }])
  }
  const asked = (key: string) => {
    return call(`${url}/health`, { headers: { authorization: `Splunk ${key}` } })
  }
  assert.equal((await asked(stream.key)).status, 200)
  assert.equal((await asked('no')).status, 400)
  // The Docker driver asks so before a container starts.
  assert.equal((await call(`${url}/event/1.0`, { method: 'OPTIONS' })).status, 200)
  assert.equal((await call(`${url}/event`)).status, 405)
  assert.equal((await post('/nowhere', '{}', stream)).status, 404)
})

test('an Idempotency-Key stores once and answers the same', async () => {
  const stream = await api.createStream()
  const headers = { 'idempotency-key': 'k', 'x-splunk-request-channel': 'c' }
  const first = await post('?host=a', '{"event":"x"}', stream, headers)
  const again = await post('?host=a', '{"event":"x"}', stream, headers)
  assert.deepEqual([again.status, again.text], [200, first.text])
  assert.notEqual((await post('?host=b', '{"event":"x"}', stream, headers)).status, 200)
  assert.equal((await api.events(stream.id)).length, 1)
})

test('a stream redacts what HEC sends, and metrics count it', async () => {
  const stream = await api.createStream({ redact_sensitive: true })
  const body = '{"event":{"password":"hunter2"},"fields":{"api_key":"s3cr3t-value"},"host":"h"}'
  assert.equal((await post('', body, stream)).text, SUCCESS)
  const text = JSON.stringify(await payloads(stream))
  assert.doesNotMatch(text, /hunter2|s3cr3t/)
  assert.match(text, /"host":"h"/)
  const metrics = await call(`${api.url}/metrics`)
  assert.match(metrics.text, /ingest_requests_total\{[^}]*surface="hec"[^}]*\} [1-9]/)
})

test("Splunk's library for JavaScript sends batches, and hears of what is wrong", async () => {
  const stream = await api.createStream()
  const { hostname: host, port } = new URL(api.url)
  const config = { host, port, protocol: 'http', path: '/services/collector/event/1.0' }
  const loggerOf = (token: string) => new Logger({ ...config, token, maxBatchCount: 0 })
  const flush = (logger: SplunkLogger) => {
    return new Promise((resolve) => logger.flush((_error, _response, body) => resolve(body)))
  }
  const logger = loggerOf(stream.key)
  for (let n = 0; n < 3; n++) {
    const metadata = { source: 'coop', host: 'farm', time: 1_700_000_000_000 + n }
    logger.send({ message: { n }, severity: 'warn', metadata })
  }
  assert.deepEqual(await flush(logger), { text: 'Success', code: 0 })
  const events = (await api.events(stream.id)).reverse()
  assert.deepEqual(
    events.map(({ payload }) => payload),
    [0, 1, 2].map((n) => ({ message: { n }, severity: 'warn', source: 'coop', host: 'farm' })),
  )
  assert.deepEqual(
    events.map(({ event_time }) => Date.parse(event_time)),
    [0, 1, 2].map((n) => 1_700_000_000_000 + n),
  )
  const stranger = loggerOf('no-key-of-ours')
  let told: unknown
  stranger.error = (error) => {
    told = error
  }
  stranger.send({ message: 'x' })
  assert.deepEqual(await flush(stranger), {
    text: 'Invalid token',
    code: 4,
    detail: (JSON.parse((await post('', 'x', 'no-key-of-ours')).text) as { detail: string }).detail,
  })
  assert.match(String(told), /Invalid token/)
})
