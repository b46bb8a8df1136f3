/**
 * Goal: senders written for Splunk lose nothing and store nothing twice, in batches and at once.
 * Method: Splunk's library for JavaScript, many loggers; Python's handler where pip can install it.
 */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { Api } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'
import { pythonWith } from './python.ts'

interface SplunkLogger {
  error: (error: unknown) => void
  send(context: object, done?: (error: unknown, response: unknown, body: unknown) => void): void
}
const { Logger } = createRequire(import.meta.url)('splunk-logging') as {
  readonly Logger: new (config: object) => SplunkLogger
}

let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

test("Splunk's library for JavaScript: many loggers at once, in batches", async () => {
  const stream = await api.createStream()
  const { hostname: host, port } = new URL(api.url)
  const failed: unknown[] = []
  const batches: Promise<unknown>[] = []
  for (let who = 0; who < 20; who++) {
    const path = '/services/collector/event/1.0'
    const config = { host, port, protocol: 'http', path, token: stream.key, maxBatchCount: 50 }
    const logger = new Logger(config)
    logger.error = (error) => failed.push(error)
    for (let n = 0; n < 500; n++) {
      const event = { message: { who, n, text: '}{'.repeat(n % 40) }, severity: 'info' }
      if (n % 50 < 49) logger.send(event)
      else
        batches.push(new Promise((resolve) => logger.send(event, (_, __, body) => resolve(body))))
    }
  }
  for (const body of await Promise.all(batches)) {
    assert.deepEqual(body, { text: 'Success', code: 0 })
  }
  assert.deepEqual(failed, [])
  const events = await api.events(stream.id)
  const ids = events.map(({ payload }) => {
    const { who, n } = payload.message as { who: number; n: number }
    return `${who} ${n}`
  })
  assert.deepEqual([ids.length, new Set(ids).size], [10_000, 10_000])
})

const HANDLER = `
import logging, sys
from splunk_handler import SplunkHandler
handler = SplunkHandler(host="127.0.0.1", port=int(sys.argv[1]), protocol="http", verify=False,
    token=sys.argv[2], index="main", source="shop", sourcetype="_json", flush_interval=0.2)
log = logging.getLogger("shop")
log.addHandler(handler)
log.setLevel(logging.INFO)
for n in range(2000):
    log.info("order %d", n)
logging.shutdown()
`

test("Python's splunk-handler", async (t) => {
  const runPython = await pythonWith(t, ['splunk-handler==3.0.0'])
  if (runPython === undefined) return
  const stream = await api.createStream()
  await runPython(HANDLER, [String(service.port), stream.key])
  const events = await api.events(stream.id)
  assert.equal(events.length, 2_000)
  assert.deepEqual(
    new Set(events.map(({ payload }) => payload.message)),
    new Set(Array.from({ length: 2_000 }, (_, n) => `order ${n}`)),
  )
  assert.deepEqual(new Set(events.map(({ payload }) => payload.source)), new Set(['shop']))
})
