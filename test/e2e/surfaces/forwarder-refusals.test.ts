/**
 * Goal: whole bulk requests are refused in terms that each forwarder understands, nothing of them
 * is stored, and the stream's owner can see it. What was answered under an Idempotency-Key is
 * answered again. With their options, pages of other origins may send, and keys be in URLs.
 * Method: literal requests against one service with the least bound of bytes in flight.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { deflateSync, gzipSync } from 'node:zlib'
import { RawClient } from '../../http/raw-client.ts'
import { type Answer, Api, call, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const MIB = 1024 * 1024
const BOUND = 20 * MIB
const PAGE = 'https://app.example'
const PAIR = '{"index":{}}\n{"n":1}\n'
const dataDir = makeDataDir()
let service: Service
let api: Api

before(async () => {
  const args = ['--in-flight-bytes-max', String(BOUND), '--cors-origin', `${PAGE},http://b:1`]
  service = await Service.start({ dataDir, args: [...args, '--hec-query-token', 'true'] })
  api = new Api(service)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

function bulk(
  stream: Stream,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
  path = '/_bulk',
): Promise<Answer> {
  const authorization = `Basic ${Buffer.from(`x:${stream.key}`).toString('base64')}`
  const all = { authorization, 'content-type': 'application/x-ndjson', ...headers }
  return call(`${service.url}${path}`, { method: 'POST', headers: all, body })
}

interface ElasticError {
  readonly error: {
    readonly root_cause: readonly { readonly type: string; readonly reason: string }[]
    readonly type: string
    readonly reason: string
  }
  readonly status: number
}

/** The shape that all clients read, and what it says. */
function assertRefused(answer: Answer, status: number, type: string): void {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.headers['x-elastic-product'], 'Elasticsearch')
  assert.equal(answer.headers['content-type'], 'application/json')
  const { error, status: told } = JSON.parse(answer.text) as ElasticError
  assert.deepEqual([told, error.type], [status, type])
  assert.deepEqual(error.root_cause, [{ type, reason: error.reason }])
}

/** How often each reason was counted on the stream, once they are `count` in all. */
async function refusals(stream: Stream, count: number): Promise<Record<string, number>> {
  const deadline = performance.now() + 10_000
  for (;;) {
    const { refusals: all } = await api.usage(stream.id)
    const sum = all.reduce((total, one) => total + one.count, 0)
    if (sum >= count || performance.now() > deadline) {
      return Object.fromEntries(all.map((one) => [one.reason, one.count]))
    }
    await sleep(50)
  }
}

