/**
 * Goal: who may ingest, and what an Idempotency-Key promises: the first answer again, nothing
 * stored again, and a key that is free after a failure.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, Api, call, JSON_TYPE, NDJSON_TYPE, readProblem } from '../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'

const dataDir = makeDataDir()
let service: Service
let api: Api

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
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
  const other = await api.ingest(stream.key, '{"other":true}', withKey('k1'))
  assert.deepEqual([other.status, other.text], [200, first.text], 'the key decides, not the body')
  assert.equal((await api.events(stream.id)).length, 2)

  const text = await api.ingestText(stream.key, 'line', { 'idempotency-key': 'k2' })
  assert.equal(
    (await api.ingestText(stream.key, 'line', { 'idempotency-key': 'k2' })).text,
    text.text,
  )
  assert.equal((await api.events(stream.id)).length, 3)
})

test('a key that was used on another path is a conflict, in the words of that path', async () => {
  const basic = (key: string) => `Basic ${Buffer.from(`u:${key}`).toString('base64')}`
  const paths: Readonly<Record<string, readonly [string, string, string]>> = {
    native: ['/v1/ingest', JSON_TYPE, '{"a":1}'],
    text: ['/v1/ingest/text', 'text/plain', 'line'],
    bulk: ['/_bulk', NDJSON_TYPE, '{"index":{}}\n{"a":1}\n'],
    document: ['/i/_doc', JSON_TYPE, '{"a":1}'],
    'otlp json': ['/v1/logs', JSON_TYPE, '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}'],
    'otlp protobuf': ['/v1/logs', 'application/x-protobuf', '\n\x04\x12\x02\x12\x00'],
  }
  const stream = await api.createStream()
  const send = (name: string, idempotencyKey: string, body?: string) => {
    const [path, type, own] = paths[name]!
    const headers = {
      'content-type': type,
      'idempotency-key': idempotencyKey,
      ...(/^(bulk|document)$/.test(name)
        ? { authorization: basic(stream.key) }
        : { 'x-api-key': stream.key }),
    }
    return call(`${api.url}${path}`, {
      method: 'POST',
      headers,
      body: body ?? own,
      timeoutMs: 5_000,
    })
  }
  const family = (name: string) => name.split(' ')[0]
  for (const first of Object.keys(paths)) {
    const answer = await send(first, `from ${first}`)
    assert.ok(answer.status < 300, `${first}: ${answer.status} ${answer.text}`)
    for (const other of Object.keys(paths)) {
      const again = await send(other, `from ${first}`)
      const what = `${first}, then ${other}: ${again.status} ${again.text}`
      if (family(first) === family(other)) {
        assert.equal(again.status, answer.status, what)
        if (first === other) assert.equal(again.text, answer.text)
        continue
      }
      assert.equal(again.status, 409, what)
      assert.equal(again.headers['retry-after'], undefined, 'it would be the same again')
      assert.match(again.text, /used on another ingest path/)
      if (/^(bulk|document)$/.test(other)) {
        assert.match(again.text, /^\{"error":\{"root_cause":\[\{"type":"version_conflict_engine/)
      } else if (family(other) === 'otlp') {
        assert.equal(again.headers['content-type'], paths[other]?.[1])
      } else {
        assert.equal(readProblem(again).code, 'conflict')
      }
    }
  }
  assert.equal((await send('otlp protobuf', 'from native', '')).status, 409, 'an empty body, too')
  assert.equal((await api.events(stream.id)).length, 6, 'each was stored once')
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

test('concurrent requests with one key: stored once, others are told so or to wait', async () => {
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
})

test('keys and what they answer survive a stop and a kill', async () => {
  const stream = await api.createStream()
  const first = await api.ingest(stream.key, '{"a":1}\n{"b":', withKey('before'))
  for (const end of ['stop', 'kill'] as const) {
    await service[end]()
    service = await Service.start({ dataDir })
    api.url = service.url
    const again = await api.ingest(stream.key, '{"a":1}\n{"b":', withKey('before'))
    assert.deepEqual([again.status, again.text], [200, first.text])
  }
  assert.equal((await api.events(stream.id)).length, 1)
})
