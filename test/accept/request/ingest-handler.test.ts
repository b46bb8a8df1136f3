/**
 * Goal: whatever goes wrong on the way to a reply, the client gets an answer and it is logged.
 * Method: a real server, and a surface whose answers cannot be made.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Batcher } from '../../../src/accept/batching/batcher.ts'
import type { HttpDialect } from '../../../src/accept/dialect.ts'
import { NDJSON_BODY } from '../../../src/accept/framing/body-format.ts'
import type { IngestDeps } from '../../../src/accept/request/ingest.ts'
import { ingestHandler } from '../../../src/accept/request/ingest-handler.ts'
import { BatchBuffers } from '../../../src/bytes/batch-buffers.ts'
import { IngestError } from '../../../src/errors.ts'
import { InFlight } from '../../../src/http/in-flight.ts'
import type { HttpServer } from '../../../src/http/server.ts'
import { IN_FLIGHT_BYTES_MAX } from '../../../src/limits.ts'
import type { SegmentId } from '../../../src/model/segment-id.ts'
import type { Stream, StreamId } from '../../../src/model/stream.ts'
import { someSegment } from '../../commit/some-segments.ts'
import { RawClient, startServer } from '../../http/raw-client.ts'

const servers: HttpServer[] = []
after(() => {
  for (const server of servers) server.close()
})

const STREAM = {
  streamId: 1 as StreamId,
  parseUserAgents: false,
  redactSensitive: false,
  redactFields: [],
  textFields: [],
} as unknown as Stream
const RESULT = {
  accepted: 1,
  rejected: 0,
  rejectedByCode: {},
  lines: 1,
  items: 1,
  repaired: 0,
  acceptedBytes: 2,
  rejects: [],
  fatal: undefined,
}
const TRANSFORMS = {
  eventsExtracted: 0,
  eventsRedacted: 0,
  userAgentHits: 0,
  userAgentMisses: 0,
  userAgentsSkipped: 0,
}

/** A dialect that works, except for what a test replaces. */
const DIALECT: HttpDialect = {
  surface: 'native',
  replyFormat: 'native',
  apiKey: 'key',
  plan: () => ({ format: NDJSON_BODY }),
  judge: () => undefined,
  answer: () => 'taken',
  acceptedReply: (answer) => ({ status: 200, body: answer }),
  refusedReply: (error) => ({ status: 500, body: `told ${error.code}` }),
}

async function serve(dialect: Partial<HttpDialect>, deps: Partial<IngestDeps> = {}) {
  const faults: string[] = []
  const encode = async () => ({
    streamId: STREAM.streamId,
    segments: [someSegment()],
    parts: [RESULT],
    transforms: TRANSFORMS,
  })
  const commit = async () => [1n as SegmentId]
  const pool = { hasIdleThread: true, encode, encodeWhenIdle: async () => undefined }
  const nothing = () => undefined
  const all = {
    batcher: new Batcher(pool, new BatchBuffers(1_024), commit, Date.now),
    inFlight: new InFlight(IN_FLIGHT_BYTES_MAX),
    credentials: { tryResolveKey: () => ({ stream: STREAM }), isCurrent: () => true },
    meter: { onReply: nothing, onAcknowledged: nothing, onJudged: nothing, onRefused: nothing },
    checkStorage: nothing,
    budgets: { check: nothing, charge: nothing },
    isStopping: () => false,
    onFault: (cause: unknown) => faults.push(String(cause)),
    ...deps,
  } as unknown as IngestDeps
  const handler = ingestHandler(all, () => ({ ...DIALECT, ...dialect }))
  const { server, port } = await startServer({
    routes: [{ method: 'POST', pattern: '/in', handler }],
  })
  servers.push(server)
  const post = async (body: string, head = '') => {
    const client = await RawClient.connect(port)
    client.write(
      `POST /in HTTP/1.1\r\nHost: x\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`,
    )
    return client
  }
  return { post, faults, inFlight: all.inFlight }
}

const fail = (): never => {
  throw new TypeError('our bug')
}

test('a normal reply is sent, and nothing is logged', async () => {
  const { post, faults } = await serve({})
  assert.match(await (await post('{}')).until(/taken/), /^HTTP\/1\.1 200 /)
  assert.deepEqual(faults, [])
})

for (const [name, dialect] of [
  ['acceptedReply', { acceptedReply: fail }],
  ['answer', { answer: fail }],
  ['judge', { judge: fail }],
] as const) {
  test(`a throw in ${name} is answered with 500, logged, and holds nothing`, async () => {
    for (const head of ['', 'Content-Encoding: gzip\r\n']) {
      const { post, faults, inFlight } = await serve(dialect)
      // An empty gzip body takes the path of large bodies.
      const client = await post(head === '' ? '{}' : '', head)
      assert.match(await client.until(/told internal/), /^HTTP\/1\.1 500 /)
      assert.equal(faults.length, 1)
      assert.match(faults[0] ?? '', /our bug/)
      assert.deepEqual([inFlight.bytes, inFlight.requests], [0, 0])
    }
  })
}

test('when not even a refusal can be made, the connection is closed', async () => {
  const { post, faults } = await serve({ acceptedReply: fail, refusedReply: fail })
  const client = await post('{}')
  assert.equal(await client.untilClosed(), '')
  assert.ok(faults.length > 0)
})

test('an expected refusal is not logged', async () => {
  const refuse = () => new IngestError('malformed', 'no')
  const { post, faults } = await serve({ judge: refuse })
  await (await post('{}')).until(/told malformed/)
  assert.deepEqual(faults, [])
})
