/**
 * Goal: in a crowd of streams, where small batches share rows and a table, every surface does what
 * it does alone: answers name events that are there, transforms and retries work, both stores have
 * each stream's events and nobody else's.
 * Method: so many streams send that few can have tables of their own; then one stream of each kind
 * is looked at through both stores.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { PROMOTED_STREAMS_MAX, SEGMENT_EVENTS_MAX } from '../../../src/limits.ts'
import { Api, call, type EventRecord, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

const CROWD = PROMOTED_STREAMS_MAX * 3
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0'

let service: SharedService
let api: Api
let crowd: Stream[]

before(async () => {
  service = await shareService()
  api = new Api(service)
  crowd = await Promise.all(Array.from({ length: CROWD }, () => api.createStream()))
})

after(async () => {
  await service?.close()
})

/** Sends something to every stream of the crowd, and by `send` at the same time. */
async function inCrowd<T>(send: () => Promise<T>): Promise<T> {
  const noise = () => crowd.map(({ key }) => api.ingest(key, '{"noise":true}'))
  await Promise.all(noise())
  const [sent] = await Promise.all([send(), ...noise()])
  return sent
}

/** The stream's events, oldest first, after both stores have so many. */
async function stored(stream: Stream, count: number): Promise<EventRecord[]> {
  const events = await api.events(stream.id)
  assert.equal(events.length, count)
  await api.untilCounted(stream.id, count)
  assert.equal((await api.count(stream.id)).total, count)
  return events.reverse()
}

const payloads = (events: readonly EventRecord[]) => events.map(({ payload }) => payload)

