/**
 * Goal: the Elasticsearch clients that applications use send to us as they do to a cluster.
 * Method: the real clients against one running service; what they sent is read back.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client as Client8 } from '@elastic/elasticsearch'
import { Client as OpenSearchClient } from '@opensearch-project/opensearch'
import { Client as Client9 } from 'elasticsearch-9'
import pino from 'pino'
import pinoElasticsearchModule from 'pino-elasticsearch'
import winston from 'winston'
import { ElasticsearchTransport } from 'winston-elasticsearch'
import { Api, type Stream } from '../../support/api.ts'
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

/** Its types say `default`, its module is the function itself. */
const pinoElasticsearch =
  pinoElasticsearchModule as unknown as typeof pinoElasticsearchModule.default

const auth = (stream: Stream) => ({ username: 'anyone', password: stream.key })
const documents = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ n: i, message: `event ${i} "quoted" ✓` }))

/** Payloads of the stream, once it has as many as expected. */
async function payloads(stream: Stream, count: number): Promise<Record<string, unknown>[]> {
  for (let i = 0; i < 200; i++) {
    const events = await api.events(stream.id)
    if (events.length >= count) {
      return events.map(({ payload }) => payload as Record<string, unknown>)
    }
    await sleep(50)
  }
  throw new Error(`not ${count} events`)
}

async function assertStored(stream: Stream, count: number): Promise<void> {
  const stored = await payloads(stream, count)
  assert.deepEqual(
    stored.sort((a, b) => Number(a.n) - Number(b.n)),
    documents(count),
  )
}

for (const [name, Client] of [
  ['@elastic/elasticsearch 8', Client8],
  ['@elastic/elasticsearch 9', Client9 as unknown as typeof Client8],
] as const) {
  test(`${name}: info, bulk, index, create, bulk helper`, async () => {
    const stream = await api.createStream()
    const client = new Client({ node: service.url, auth: auth(stream) })
    const info = await client.info()
    assert.equal(info.tagline, 'You Know, for Search')
    const [first, second, third, ...rest] = documents(2_500)
    const bulk = await client.bulk({
      operations: [{ index: { _index: 'logs' } }, first!, { create: { _id: 'own' } }, second!],
      index: 'default-index',
    })
    assert.equal(bulk.errors, false)
    assert.equal(bulk.items[0]?.index?._index, 'logs')
    assert.deepEqual(
      [bulk.items[1]?.create?._index, bulk.items[1]?.create?._id],
      ['default-index', 'own'],
    )
    const single = await client.index({ index: 'logs', document: third! })
    assert.equal(single.result, 'created')
    assert.equal((await api.events(stream.id))[0]?.id, single._id)
    const stats = await client.helpers.bulk({
      datasource: rest,
      onDocument: () => ({ create: { _index: 'logs' } }),
      flushBytes: 100_000,
      refreshOnCompletion: true,
    })
    assert.deepEqual([stats.successful, stats.failed], [rest.length, 0])
    await assertStored(stream, 2_500)
    await client.close()
  })

  test(`${name}: bad documents are told one by one, a bad key at once`, async () => {
    const stream = await api.createStream()
    const client = new Client({ node: service.url, auth: auth(stream) })
    const bulk = await client.bulk({
      operations: [{ delete: { _index: 'logs', _id: 'x' } }, { index: {} }, documents(1)[0]!],
    })
    assert.equal(bulk.errors, true)
    assert.deepEqual(
      bulk.items.map((item) => Object.values(item)[0]?.status),
      [400, 201],
    )
    const dropped: unknown[] = []
    const stats = await client.helpers.bulk({
      datasource: ['{"n":0,"message":"event 0 \\"quoted\\" ✓"}', '[1]'],
      onDocument: () => ({ index: { _index: 'logs' } }),
      onDrop: (each) => dropped.push(each.document),
    })
    assert.deepEqual([stats.successful, stats.failed, dropped.length], [1, 1, 1])
    const stranger = new Client({
      node: service.url,
      auth: { username: 'x', password: 'lax_aaaaaaaa_wrong' },
      maxRetries: 0,
    })
    await assert.rejects(
      stranger.bulk({ operations: [{ index: {} }, {}] }),
      (error: { statusCode?: number }) => error.statusCode === 401,
    )
    await client.close()
    await stranger.close()
  })
}

test('@opensearch-project/opensearch: info, bulk, bulk helper', async () => {
  const stream = await api.createStream()
  const client = new OpenSearchClient({ node: service.url, auth: auth(stream) })
  assert.equal((await client.info()).statusCode, 200)
  const [first, ...rest] = documents(1_200)
  const bulk = await client.bulk({ body: [{ index: { _index: 'logs' } }, first!] })
  assert.equal(bulk.body.errors, false)
  const stats = await client.helpers.bulk({
    datasource: rest,
    onDocument: () => ({ index: { _index: 'logs' } }),
  })
  assert.equal(stats.successful, rest.length)
  await assertStored(stream, 1_200)
  await client.close()
})

test('pino-elasticsearch: every line of a logger arrives', async () => {
  const stream = await api.createStream()
  const transport = pinoElasticsearch({
    node: service.url,
    auth: auth(stream),
    index: 'logs',
    esVersion: 8,
    flushBytes: 1_000,
    flushInterval: 50,
  })
  const errors: unknown[] = []
  transport.on('insertError', (error: unknown) => errors.push(error))
  const logger = pino({ level: 'info' }, transport)
  for (let n = 0; n < 300; n++) logger.info({ n }, 'event')
  const stored = await payloads(stream, 300)
  assert.deepEqual(errors, [])
  assert.deepEqual(
    stored.map(({ n }) => Number(n)).sort((a, b) => a - b),
    documents(300).map(({ n }) => n),
  )
  assert(stored.every(({ msg, time }) => msg === 'event' && typeof time === 'string'))
  transport.end()
})

test('winston-elasticsearch: every line of a logger arrives', async () => {
  const stream = await api.createStream()
  const transport = new ElasticsearchTransport({
    level: 'info',
    clientOpts: { node: service.url, auth: auth(stream) },
    index: 'logs',
    flushInterval: 50,
  })
  const warnings: unknown[] = []
  transport.on('warning', (warning) => warnings.push(warning))
  const logger = winston.createLogger({ transports: [transport] })
  for (let n = 0; n < 300; n++) logger.info('event', { n })
  const stored = await payloads(stream, 300)
  assert.deepEqual(warnings, [])
  assert.equal(new Set(stored.map(({ fields }) => (fields as { n: number }).n)).size, 300)
  assert(stored.every(({ message, severity }) => message === 'event' && severity === 'info'))
  await transport.flush()
  const finished = once(logger, 'finish')
  logger.end()
  await finished
})
