/**
 * Goal: what applications send to Loki with arrives here, with its labels, metadata and times.
 * Method: pino's and winston's transports against one running service, in each form that they
 * send; what they sent is read back.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { pinoLoki } from 'pino-loki'
import winston from 'winston'
import LokiTransport from 'winston-loki'
import { eventually } from '../../store/temporary.ts'
import { Api, call, JSON_TYPE } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

const COUNT = 300
let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

for (const batching of [false, { interval: 0.05 }] as const) {
  test(`pino-loki, ${batching === false ? 'one by one' : 'in batches'}`, async () => {
    const stream = await api.createStream()
    const transport = pinoLoki({
      host: service.url,
      basicAuth: { username: 'tenant', password: stream.key },
      labels: { service_name: 'shop' },
      batching,
      silenceErrors: false,
    })
    const logger = pino({ level: 'info' }, transport)
    const count = batching === false ? 5 : COUNT
    for (let n = 0; n < count; n++) logger.warn({ n }, `order ${n} "quoted" ✓`)
    transport.end()
    await once(transport, 'close')
    // It does not wait for what it sends one by one.
    await eventually('stored', async () => (await api.usage(stream.id)).events >= count)
    const events = await api.events(stream.id)
    assert.equal(events.length, count)
    for (const { payload, event_time: time } of events) {
      const { service_name: name, log } = payload as Record<string, unknown>
      const { n, msg, time: sent } = log as Record<string, unknown>
      assert.deepEqual([name, msg], ['shop', `order ${n} "quoted" ✓`])
      assert.equal(Math.floor(Date.parse(time)), sent)
    }
    await api.untilCounted(stream.id, count)
    assert.equal((await api.count(stream.id, { query: '_service:shop _level:warn' })).total, count)
  })
}

for (const json of [false, true]) {
  test(`winston-loki, ${json ? 'JSON' : 'protobuf in snappy'}`, async () => {
    const stream = await api.createStream()
    const errors: unknown[] = []
    const transport = new LokiTransport({
      host: service.url,
      basicAuth: `tenant:${stream.key}`,
      // It does not escape quotes in protobuf.
      labels: { app: json ? 'shop "1"' : 'shop' },
      json,
      batching: true,
      interval: 0.05,
      useWinstonMetaAsLabels: false,
      gracefulShutdown: false,
      onConnectionError: (error) => errors.push(error),
      format: winston.format.printf(({ message }) => String(message)),
    })
    const logger = winston.createLogger({ transports: [transport] })
    for (let n = 0; n < COUNT; n++) logger.error(`order ${n} ✓`, { labels: { part: `${n % 3}` } })
    await transport.flush()
    await transport.close()
    assert.deepEqual(errors, [])
    const events = await api.events(stream.id)
    const messages = events.map(({ payload }) => payload.message)
    assert.deepEqual(
      messages.sort(),
      Array.from({ length: COUNT }, (_, n) => `order ${n} ✓`).sort(),
    )
    for (const { payload, event_time_source: source } of events) {
      const n = Number(/\d+/.exec(String(payload.message))?.[0])
      assert.deepEqual(
        [payload.app, payload.part, payload.level],
        [json ? 'shop "1"' : 'shop', `${n % 3}`, 'error'],
      )
      assert.equal(source, 'otlp', 'the protocol said the time')
    }
  })
}

test('labels and metadata are what queries by level, service and trace find', async () => {
  const stream = await api.createStream()
  const id = '5b8efff798038103d269b633813fc60c'
  const found = { service_name: 'shop', detected_level: 'warn' }
  const values = [['1767323045678901234', 'hello', { trace_id: id }]]
  const body = JSON.stringify({ streams: [{ stream: found, values }] })
  const headers = { 'content-type': JSON_TYPE, 'x-api-key': stream.key }
  const url = `${api.url}/loki/api/v1/push`
  assert.equal((await call(url, { method: 'POST', headers, body })).status, 204)
  await api.untilCounted(stream.id, 1)
  const query = `_service:shop _level:warn _trace_id:${id}`
  assert.equal((await api.count(stream.id, { query })).total, 1)
})