// At once, as each waits for the projection most of the time.
describe('each surface', { concurrency: true }, () => {
  test('bulk: the ids of the reply are those of the events', async () => {
    const stream = await api.createStream()
    const lines = [1, 2, 3].map((n) => `{"create":{"_index":"logs"}}\n{"n":${n}}\n`)
    const authorization = `ApiKey ${Buffer.from(`x:${stream.key}`).toString('base64')}`
    const headers = { authorization, 'content-type': NDJSON_TYPE }
    const bulk = () => call(`${api.url}/_bulk`, { method: 'POST', headers, body: lines.join('') })
    const { status, text } = await inCrowd(bulk)
    assert.equal(status, 200, text)
    const { items } = JSON.parse(text) as { items: { create: { _id: string; status: number } }[] }
    const ids = items.map(({ create }) => create._id)
    const events = await stored(stream, 3)
    assert.deepEqual(
      events.map(({ id }) => id),
      ids,
    )
    for (const [index, id] of ids.entries()) {
      const event = JSON.parse(await api.rest(`/v1/streams/${stream.id}/events/${id}`))
      assert.deepEqual(event.payload, { n: index + 1 })
      const other = await api.tryRest(`/v1/streams/${crowd[0]!.id}/events/${id}`)
      assert.equal(other.status, 404, 'not of another stream')
    }
    const counted = await api.count(stream.id, { group_by: 'n' })
    assert.deepEqual(counted.rows.map(({ n }) => n).sort(), [1, 2, 3])
  })

  test('OTLP: attributes, and the time that is not in the event', async () => {
    const stream = await api.createStream()
    const record = {
      timeUnixNano: '1767323045678901234',
      body: { stringValue: 'hello' },
      attributes: [{ key: 'n', value: { intValue: '7' } }],
    }
    const body = JSON.stringify({
      resourceLogs: [{ scopeLogs: [{ logRecords: [record, record] }] }],
    })
    const headers = { 'x-api-key': stream.key, 'content-type': 'application/json' }
    const send = () => call(`${api.url}/v1/otlp/v1/logs`, { method: 'POST', headers, body })
    assert.equal((await inCrowd(send)).status, 200)
    const events = await stored(stream, 2)
    for (const { event_time, event_time_source } of events) {
      assert.deepEqual([event_time, event_time_source], ['2026-01-02T03:04:05.678901234Z', 'otlp'])
    }
    const range = { from: '2026-01-02T03:04:05Z', to: '2026-01-02T03:04:06Z' }
    assert.equal((await api.count(stream.id, { ...range, time_basis: 'event_time' })).total, 2)
  })

  test('text, and gzip', async () => {
    const [text, zipped] = [await api.createStream(), await api.createStream()]
    await inCrowd(() => api.ingestText(text.key, 'one\ntwo\n'))
    const headers = { 'content-type': NDJSON_TYPE, 'content-encoding': 'gzip' }
    await inCrowd(() => api.ingest(zipped.key, gzipSync('{"a":1}\n{"a":2}'), headers))
    assert.deepEqual(payloads(await stored(text, 2)), [{ message: 'one' }, { message: 'two' }])
    assert.deepEqual(payloads(await stored(zipped, 2)), [{ a: 1 }, { a: 2 }])
  })

  test('redaction and user agents, each by the settings of its stream', async () => {
    const [plain, redacting, parsing] = [
      await api.createStream(),
      await api.createStream({ redact_sensitive: true }),
      await api.createStream({ parse_user_agents: true }),
    ]
    const body = JSON.stringify({ password: 'hunter2!', user_agent: FIREFOX })
    const send = () => {
      return Promise.all([plain, redacting, parsing].map(({ key }) => api.ingest(key, body)))
    }
    const answers = await inCrowd(send)
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    )
    const [first] = payloads(await stored(plain, 1))
    assert.deepEqual(first, { password: 'hunter2!', user_agent: FIREFOX })
    const [redacted] = payloads(await stored(redacting, 1))
    assert.deepEqual(redacted, { password: '[REDACTED]', user_agent: FIREFOX })
    const groups = async (stream: Stream, field: string) => {
      return (await api.count(stream.id, { group_by: field })).rows.map((row) => row[field])
    }
    assert.deepEqual(await groups(redacting, 'password'), ['[REDACTED]'])
    assert.deepEqual(await groups(plain, 'password'), ['hunter2!'])
    const [parsed] = payloads(await stored(parsing, 1))
    assert.match(JSON.stringify(parsed), /Firefox/)
    assert.ok(Object.keys(parsed ?? {}).length > 2, 'fields of the user agent beside it')
  })

  test('an Idempotency-Key: once, however often it is sent', async () => {
    const stream = await api.createStream()
    const headers = { 'idempotency-key': 'mixed-1' }
    const send = () => api.ingest(stream.key, '[{"a":1},{"a":2}]', headers)
    const first = await inCrowd(send)
    const again = await inCrowd(send)
    assert.deepEqual([first.status, again.status], [200, 200])
    assert.equal(again.text, first.text)
    assert.deepEqual(payloads(await stored(stream, 2)), [{ a: 1 }, { a: 2 }])
  })

  test('a large request of a small stream: more events than a segment holds', async () => {
    const stream = await api.createStream()
    const count = SEGMENT_EVENTS_MAX + 50
    const body = Array.from({ length: count }, (_, n) => `{"n":${n}}`).join('\n')
    const send = () => api.ingest(stream.key, body, { 'content-type': NDJSON_TYPE })
    assert.equal((await inCrowd(send)).status, 200)
    const events = await stored(stream, count)
    assert.ok(events.every(({ payload }, index) => payload.n === index))
    const usage = await api.usage(stream.id)
    assert.equal(usage.events, count)
  })
})

test('the crowd itself is whole, and is in the catalog', async () => {
  const total = await Promise.all(crowd.map(async ({ id }) => (await api.events(id)).length))
  assert.ok(total.every((count) => count === total[0] && count > 10))
  for (const { id } of crowd) await api.untilCounted(id, total[0]!)
  const { id } = crowd[1]!
  for (let tries = 0; ; tries++) {
    const fields = JSON.parse(await api.rest(`/v1/streams/${id}/fields`))
    if (fields.fields.length === 1) {
      assert.equal(fields.fields[0].path, 'noise')
      break
    }
    assert.ok(tries < 100, 'learned')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.ok((await api.metric('ingest_commit_runs_total')) > CROWD)
})
