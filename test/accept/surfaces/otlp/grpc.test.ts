/**
 * Goal: a gRPC call of OTLP logs is stored and answered as exporters read it, however its message
 * arrives; what is none is refused with a status, and costs nothing else.
 * Method: calls by hand over node's HTTP/2; the pool is a pipeline in this process. What is sent
 * whole is sent again cut at random places. The seed is printed.
 */
import assert from 'node:assert/strict'
import { type ClientHttp2Session, connect, constants, type OutgoingHttpHeaders } from 'node:http2'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Batcher, type EncodeTask } from '../../../../src/accept/batching/batcher.ts'
import type { IngestDeps } from '../../../../src/accept/request/ingest.ts'
import { otlpGrpcSurface } from '../../../../src/accept/surfaces/otlp/grpc/otlp-grpc.ts'
import { BatchBuffers } from '../../../../src/bytes/batch-buffers.ts'
import { IngestError, OutcomeUnknownError } from '../../../../src/errors.ts'
import { InFlight } from '../../../../src/http/in-flight.ts'
import {
  BATCH_BYTES_TARGET,
  BODY_BYTES_MAX,
  GRPC_CALLS_MAX,
  GRPC_CONNECTION_WINDOW_BYTES,
  GRPC_CONNECTIONS_MAX,
  GRPC_IDLE_MS_MAX,
  GRPC_WINDOW_BYTES,
  IN_FLIGHT_BYTES_MAX,
} from '../../../../src/limits.ts'
import type { AcceptedBatch, SegmentOutput } from '../../../../src/model/batch/accepted-batch.ts'
import type { SegmentToCommit } from '../../../../src/model/batch/committed-group.ts'
import type { SegmentId } from '../../../../src/model/segment-id.ts'
import { IngestPipeline } from '../../../../workers/ingest.ts'
import { decodeSegment } from '../../../../workers/segment/segment.ts'
import { encodeLogsRequest } from '../../../e2e/surfaces/otlp-encoder.ts'
import { callGrpc, framed, GRPC_HEADERS, type GrpcAnswer } from '../../../support/grpc-call.ts'
import { createRandom } from '../../../support/random.ts'
import { stream } from '../../batching/batcher-harness.ts'

const KEY = 'a-key'
const pipeline = new IngestPipeline()
const pool = {
  hasIdleThread: true,
  encode: async (batch: AcceptedBatch, output: SegmentOutput) => pipeline.run(batch, output),
  encodeWhenIdle: async (makeTask: () => EncodeTask | undefined) => {
    const task = makeTask()
    return task && pipeline.run(task.batch, task.output)
  },
}

let stored: string[] = []
let fault: Error | undefined
const counted: string[] = []
const nothing = () => undefined
const commit = async (_streamId: unknown, segments: readonly SegmentToCommit[]) => {
  if (fault !== undefined) throw fault
  const texts = segments.map(({ payload }) => decodeSegment(payload).text.toString())
  stored = texts.join('').trimEnd().split('\n')
  return segments.map((_, index) => BigInt(index) as SegmentId)
}
const inFlight = new InFlight(IN_FLIGHT_BYTES_MAX)
const resolved = { stream: stream(1), keyId: 1 }
let budget: IngestError | undefined

const deps = {
  batcher: new Batcher(pool, new BatchBuffers(BATCH_BYTES_TARGET), commit, Date.now),
  inFlight,
  credentials: {
    tryResolveKey: (key: string) => (key === KEY ? resolved : undefined),
    isCurrent: () => true,
  },
  meter: {
    onReply: (surface: string, status: number) => counted.push(`${surface} ${status}`),
    onAcknowledged: nothing,
    onJudged: nothing,
    onRefused: nothing,
  },
  checkStorage: nothing,
  budgets: {
    check: () => {
      if (budget !== undefined) throw budget
    },
    charge: nothing,
  },
  isStopping: () => false,
  onFault: nothing,
} as unknown as IngestDeps

let port = 0
const log = { info: (fields: { port: number }) => void (port = fields.port) }
const config = { host: '127.0.0.1', otlpGrpcPort: 0, tls: undefined, drainTimeoutMs: 1_000 }
const surface = await otlpGrpcSurface({ deps, config, log } as never)
const client: ClientHttp2Session = connect(`http://127.0.0.1:${port}`)
after(async () => {
  client.close()
  await surface.stop?.()
})

function call(pieces: readonly Uint8Array[], more: OutgoingHttpHeaders = {}): Promise<GrpcAnswer> {
  return callGrpc(client, pieces, { 'x-api-key': KEY, ...more })
}

const logs = (count: number) => {
  return encodeLogsRequest(Array.from({ length: count }, (_, n) => ({ body: { n, text: 'é' } })))
}
const EMPTY = Buffer.alloc(5)

