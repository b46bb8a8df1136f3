/**
 * Goal: OpenTelemetry's own exporter over gRPC sends to us as it does to a collector, and what is
 * refused for a while it sends again.
 * Method: the SDK, on grpc-js, against a service of its own; events are read back.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Metadata } from '@grpc/grpc-js'
import { SeverityNumber } from '@opentelemetry/api-logs'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-grpc'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { Api } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

let service: Service
let api: Api
let url = ''
const dataDir = makeDataDir()

before(async () => {
  service = await Service.start({ dataDir, args: ['--otlp-grpc-port', '0'] })
  api = new Api(service)
  url = service.grpcUrl
})

after(async () => {
  await service?.stop()
  await removeDataDir(dataDir)
})

/** Resolves when all are stored; the exporter itself tries again. */
async function send(key: string, count: number, compression: 'none' | 'gzip'): Promise<void> {
  const metadata = new Metadata()
  metadata.set('x-api-key', key)
  const exporter = new OTLPLogExporter({
    url,
    metadata,
    // The enum is erased in the package's types, its values are these words.
    compression: compression as never,
  })
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ 'service.name': 'shop', replicas: 3 }),
    processors: [new BatchLogRecordProcessor({ exporter, maxExportBatchSize: 256 })],
  })
  const logger = provider.getLogger('checkout', '1.2.3')
  for (let n = 0; n < count; n++) {
    logger.emit({
      severityNumber: SeverityNumber.ERROR,
      severityText: 'ERROR',
      body: n % 2 === 0 ? `order ${n} ✓` : { order: n, items: ['a', { b: 1.5 }] },
      attributes: { n },
    })
  }
  await provider.forceFlush()
  await provider.shutdown()
}

for (const compression of ['none', 'gzip'] as const) {
  test(`the SDK over gRPC, ${compression}`, async () => {
    const stream = await api.createStream()
    await send(stream.key, 600, compression)
    const events = await api.events(stream.id)
    assert.equal(events.length, 600)
    const numbers = events.map(({ payload: { order, body } }) => {
      return Number(order ?? /^order (\d+) ✓$/.exec(String(body))?.[1])
    })
    assert.deepEqual(
      numbers.toSorted((a, b) => a - b),
      [...Array(600).keys()],
    )
  })
}

test('what is over its budget for a second is sent again', async () => {
  const stream = await api.createStream()
  await api.rest(`/v1/streams/${stream.id}`, 'PATCH', { rate_budget: 300 })
  await send(stream.key, 700, 'none')
  assert.equal((await api.events(stream.id)).length, 700)
})
