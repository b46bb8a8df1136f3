/**
 * Goal: who may ingest, and what an Idempotency-Key promises: the first answer again, nothing
 * stored again, and a key that is free after a failure. `lifecycle` and `crash/kill-service` ask
 * under a key again after a stop and after a kill.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { IDEMPOTENCY_ANSWER_BYTES_MAX } from '../../../src/limits.ts'
import { eventually } from '../../store/temporary.ts'
import { type Answer, Api, call, JSON_TYPE, NDJSON_TYPE, readProblem } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'
import { sendWire } from './wire-request.ts'

let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

const withKey = (key: string) => ({ 'content-type': NDJSON_TYPE, 'idempotency-key': key })

test('the same key answers as the first time and stores nothing again', async () => {
  const stream = await api.createStream()
  const body = '{"a":1}\nbad\n{"a":2}'
  const first = await api.ingest(stream.key, body, withKey('k1'))
  assert.equal(first.status, 200)
  const again = await api.ingest(stream.key, body, withKey('k1'))
  assert.deepEqual([again.status, again.text], [200, first.text])
  assert.equal(again.headers['content-type'], first.headers['content-type'])
  assert.equal((await api.events(stream.id)).length, 2)

  const text = await api.ingestText(stream.key, 'line', { 'idempotency-key': 'k2' })
  assert.equal(
    (await api.ingestText(stream.key, 'line', { 'idempotency-key': 'k2' })).text,
    text.text,
  )
  assert.equal((await api.events(stream.id)).length, 3)
})

const PATHS: Readonly<Record<string, readonly [path: string, type: string, body: string]>> = {
  native: ['/v1/ingest', JSON_TYPE, '{"a":1}'],
  text: ['/v1/ingest/text', 'text/plain', 'line'],
  bulk: ['/_bulk', NDJSON_TYPE, '{"index":{}}\n{"a":1}\n'],
  document: ['/i/_doc', JSON_TYPE, '{"a":1}'],
  'otlp json': ['/v1/logs', JSON_TYPE, '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}'],
  'otlp protobuf': ['/v1/logs', 'application/x-protobuf', '\n\x04\x12\x02\x12\x00'],
  loki: ['/loki/api/v1/push', JSON_TYPE, '{"streams":[{"values":[["1","a"]]}]}'],
}

/** What differs from the path's usual request. */
interface Changed {
  readonly path?: string
  readonly body?: string | Uint8Array
  readonly type?: string
  readonly encoding?: string
}

function send(name: string, apiKey: string, key: string, changed: Changed = {}): Promise<Answer> {
  const [path, type, own] = PATHS[name]!
  const credential: Readonly<Record<string, string>> = /^(bulk|document)$/.test(name)
    ? { authorization: `Basic ${Buffer.from(`u:${apiKey}`).toString('base64')}` }
    : { 'x-api-key': apiKey }
  return call(`${api.url}${changed.path ?? path}`, {
    method: 'POST',
    headers: {
      'content-type': changed.type ?? type,
      'content-encoding': changed.encoding ?? 'identity',
      'idempotency-key': key,
      ...credential,
    },
    body: changed.body ?? own,
    timeoutMs: 5_000,
  })
}