test('no credential or a wrong one: 401, the same words; an access token: 403', async () => {
  const stream = await api.createStream()
  const texts = new Set<string>()
  const encode = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  for (const authorization of [
    '',
    encode('x:lax_aaaaaaaa_wrong'),
    encode(`:${stream.key}`),
    encode(stream.key),
    `Bearer ${stream.key}`,
    'ApiKey !!!',
  ]) {
    const answer = await bulk(stream, PAIR, { authorization })
    assertRefused(answer, 401, 'security_exception')
    assert.match(String(answer.headers['www-authenticate']), /^Basic realm="/)
    assert.equal(answer.headers['retry-after'], undefined)
    texts.add(answer.text)
  }
  assert.equal(texts.size, 1, [...texts].join('\n'))
  const token = await bulk(stream, PAIR, { authorization: encode(`x:${api.token}`) })
  assertRefused(token, 403, 'security_exception')
  assert.equal((await api.usage(stream.id)).events, 0)
})

test('413: over 10 MiB as sent, in chunks, and decompressed', async () => {
  const stream = await api.createStream()
  const event = `{"index":{}}\n{"m":"${'x'.repeat(1_000)}"}\n`
  const large = event.repeat(Math.ceil((10 * MIB + 1) / event.length))
  const gzip = { 'content-encoding': 'gzip' }
  assertRefused(await bulk(stream, large), 413, 'content_too_long_exception')
  const authorization = `Basic ${Buffer.from(`x:${stream.key}`).toString('base64')}`
  const chunked = await call(`${service.url}/_bulk`, {
    method: 'POST',
    headers: { authorization },
    body: large,
    chunked: true,
  })
  assertRefused(chunked, 413, 'content_too_long_exception')
  assertRefused(await bulk(stream, gzipSync(large), gzip), 413, 'content_too_long_exception')
  assertRefused(
    await bulk(stream, deflateSync(Buffer.alloc(200 * MIB, '\n')), {
      'content-encoding': 'deflate',
    }),
    413,
    'content_too_long_exception',
  )
  assert.deepEqual(await refusals(stream, 4), { too_large: 4 })
  assert.equal((await api.usage(stream.id)).events, 0)
})

test('413: a request whose reply would be over BULK_REPLY_BYTES_MAX', async () => {
  const stream = await api.createStream()
  const body = '[\n[\n'.repeat(2 * MIB)
  assertRefused(await bulk(stream, body), 413, 'content_too_long_exception')
  assert.equal((await bulk(stream, body, {}, '/_bulk?filter_path=errors')).status, 200)
})

test('415, and 400 for nothing and for a body that is not gzip', async () => {
  const stream = await api.createStream()
  const unsupported = 'media_type_header_exception'
  const illegal = 'illegal_argument_exception'
  assertRefused(await bulk(stream, PAIR, { 'content-type': 'text/plain' }), 415, unsupported)
  assertRefused(await bulk(stream, PAIR, { 'content-type': 'text/html' }), 415, unsupported)
  assertRefused(await bulk(stream, PAIR, { 'content-encoding': 'snappy' }), 415, unsupported)
  assertRefused(await bulk(stream, ''), 400, illegal)
  assertRefused(await bulk(stream, '\n\r\n \n'), 400, illegal)
  const gzip = { 'content-encoding': 'gzip' }
  assertRefused(await bulk(stream, PAIR, gzip), 400, illegal)
  assertRefused(await bulk(stream, gzipSync(PAIR).subarray(0, 20), gzip), 400, illegal)
  assert.deepEqual(await refusals(stream, 7), {
    plain_text_not_accepted: 1,
    unsupported_media_type: 2,
    malformed: 4,
  })
  assert.equal((await api.usage(stream.id)).events, 0)
})

test('overload: 429 with Retry-After, 503 for the JavaScript bulk helper', async () => {
  const slow = await api.createStream()
  const stream = await api.createStream()
  const holders: RawClient[] = []
  for (let i = 0; i < 2; i++) {
    const client = await RawClient.connect(service.port)
    client.write(
      `POST /v1/ingest HTTP/1.1\r\nHost: x\r\nX-API-Key: ${slow.key}\r\n` +
        `Content-Type: application/x-ndjson\r\nContent-Length: ${10 * MIB}\r\n\r\n{"a":1}\n`,
    )
    client.write('\n'.repeat(5 * MIB)) // Of half a body as much again is held.
    holders.push(client)
  }
  await untilInFlight(BOUND)
  const helper = 'es=8.19.2,js=20.20.0,t=8.10.0,hc=20.20.0,h=bp'
  const client = 'es=8.19.2,js=20.20.0,t=8.10.0,hc=20.20.0'
  for (const [meta, status] of [
    ['', 429],
    [client, 429],
    [helper, 503],
    ['h=bp,es=8.19.2', 503],
    ['es=8.19.2,xh=bp', 429],
  ] as const) {
    const answer = await bulk(stream, PAIR, { 'x-elastic-client-meta': meta })
    assertRefused(answer, status, 'circuit_breaking_exception')
    assert.equal(answer.headers['retry-after'], '1')
  }
  const other = await api.createStream()
  const hec = await call(`${service.url}/services/collector`, {
    method: 'POST',
    headers: { authorization: `Splunk ${other.key}` },
    body: '{"event":"x"}',
  })
  assert.deepEqual([hec.status, JSON.parse(hec.text).code], [503, 9])
  assert.equal(hec.headers['retry-after'], '1')
  const loki = await call(`${service.url}/loki/api/v1/push`, {
    method: 'POST',
    headers: { 'x-api-key': other.key, 'content-type': 'application/json' },
    body: '{"streams":[]}',
  })
  assert.deepEqual([loki.status, loki.headers['retry-after']], [429, '1'])
  assert.match(loki.text, /^[^{]+\n$/, 'a line of text')
  for (const holder of holders) holder.destroy()
  await untilInFlight(0)
  assert.equal((await bulk(stream, PAIR, { 'x-elastic-client-meta': helper })).status, 200)
  assert.deepEqual(await refusals(stream, 5), { overloaded: 5 })
  assert.equal((await api.usage(stream.id)).events, 1)
})

async function untilInFlight(bytes: number): Promise<void> {
  const deadline = performance.now() + 10_000
  while ((await api.metric('ingest_in_flight_bytes')) !== bytes) {
    assert.ok(performance.now() < deadline, `never ${bytes} bytes in flight`)
    await sleep(20)
  }
}

test('an Idempotency-Key answers as the first time, byte for byte', async () => {
  const stream = await api.createStream()
  const large = `{"index":{"_index":"a"}}\n{"filler":"${'x'.repeat(500)}"}\n`.repeat(4_000)
  const bodies = [PAIR, `${PAIR}{"index":{}}\nbad\n`, large]
  let events = 0
  for (const [i, body] of bodies.entries()) {
    const key = { 'idempotency-key': `bulk-${i}` }
    const first = await bulk(stream, body, key)
    assert.equal(first.status, 200)
    events = (await api.usage(stream.id)).events
    for (const again of [body, gzipSync(body)]) {
      const encoding = typeof again === 'string' ? 'identity' : 'gzip'
      const answer = await bulk(stream, again, { ...key, 'content-encoding': encoding })
      assert.deepEqual([answer.status, answer.text], [200, first.text])
      assert.equal(answer.headers['content-type'], first.headers['content-type'])
    }
    assert.equal((await api.usage(stream.id)).events, events)
  }
  assert.equal(events, 1 + 1 + 4_000)
  const single = { 'idempotency-key': 'single' }
  const first = await bulk(stream, '{"n":1}', single, '/logs/_doc')
  const again = await bulk(stream, '{"n":1}', single, '/logs/_doc')
  assert.deepEqual([again.status, again.text], [201, first.text])
  assert.equal((await api.usage(stream.id)).events, events + 1)
})

test('under one Idempotency-Key at a time: 409 while the first is under way', async () => {
  const stream = await api.createStream()
  const key = { 'idempotency-key': 'same' }
  const answers = await Promise.all(Array.from({ length: 8 }, () => bulk(stream, PAIR, key)))
  const stored = answers.filter(({ status }) => status === 200)
  assert.ok(stored.length >= 1)
  assert.equal(new Set(stored.map(({ text }) => text)).size, 1)
  for (const answer of answers) {
    if (answer.status !== 200) assertRefused(answer, 409, 'version_conflict_engine_exception')
  }
  assert.equal((await api.usage(stream.id)).events, 1)
})

const CORS_PATHS = ['/v1/ingest', '/v1/ingest/text', '/_bulk', '/i/_doc', '/v1/logs'] as const

test('pages of the origins that are named may send, on the ingest paths only', async () => {
  const stream = await api.createStream()
  const preflight = async (path: string, origin: string) => {
    const headers = { origin, 'access-control-request-method': 'POST' }
    return await call(`${service.url}${path}`, { method: 'OPTIONS', headers })
  }
  for (const path of [
    ...CORS_PATHS,
    '/services/collector',
    '/services/collector/raw',
    '//_bulk/',
  ]) {
    const { status, headers } = await preflight(path, PAGE)
    assert.equal(status, 200, path)
    assert.equal(headers['access-control-allow-origin'], PAGE, path)
    assert.match(String(headers['access-control-allow-headers']), /X-API-Key, Authorization, /)
    assert.equal(headers['access-control-allow-credentials'], undefined)
    assert.deepEqual([headers.vary, headers['access-control-max-age']], ['Origin', '7200'])
    const stranger = await preflight(path, 'https://evil.example')
    assert.equal(stranger.headers['access-control-allow-origin'], undefined)
    assert.equal(stranger.headers['access-control-allow-headers'], undefined)
    assert.equal(stranger.headers.vary, 'Origin')
  }
  for (const path of ['/v1/streams', '/v1/query', '/healthz', '/_license']) {
    const { headers } = await preflight(path, PAGE)
    assert.equal(headers['access-control-allow-origin'], undefined, path)
  }
  for (const [key, status] of [
    [stream.key, 200],
    ['no', 401],
  ] as const) {
    const sent = { origin: PAGE, 'x-api-key': key, 'content-type': 'application/json' }
    const answer = await call(`${service.url}/v1/ingest`, {
      method: 'POST',
      headers: sent,
      body: '{"n":1}',
    })
    assert.equal(answer.status, status)
    assert.equal(answer.headers['access-control-allow-origin'], PAGE)
    assert.equal(answer.headers['access-control-expose-headers'], 'Retry-After')
  }
})

test('with its option the key of Splunk HEC may be in the URL', async () => {
  const stream = await api.createStream()
  const send = (query: string) => {
    const url = `${service.url}/services/collector/raw?host=h&${query}`
    return call(url, { method: 'POST', body: 'line' })
  }
  assert.equal((await send(`token=${stream.key}`)).status, 200)
  assert.equal((await send('token=no')).status, 403)
  const [event] = await api.events(stream.id)
  assert.deepEqual(event?.payload, { message: 'line', host: 'h' })
})
