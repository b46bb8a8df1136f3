/**
 * Goal: a message that a listener added is committed or told as lost; what is refused for now is
 * sent again, in order and without a crowd; trickles do not make memory of their own.
 * Method: the queue on an ingest whose answers are given by hand; timers are the test's.
 */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { Refusal } from '../../../../src/accept/admission/refusal-history.ts'
import type { IngestDeps } from '../../../../src/accept/request/ingest.ts'
import { SYSLOG_WAIT_MS, SyslogQueue } from '../../../../src/accept/surfaces/syslog/syslog-queue.ts'
import { peerOf } from '../../../../src/accept/surfaces/syslog/syslog-record.ts'
import { IngestError, OutcomeUnknownError } from '../../../../src/errors.ts'
import { InFlight } from '../../../../src/http/in-flight.ts'
import { IN_FLIGHT_BYTES_MAX, SYSLOG_QUEUE_BYTES_MAX } from '../../../../src/limits.ts'
import { stream } from '../../batching/batcher-harness.ts'

interface Sent {
  readonly text: string
  readonly store: () => void
  readonly fail: (cause: Error) => void
}

const PEER = peerOf('::ffff:10.0.0.1')
const sent: Sent[] = []
const dropped: string[] = []
const refused: Refusal[] = []
let budget: IngestError | undefined
let gone: IngestError | undefined
let rooms = 0
const nothing = () => undefined
const result = { accepted: 1, rejected: 0, repaired: 0, acceptedBytes: 1, items: 1, lines: 1 }
const batcher = {
  submitShared: (_stream: unknown, { bytes }: { readonly bytes: Uint8Array }) => {
    return new Promise((resolve, fail) => {
      const text = Buffer.from(bytes)
        .toString('latin1')
        .replace(/[^ -~]+/g, '|')
      const placed = { result: { ...result, rejects: [], rejectedByCode: {} }, segmentIds: [] }
      sent.push({ text, store: () => resolve(placed), fail })
    })
  },
}
const deps = {
  batcher,
  inFlight: new InFlight(IN_FLIGHT_BYTES_MAX),
  meter: {
    onReply: nothing,
    onAcknowledged: nothing,
    onJudged: nothing,
    onRefused: (refusal: Refusal) => void refused.push(refusal),
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

function createQueue(): SyslogQueue {
  return new SyslogQueue({
    deps,
    sender: async () => {
      if (gone !== undefined) throw gone
      return { stream: stream(1), isCurrent: () => true, confirm: async () => undefined }
    },
    options: { timeZone: 'UTC' },
    onRoom: () => void rooms++,
    onDropped: (messages, { message }) => void dropped.push(`${messages} ${message}`),
  })
}

beforeEach(() => {
  for (const list of [sent, dropped, refused]) list.length = 0
  budget = undefined
  gone = undefined
  rooms = 0
})

const add = (queue: SyslogQueue, text: string) => queue.add(PEER, Buffer.from(text), false)
/** Lets promises settle. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

test('messages wait for others, then go as one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const queue = createQueue()
  add(queue, '<1>a')
  t.mock.timers.tick(SYSLOG_WAIT_MS - 1)
  add(queue, '<1>b')
  await settle()
  assert.equal(sent.length, 0)
  t.mock.timers.tick(1)
  await settle()
  assert.equal(sent.length, 1)
  assert.match(sent[0]!.text, /10\.0\.0\.1<1>a.*10\.0\.0\.1<1>b/)
  assert.ok(queue.bytes > 0)
  sent[0]!.store()
  await settle()
  assert.equal(queue.bytes, 0)
})

test('what is refused is sent again, the oldest first, and nothing beside it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const queue = createQueue()
  for (const text of ['<1>a', '<1>b', '<1>c']) {
    add(queue, text)
    t.mock.timers.tick(SYSLOG_WAIT_MS)
    await settle()
  }
  assert.equal(sent.length, 3)
  budget = new IngestError('rate_limited', 'slower', { retryAfterSeconds: 7 })
  for (const { fail } of sent.splice(0)) fail(budget)
  await settle()
  add(queue, '<1>d')
  t.mock.timers.tick(6_999)
  await settle()
  assert.equal(refused.length, 3)
  assert.equal(refused[0]!.events, 1)
  t.mock.timers.tick(1)
  await settle()
  assert.equal(refused.length, 4, 'one is tried')
  budget = undefined
  t.mock.timers.tick(7_000)
  await settle()
  assert.deepEqual(
    sent.map(({ text }) => text.slice(-1)),
    ['a'],
  )
  sent[0]!.store()
  await settle()
  assert.deepEqual(
    sent.map(({ text }) => text.slice(-1)),
    ['a', 'b', 'c', 'd'],
  )
  for (const { store } of sent) store()
  await settle()
  assert.equal(queue.bytes, 0)
  assert.deepEqual(dropped, [])
})

test('while nothing gets in, a trickle gathers in one batch', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const queue = createQueue()
  budget = new IngestError('rate_limited', 'slower', { retryAfterSeconds: 60 })
  for (let i = 0; i < 100; i++) {
    add(queue, `<1>${i}`)
    t.mock.timers.tick(SYSLOG_WAIT_MS)
    await settle()
  }
  budget = undefined
  t.mock.timers.tick(60_000)
  await settle()
  sent[0]!.store()
  await settle()
  assert.equal(sent.length, 2)
  assert.equal(sent[1]!.text.match(/10\.0\.0\.1/g)?.length, 99)
})

test('of an unknown outcome it is sent again; what is no good is told as lost', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const queue = createQueue()
  add(queue, '<1>a')
  t.mock.timers.tick(SYSLOG_WAIT_MS)
  await settle()
  sent[0]!.fail(new OutcomeUnknownError())
  await settle()
  t.mock.timers.tick(1_000)
  await settle()
  assert.equal(sent.length, 2)
  sent[1]!.fail(new IngestError('internal', 'a fault'))
  await settle()
  assert.deepEqual(dropped, ['1 a fault'])
  gone = new IngestError('not_found', 'deleted')
  add(queue, '<1>b')
  t.mock.timers.tick(SYSLOG_WAIT_MS)
  await settle()
  assert.deepEqual(dropped, ['1 a fault', '1 deleted'])
  assert.equal(queue.bytes, 0)
})

test('it is full at its bound, and says when there is room again', async () => {
  const queue = createQueue()
  const message = Buffer.alloc(60_000)
  while (!queue.isFull) queue.add(PEER, message, false)
  assert.ok(queue.bytes >= SYSLOG_QUEUE_BYTES_MAX)
  assert.equal(queue.mustWait, true)
  assert.ok(queue.bytes < SYSLOG_QUEUE_BYTES_MAX + 2 * message.length)
  gone = new IngestError('not_found', 'deleted')
  await queue.stop(0)
  assert.equal(queue.bytes, 0)
  assert.equal(queue.isFull, false)
  assert.equal(rooms, 1)
})

test('much in one turn of the event loop must wait for the next one', async () => {
  await settle()
  rooms = 0
  const queue = createQueue()
  const message = Buffer.alloc(60_000)
  for (let i = 0; i < 17; i++) queue.add(PEER, message, false)
  assert.equal(queue.mustWait, false)
  queue.add(PEER, message, false)
  assert.deepEqual([queue.mustWait, queue.isFull], [true, false])
  await settle()
  assert.deepEqual([queue.mustWait, rooms], [false, 1])
  gone = new IngestError('not_found', 'deleted')
  await queue.stop(0)
})

test('a stop commits what is there, and tells what is not committed in time', async () => {
  const queue = createQueue()
  add(queue, '<1>a')
  const stopped = queue.stop(60_000)
  await settle()
  sent[0]!.store()
  await stopped
  assert.deepEqual(dropped, [])
  const other = createQueue()
  budget = new IngestError('overloaded', 'full')
  add(other, '<1>b')
  await other.stop(10)
  assert.deepEqual(dropped, ['1 the service stopped before it was committed'])
})
