/**
 * Goal: senders repeat what is refused for now, until it is stored once, and are told of what is
 * refused for good, in terms that they know.
 * Method: the senders themselves, against streams over their budget and with a wrong key.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Metadata } from '@grpc/grpc-js'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-grpc'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import winston from 'winston'
import LokiTransport from 'winston-loki'
import { BODY_BYTES_MAX } from '../../../src/limits.ts'
import { eventually } from '../../store/temporary.ts'
import { Api, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { pythonWith } from './python.ts'

const BUDGET = 100
/** Over the burst of the budget, and as much again. */
const COUNT = 700
const dataDir = makeDataDir()
let service: Service
let api: Api

before(async () => {
  service = await Service.start({ dataDir, args: ['--otlp-grpc-port', '0'] })
  api = new Api(service)
})

after(async () => {
  await service?.stop()
  await removeDataDir(dataDir)
})

/** All are there, once, although some were refused on the way. */
async function assertAll(stream: Stream, count: number): Promise<void> {
  const events = await api.events(stream.id)
  const messages = events.map(({ payload }) => String(payload.message ?? payload.body))
  assert.deepEqual([messages.length, new Set(messages).size], [count, count])
  await eventually('the refusals are counted', async () => {
    const { refusals } = await api.usage(stream.id)
    return refusals.some(({ reason }) => reason === 'rate_limited')
  })
}

function lokiTransport(key: string, errors: unknown[]): LokiTransport {
  return new LokiTransport({
    host: service.url,
    basicAuth: `tenant:${key}`,
    labels: { app: 'shop' },
    batching: true,
    interval: 0.2,
    gracefulShutdown: false,
    onConnectionError: (error) => errors.push(error),
    format: winston.format.printf(({ message }) => String(message)),
  })
}

test('winston-loki repeats after 429, and hears of a wrong key', async () => {
  const stream = await api.createStream({ rate_budget: BUDGET })
  const errors: { readonly statusCode?: number; readonly responseBody?: string }[] = []
  const transport = lokiTransport(stream.key, errors)
  const logger = winston.createLogger({ transports: [transport] })
  let count = 0
  const log = () => logger.info(`order ${count++}`)
  await eventually('refused', async () => {
    for (let n = 0; n < COUNT; n++) log()
    await transport.flush()
    return errors.length > 0
  })
  // It waits a minute after an error, but for its end.
  await api.rest(`/v1/streams/${stream.id}`, 'PATCH', { rate_budget: 100 * COUNT })
  await transport.close()
  assert.ok(errors.length > 0)
  for (const { statusCode, responseBody } of errors) {
    assert.equal(statusCode, 429)
    assert.match(responseBody ?? '', /rate_budget/)
  }
  await assertAll(stream, count)

  const told: { readonly statusCode?: number; readonly responseBody?: string }[] = []
  const other = lokiTransport('lax_no', told)
  winston.createLogger({ transports: [other] }).info('lost')
  await eventually('told', () => told.length > 0)
  assert.equal(told[0]?.statusCode, 401)
  assert.match(told[0]?.responseBody ?? '', /credential/)
  await other.close()
})

const HANDLER = `
import logging, sys
from splunk_handler import SplunkHandler
handler = SplunkHandler(host="127.0.0.1", port=int(sys.argv[1]), protocol="http", verify=False,
    token=sys.argv[2], index="main", source="shop", sourcetype="_json", flush_interval=0.1,
    retry_backoff=0.1, retry_count=20)
log = logging.getLogger("shop")
log.addHandler(handler)
log.setLevel(logging.INFO)
for n in range(int(sys.argv[3])):
    log.info("order %d", n)
    if n % 100 == 99:
        handler.force_flush()
logging.shutdown()
`

test("Python's splunk-handler repeats after 503", async (t) => {
  const runPython = await pythonWith(t, ['splunk-handler==3.0.0'])
  if (runPython === undefined) return
  const stream = await api.createStream({ rate_budget: BUDGET })
  await runPython(HANDLER, [String(service.port), stream.key, String(COUNT)])
  await assertAll(stream, COUNT)
})

interface Sent {
  readonly calls: number
  readonly codes: readonly (number | undefined)[]
}

/** Sends texts over gRPC, all in one call; resolves with what the exporter came to. */
async function exportLogs(key: string, texts: readonly string[]): Promise<Sent> {
  const metadata = new Metadata()
  metadata.set('x-api-key', key)
  const exporter = new OTLPLogExporter({ url: service.grpcUrl, metadata })
  const codes: (number | undefined)[] = []
  const send = exporter.export.bind(exporter)
  exporter.export = (records, done) => {
    send(records, (result) => {
      codes.push((result.error as { code?: number } | undefined)?.code)
      done(result)
    })
  }
  const before = await answered()
  const processor = new BatchLogRecordProcessor({ exporter, maxExportBatchSize: texts.length })
  const logger = new LoggerProvider({ processors: [processor] }).getLogger('test')
  for (const body of texts) logger.emit({ body })
  await processor.forceFlush().catch(() => undefined)
  await processor.shutdown().catch(() => undefined)
  return { calls: (await answered()) - before, codes }
}

async function answered(): Promise<number> {
  const text = await api.rest('/metrics')
  const counts = text.matchAll(/^ingest_requests_total\{[^}]*surface="otlp_grpc"[^}]*\} (\d+)/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

test('the SDK over gRPC repeats no call that is refused for good', async () => {
  const stream = await api.createStream()
  assert.deepEqual(await exportLogs('lax_no', ['a']), { calls: 1, codes: [16] })
  const half = 'x'.repeat(BODY_BYTES_MAX / 2)
  const large = await exportLogs(stream.key, [half, half, half])
  assert.equal(large.calls, 1, 'once')
  assert.equal((await api.usage(stream.id)).events, 0)
  assert.deepEqual(await exportLogs(stream.key, ['b']), { calls: 1, codes: [undefined] })
})
