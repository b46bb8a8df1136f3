/**
 * Goal: a surface is what it registers. One with a protocol, a framing and a decoder of its own,
 * and no HTTP, goes through the core and the worker's code that all go through.
 * Method: frames over a real socket, small and cut into several batches; the pool is a pipeline in
 * this process, with one decoder more than the service's.
 */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { Batcher, type EncodeTask } from '../../../src/accept/batching/batcher.ts'
import type { Sender } from '../../../src/accept/dialect.ts'
import type { IngestDeps } from '../../../src/accept/request/ingest.ts'
import type { OpenSurface } from '../../../src/accept/surfaces/surface.ts'
import { BatchBuffers } from '../../../src/bytes/batch-buffers.ts'
import { InFlight } from '../../../src/http/in-flight.ts'
import { BATCH_BYTES_TARGET, EVENT_BYTES_MAX, IN_FLIGHT_BYTES_MAX } from '../../../src/limits.ts'
import type { AcceptedBatch, SegmentOutput } from '../../../src/model/batch/accepted-batch.ts'
import type { SegmentToCommit } from '../../../src/model/batch/committed-group.ts'
import type { SegmentId } from '../../../src/model/segment-id.ts'
import { DECODERS } from '../../../workers/decode/all-decoders.ts'
import { IngestPipeline } from '../../../workers/ingest.ts'
import { decodeSegment } from '../../../workers/segment/segment.ts'
import { stream } from '../batching/batcher-harness.ts'
import { framesDecoder, framesSurface } from './frames-surface.ts'

const pipeline = new IngestPipeline(undefined, new Map([...DECODERS, framesDecoder]))
const pool = {
  hasIdleThread: true,
  encode: async (batch: AcceptedBatch, output: SegmentOutput) => pipeline.run(batch, output),
  encodeWhenIdle: async (makeTask: () => EncodeTask | undefined) => {
    const task = makeTask()
    return task && pipeline.run(task.batch, task.output)
  },
}

let stored: string[] = []
let batches = 0
const counted: string[] = []
const nothing = () => undefined

const commit = async (_streamId: unknown, segments: readonly SegmentToCommit[]) => {
  const texts = segments.map(({ payload }) => decodeSegment(payload).text.toString())
  stored = texts.join('').trimEnd().split('\n')
  batches = segments.length
  return segments.map((_, index) => BigInt(index) as SegmentId)
}

let isAllowed = true
const sender: Sender = {
  stream: stream(1),
  isCurrent: () => isAllowed,
  confirm: async () => assert.fail('may send no more'),
}

const deps = {
  batcher: new Batcher(pool, new BatchBuffers(BATCH_BYTES_TARGET), commit, Date.now),
  inFlight: new InFlight(IN_FLIGHT_BYTES_MAX),
  meter: {
    onReply: (surface: string, status: number) => counted.push(`${surface} ${status}`),
    onAcknowledged: nothing,
    onJudged: nothing,
    onRefused: nothing,
  },
  checkStorage: nothing,
  budgets: { check: nothing, charge: nothing },
  isStopping: () => false,
  onFault: nothing,
} as unknown as IngestDeps

let port = 0
const surface: OpenSurface = await framesSurface(sender, (open) => {
  port = open
})({ deps } as never)
after(() => surface.stop?.())

function frame(message: string | Uint8Array): Buffer {
  const bytes = Buffer.from(message)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** Sends the pieces and resolves with the answer. */
async function send(...pieces: readonly Uint8Array[]): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  for (const piece of pieces) socket.write(piece)
  socket.end()
  return await text(socket)
}

const asEvent = (message: string) => JSON.stringify({ message })

test('frames are stored, and answered in the form of their protocol', async () => {
  const messages = ['a', '', 'two\nlines "quoted"', 'é\u0000']
  assert.equal(await send(...messages.map(frame)), 'stored 4, rejected 0\n')
  assert.deepEqual(stored, messages.map(asEvent))
  assert.deepEqual(counted.splice(0), ['frames 200'])
})

test('where the body is cut into batches does not show', async () => {
  const messages = Array.from({ length: 6_000 }, (_, i) => `${i} ${'x'.repeat(i % 1_000)}`)
  const body = Buffer.concat(messages.map(frame))
  assert(body.length > 2 * BATCH_BYTES_TARGET)
  assert.equal(await send(body.subarray(0, 7), body.subarray(7)), 'stored 6000, rejected 0\n')
  assert(batches >= 3, `${batches} batches`)
  assert.deepEqual(stored, messages.map(asEvent))
})

test('a frame cut short or too large is rejected alone, bad UTF-8 is repaired', async () => {
  const large = Buffer.alloc(EVENT_BYTES_MAX + 1, 'x')
  const bad = Uint8Array.of(0x61, 0xff)
  const answer = await send(frame('a'), frame(large), frame(bad), frame('rest').subarray(0, 6))
  assert.equal(answer, 'stored 2, rejected 2\n')
  assert.deepEqual(stored, [asEvent('a'), asEvent('a\ufffd')])
})

test('a body without a frame is refused, and one whose sender may send no more', async () => {
  assert.equal(await send(Uint8Array.of(0, 0, 1)), 'refused: there is no whole frame\n')
  stored = []
  isAllowed = false
  assert.match(await send(frame('a')), /^refused: /)
  assert.deepEqual(stored, [])
  assert.deepEqual(new Set(counted.splice(0).slice(-2)), new Set(['frames 400']))
})
