/**
 * Goal: OpenTelemetry's own exporters send to us as they do to a collector.
 * Method: the SDK with its two HTTP exporters against one running service; events are read back.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SeverityNumber } from '@opentelemetry/api-logs'
import { OTLPLogExporter as JsonExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { OTLPLogExporter as ProtoExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { Api, call } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

const EXPORTERS = [
  ['protobuf', ProtoExporter],
  ['JSON', JsonExporter],
] as const

for (const [name, Exporter] of EXPORTERS) {
  for (const compression of ['none', 'gzip'] as const) {
    test(`the SDK over ${name}, ${compression}`, async () => {
      const stream = await api.createStream()
      const exporter = new Exporter({
        url: `${service.url}/v1/otlp/v1/logs`,
        headers:
          name === 'JSON' ? { authorization: `Bearer ${stream.key}` } : { 'x-api-key': stream.key },
        // The enum is erased in the package's types, its values are these words.
        compression: compression as never,
      })
      const provider = new LoggerProvider({
        resource: resourceFromAttributes({ 'service.name': 'shop', replicas: 3 }),
        processors: [new BatchLogRecordProcessor({ exporter, maxExportBatchSize: 512 })],
      })
      const logger = provider.getLogger('checkout', '1.2.3')
      const at = Date.UTC(2026, 10, 20, 12, 0, 0, 123)
      for (let n = 0; n < 600; n++) {
        logger.emit({
          severityNumber: SeverityNumber.WARN,
          severityText: 'WARN',
          body: n % 2 === 0 ? `order ${n} ✓` : { order: n, items: ['a', { b: 1.5 }], ok: true },
          attributes: { n, 'http.method': 'GET' },
          timestamp: at + n,
        })
      }
      await provider.forceFlush()
      await provider.shutdown()
      const events = await api.events(stream.id)
      assert.equal(events.length, 600)
      const byTime = events.sort((a, b) => (a.event_time < b.event_time ? -1 : 1))
      for (const [n, event] of byTime.entries()) {
        assert.equal(event.event_time_source, 'otlp')
        assert.equal(Date.parse(event.event_time), at + n)
        if (n % 2 === 1) {
          assert.deepEqual(event.payload, { order: n, items: ['a', { b: 1.5 }], ok: true })
          continue
        }
        const { body, attributes, resource, severity, time_unix_nano, scope } = event.payload
        assert.equal(body, `order ${n} ✓`)
        assert.deepEqual(attributes, { n, 'http.method': 'GET' })
        assert.deepEqual(resource, { 'service.name': 'shop', replicas: 3 })
        assert.equal(severity, 'WARN')
        assert.equal(time_unix_nano, `${BigInt(at + n) * 1_000_000n}`)
        assert.deepEqual(scope, { name: 'checkout', version: '1.2.3' })
      }
    })
  }
}

test('other signals are not implemented; a bad key is reported as a Status', async () => {
  for (const signal of ['traces', 'metrics']) {
    const answer = await call(`${service.url}/v1/otlp/v1/${signal}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    assert.equal(answer.status, 501)
    assert.equal(answer.headers['content-type'], 'application/json')
    assert.equal((JSON.parse(answer.text) as { code: number }).code, 12)
  }
  const refused = await call(`${service.url}/v1/otlp/v1/logs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'lax_aaaaaaaa_wrong' },
    body: '{}',
  })
  assert.equal(refused.status, 401)
  assert.equal((JSON.parse(refused.text) as { code: number }).code, 16)
})

test('empty requests are a success, in the type of the request exactly', async () => {
  const stream = await api.createStream()
  for (const [type, body, expected] of [
    ['application/x-protobuf', '', ''],
    ['application/json', '{}', '{}'],
    ['application/json; charset=utf-8', '{"resourceLogs":[]}', '{}'],
  ] as const) {
    const answer = await call(`${service.url}/v1/logs`, {
      method: 'POST',
      headers: { 'content-type': type, 'x-api-key': stream.key },
      body,
    })
    assert.deepEqual([answer.status, answer.text], [200, expected])
    assert.equal(answer.headers['content-type'], type.replace('; charset=utf-8', ''))
  }
})