test('a call is stored, and answered with an empty message and status 0', async () => {
  const answer = await call([framed(logs(3))])
  assert.deepEqual([answer.http, answer.status, answer.body], [200, '0', EMPTY])
  assert.equal(stored.length, 3)
  assert.match(stored[2]!, /"n":2/)
  const zipped = await call([framed(gzipSync(logs(2)), true)], { 'grpc-encoding': 'gzip' })
  assert.deepEqual([zipped.status, stored.length], ['0', 2])
  const bearer = { 'x-api-key': '', authorization: `Bearer ${KEY}` }
  assert.equal((await call([framed(Buffer.alloc(0))], bearer)).status, '0', 'an empty request')
  assert.deepEqual(new Set(counted.splice(0)), new Set(['otlp_grpc 200']))
})

test('where a message is cut does not show, large ones are several batches', async (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  for (const count of [1, 40, 30_000]) {
    const bytes = framed(logs(count))
    const pieces: Buffer[] = []
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + Math.floor(next() * (bytes.length / 8))
      pieces.push(bytes.subarray(at, end))
      at = end
    }
    assert.equal((await call(pieces)).status, '0')
    assert.equal(stored.length, count)
    assert.match(stored.at(-1)!, new RegExp(`"n":${count - 1}[,}]`))
  }
  assert.equal(inFlight.bytes, 0)
})

test('refusals have the status by which exporters decide', async () => {
  const body = [framed(logs(1))]
  stored = []
  const bare = (answer: GrpcAnswer) => [answer.http, answer.status]
  assert.deepEqual(bare(await call(body, { 'x-api-key': 'another' })), [200, '16'])
  assert.deepEqual(bare(await call([framed(Buffer.from('nonsense'))])), [200, '3'])
  budget = new IngestError('rate_limited', 'over 100 % of it', { retryAfterSeconds: 7 })
  const limited = await call(body)
  budget = undefined
  assert.deepEqual([limited.status, limited.message], ['8', 'over 100 % of it'])
  // google.rpc.Status: code 8, the message, and RetryInfo of 7 seconds.
  assert.equal(limited.details[1], 8)
  const delay = Buffer.from([0x12, 4, 0x0a, 2, 0x08, 7])
  const info = Buffer.concat([Buffer.from('google.rpc.RetryInfo'), delay])
  assert.deepEqual(limited.details.subarray(-info.length), info)
  fault = new IngestError('unavailable', 'away')
  assert.equal((await call(body)).status, '14')
  fault = new OutcomeUnknownError()
  const dropped = await call(body)
  fault = undefined
  assert.deepEqual([dropped.status, dropped.code], [undefined, constants.NGHTTP2_CANCEL])
  const large = Buffer.alloc(5)
  large.writeUInt32BE(BODY_BYTES_MAX + 1, 1)
  assert.match((await call([large])).message, /BODY_BYTES_MAX/)
  const bomb = gzipSync(Buffer.alloc(BODY_BYTES_MAX + 1))
  const inflated = await call([framed(bomb, true)], { 'grpc-encoding': 'gzip' })
  assert.match(inflated.message, /BODY_BYTES_MAX/)
  assert.deepEqual([stored, inFlight.bytes], [[], 0])
})

test('what is no such call is told so', async () => {
  const body = [framed(logs(1))]
  stored = []
  const other = GRPC_HEADERS[':path'].replaceAll('logs', 'trace').replace('Logs', 'Trace')
  assert.equal((await call(body, { ':path': other })).status, '12')
  const snappy = { 'grpc-encoding': 'snappy' }
  assert.equal((await call([framed(logs(1), true)], snappy)).status, '12')
  assert.equal((await call(body, { 'content-type': 'application/json' })).http, 415)
  assert.match((await call([...body, ...body])).message, /more than one message/)
  assert.match((await call([framed(logs(1)).subarray(0, 20)])).message, /ends within its message/)
  assert.match((await call([])).message, /ends within its message/)
  assert.match((await call([Buffer.alloc(9, 7)])).message, /no gRPC message/)
  assert.deepEqual([stored, inFlight.bytes], [[], 0])
})

test('a client that goes away within its message leaves nothing', async () => {
  const stream = client.request({ ...GRPC_HEADERS, 'x-api-key': KEY })
  stream.on('error', nothing)
  stream.write(framed(logs(30_000)).subarray(0, 2_000_000))
  await new Promise((resolve) => setTimeout(resolve, 50))
  stored = []
  stream.close(constants.NGHTTP2_CANCEL)
  await new Promise((resolve) => stream.once('close', resolve))
  assert.equal((await call([framed(logs(1))])).status, '0')
  assert.deepEqual([stored.length, inFlight.bytes], [1, 0])
})

test('a connection cannot send more ahead than its windows, nor open calls without end', () => {
  assert.equal(client.remoteSettings.maxConcurrentStreams, GRPC_CALLS_MAX)
  assert.equal(client.remoteSettings.initialWindowSize, GRPC_WINDOW_BYTES)
  assert(GRPC_CONNECTION_WINDOW_BYTES >= GRPC_WINDOW_BYTES)
  assert(GRPC_CONNECTIONS_MAX * GRPC_CONNECTION_WINDOW_BYTES <= 1024 ** 3)
  assert(GRPC_IDLE_MS_MAX > 60_000, 'longer than exporters wait between calls')
})