/** Told in the words of the path, and that another try would be the same again. */
function assertConflict(name: string, answer: Answer, text: RegExp): void {
  assert.equal(answer.status, 409, `${name}: ${answer.status} ${answer.text}`)
  assert.equal(answer.headers['retry-after'], undefined)
  assert.match(answer.text, text)
  if (/^(bulk|document)$/.test(name)) {
    assert.match(answer.text, /^\{"error":\{"root_cause":\[\{"type":"version_conflict_engine/)
  } else if (name.startsWith('otlp')) {
    assert.equal(answer.headers['content-type'], PATHS[name]![1])
    if (name === 'otlp json') assert.match(answer.text, /^\{"code":10,"message":/)
  } else if (name === 'loki') {
    assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8')
  } else {
    assert.equal(readProblem(answer).code, 'conflict')
  }
}

test('another request under a key is a conflict and not stored, on every path', async () => {
  const stream = await api.createStream()
  const others: Readonly<Record<string, readonly Changed[]>> = {
    native: [{ body: '{"a":2}' }, { body: '{"a":1}\n' }, { type: NDJSON_TYPE }],
    text: [{ body: 'another line' }, { body: gzipSync('other'), encoding: 'gzip' }],
    bulk: [{ body: '{"index":{}}\n{"a":2}\n' }, { path: '/other/_bulk' }],
    document: [{ body: '{"a":2}' }, { path: '/j/_doc' }, { path: '/i/_doc/7' }],
    'otlp json': [{ body: PATHS['otlp json']![2].replace('{}', '{},{}') }],
    'otlp protobuf': [{ body: '\n\x06\x12\x04\x12\x00\x12\x00' }],
    loki: [{ body: '{"streams":[{"values":[["2","a"]]}]}' }],
  }
  for (const [name, changes] of Object.entries(others)) {
    const first = await send(name, stream.key, `k-${name.replace(' ', '-')}`)
    assert.ok(first.status < 300, `${name}: ${first.status} ${first.text}`)
    for (const changed of changes) {
      const other = await send(name, stream.key, `k-${name.replace(' ', '-')}`, changed)
      assertConflict(name, other, /used with another request/)
    }
    const again = await send(name, stream.key, `k-${name.replace(' ', '-')}`)
    assert.deepEqual([again.status, again.text], [first.status, first.text])
  }
  assert.equal((await api.events(stream.id)).length, Object.keys(others).length)
})

test('a body that is compressed again is the same request', async () => {
  const stream = await api.createStream()
  const text = '{"a":1}\n'.repeat(1_000)
  const compressed = gzipSync(text)
  const later = Buffer.from(compressed)
  later.writeUInt32LE(1_700_000_000, 4) // The time in gzip's head (RFC 1952).
  const headers = { ...withKey('zipped'), 'content-encoding': 'gzip' }
  const first = await api.ingest(stream.key, compressed, headers)
  assert.equal(first.status, 200)
  for (const [body, more] of [
    [later, headers],
    [gzipSync(text, { level: 1 }), headers],
    [text, withKey('zipped')],
  ] as const) {
    const again = await api.ingest(stream.key, body, more)
    assert.deepEqual([again.status, again.text], [200, first.text])
  }
  assert.equal((await api.usage(stream.id)).events, 1_000)
})

test('keys that an engine takes for one lose no event that was acknowledged', async () => {
  const stream = await api.createStream()
  const head = ['POST /v1/ingest HTTP/1.1', 'Host: x', `X-API-Key: ${stream.key}`]
  const port = Number(new URL(api.url).port)
  let stored = 0
  for (const name of ['commande-é', 'commande-à', 'commande-', 'é', '', ' ', 'a\u00e9b', 'a b']) {
    const body = JSON.stringify({ name })
    const type = `Content-Type: ${JSON_TYPE}`
    const answer = await sendWire(port, [...head, type, `Idempotency-Key: ${name}`], body)
    assert.match(String(answer.status), /^(200|400|409)$/, `${name}: ${answer.text}`)
    if (answer.status === 200) stored++
    // Nothing is taken without the protection that was asked for.
    if (/^(é| |)$|^a/.test(name)) assert.equal(answer.status, 400, `'${name}': ${answer.text}`)
    if (answer.status === 400) assert.match(answer.text, /the Idempotency-Key (is empty|may hold)/)
    assert.equal((await api.events(stream.id)).length, stored, name)
  }
  assert.ok(stored >= 1)
  const twice = [...head, `Content-Type: ${JSON_TYPE}`, 'Idempotency-Key: a', 'Idempotency-Key: b']
  const answer = await sendWire(port, twice, '{}')
  assert.deepEqual([answer.status, /given twice/.test(answer.text)], [400, true], answer.text)
})

test('a bad key is reported in the form of its path', async () => {
  const stream = await api.createStream()
  for (const name of Object.keys(PATHS)) {
    const { status, text } = await send(name, stream.key, 'a b')
    assert.equal(status, 400, name)
    assert.match(text, /the Idempotency-Key may hold visible ASCII only/)
    if (/^(bulk|document)$/.test(name)) assert.match(text, /^\{"error":\{"root_cause":/)
    if (name === 'otlp json') assert.match(text, /^\{"code":3,"message":/)
  }
  assert.equal((await api.events(stream.id)).length, 0)
})

test('a key that was used on another path is a conflict, in the words of that path', async () => {
  const stream = await api.createStream()
  const family = (name: string) => name.split(' ')[0]
  for (const first of Object.keys(PATHS)) {
    const key = `from-${first.replace(' ', '-')}`
    const answer = await send(first, stream.key, key)
    assert.ok(answer.status < 300, `${first}: ${answer.status} ${answer.text}`)
    for (const other of Object.keys(PATHS)) {
      const again = await send(other, stream.key, key)
      if (first === other) {
        assert.deepEqual([again.status, again.text], [answer.status, answer.text])
      } else {
        const isFamily = family(first) === family(other)
        assertConflict(other, again, isFamily ? /another request/ : /used on another ingest path/)
      }
    }
  }
  const empty = await send('otlp protobuf', stream.key, 'from-native', { body: '' })
  assert.equal(empty.status, 409, 'an empty body, too')
  assert.equal((await api.events(stream.id)).length, 7, 'each was stored once')
})

test('an answer too large to keep is refused before anything is stored', async () => {
  const stream = await api.createStream()
  const id = 'i'.repeat(500)
  const body = `{"create":{"_id":"${id}"}}\n{}\n`.repeat(IDEMPOTENCY_ANSWER_BYTES_MAX / 500)
  const large = await send('bulk', stream.key, 'large', { body })
  assert.equal(large.status, 413, large.text)
  assert.match(large.text, /IDEMPOTENCY_ANSWER_BYTES_MAX.*filter_path/)
  assert.equal((await api.usage(stream.id)).events, 0)
  const path = '/_bulk?filter_path=errors'
  const deadline = performance.now() + 5_000 // Giving the key back is not waited for.
  let small = await send('bulk', stream.key, 'large', { body, path })
  while (small.status === 409 && performance.now() < deadline) {
    small = await send('bulk', stream.key, 'large', { body, path })
  }
  assert.deepEqual([small.status, small.text], [200, '{"errors":false}'])
})

test('a large body under a key is stored once', async () => {
  const stream = await api.createStream()
  const body = `${JSON.stringify({ filler: 'x'.repeat(1_000) })}\n`.repeat(4_000)
  const first = await api.ingest(stream.key, body, withKey('large'))
  assert.equal(first.text, '{"accepted":4000,"rejected":0,"errors":[]}')
  assert.equal((await api.ingest(stream.key, body, withKey('large'))).text, first.text)
  assert.equal((await api.usage(stream.id)).events, 4_000)
})

test('a key belongs to its stream', async () => {
  const [one, two] = [await api.createStream(), await api.createStream()]
  await api.ingest(one.key, '{"a":1}', withKey('shared'))
  await api.ingest(two.key, '{"a":1}\n{"a":2}', withKey('shared'))
  const second = await api.createKey(one.id)
  await api.ingest(second.key, '{"a":3}', withKey('shared'))
  assert.equal((await api.events(one.id)).length, 1, 'whichever API key of the stream is used')
  assert.equal((await api.events(two.id)).length, 2)
})

test('concurrent requests with one key: stored once, others get its answer or wait', async () => {
  const stream = await api.createStream()
  for (let round = 0; round < 5; round++) {
    const send = () => api.ingest(stream.key, `{"round":${round}}`, withKey(`c${round}`))
    const answers = await Promise.all(Array.from({ length: 10 }, send))
    for (const { status, text, headers } of answers) {
      if (status === 200) assert.equal(text, '{"accepted":1,"rejected":0,"errors":[]}')
      else assert.deepEqual([status, headers['retry-after']], [409, '1'], text)
    }
    assert.ok(answers.some(({ status }) => status === 200))
    assert.equal((await api.events(stream.id)).length, round + 1)
  }
})

test('after a failed request its key is free', async () => {
  const stream = await api.createStream()
  const failures: (() => Promise<Answer>)[] = [
    () => api.ingest(stream.key, '{"a":', withKey('f')),
    () => api.ingest(stream.key, '[{"a":1},]', { 'idempotency-key': 'f' }),
    () => api.ingest(stream.key, '{}', { ...withKey('f'), 'content-type': 'text/plain' }),
    () => api.ingest(stream.key, '{}', { ...withKey('f'), 'content-encoding': 'gzip' }),
    () => api.ingest(stream.key, ' '.repeat(10 * 1024 * 1024 + 1), withKey('f'), { chunked: true }),
  ]
  // Giving the key back is not waited for: a client in a hurry may hear 409 once.
  const untilFree = async (send: () => Promise<Answer>) => {
    const deadline = performance.now() + 5_000
    for (;;) {
      const { status } = await send()
      if (status !== 409 || performance.now() > deadline) return status
      await sleep(20)
    }
  }
  for (const fail of failures) assert.match(String(await untilFree(fail)), /^4(00|13|15)$/)
  const good = () => api.ingest(stream.key, '{"a":1}', withKey('f'))
  assert.equal(await untilFree(good), 200)
  assert.equal((await api.events(stream.id)).length, 1)
})

test('a key that is too long is malformed', async () => {
  const stream = await api.createStream()
  assert.equal((await api.ingest(stream.key, '{}', withKey('x'.repeat(255)))).status, 200)
  const answer = await api.ingest(stream.key, '{}', withKey('x'.repeat(256)))
  assert.deepEqual([answer.status, readProblem(answer).code], [400, 'malformed'])
})

test('a missing, malformed, unknown or revoked key: one and the same answer', async () => {
  const stream = await api.createStream()
  const revoked = await api.createKey(stream.id)
  await api.rest(`/v1/streams/${stream.id}/keys/${revoked.id}`, 'DELETE')
  const wrongSecret = `${stream.key.slice(0, -1)}${stream.key.endsWith('a') ? 'b' : 'a'}`
  const keys = ['', 'x', 'lax_', wrongSecret, `lax_aaaaaaaa_${'A'.repeat(40)}`, revoked.key]
  const answers = new Set<string>()
  const note = ({ status, text, headers }: Answer) => {
    const { 'www-authenticate': challenge, 'content-type': type } = headers
    answers.add([status, text, challenge, type].join(' '))
  }
  for (const key of keys) {
    for (const body of ['{"a":1}', '']) note(await api.ingest(key, body))
  }
  note(await call(`${api.url}/v1/ingest`, { method: 'POST', body: '{"a":1}' }))
  assert.equal(answers.size, 1, [...answers].join('\n'))
  assert.match([...answers][0] ?? '', /^401 \{.*"unauthenticated"\} Bearer .* application\/problem/)
  assert.equal((await api.events(stream.id)).length, 0)
})

test('a valid credential of another kind is 403', async () => {
  const answer = await api.ingest(api.token, '{"a":1}')
  assert.deepEqual([answer.status, readProblem(answer).code], [403, 'forbidden'])
  const stream = await api.createStream()
  const headers = { authorization: `Bearer ${stream.key}` }
  const read = await call(`${api.url}/v1/streams/${stream.id}/events`, { headers })
  assert.equal(read.status, 403)
})

test('a revoked key, and one of a deleted stream, is refused within a second', async () => {
  const stream = await api.createStream()
  const other = await api.createStream()
  for (const { key } of [stream, other]) assert.equal((await api.ingest(key, '{}')).status, 200)
  await api.rest(`/v1/streams/${stream.id}/keys/${stream.keyId}`, 'DELETE')
  await api.rest(`/v1/streams/${other.id}`, 'DELETE')
  const deadline = performance.now() + 1_000
  for (const { key } of [stream, other]) {
    while ((await api.ingest(key, '{}')).status !== 401) assert.ok(performance.now() < deadline)
  }
  // Its owner sees who still sends with it.
  await eventually('the refusal of the revoked key is told', async () => {
    const { refused } = JSON.parse(await api.rest(`/v1/streams/${stream.id}/refusals`))
    const [{ key, reason, cause }] = refused
    return key.id === stream.keyId && reason === 'unauthenticated' && cause === 'revoked_key'
  })
})
