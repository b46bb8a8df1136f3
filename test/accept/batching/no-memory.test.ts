/**
 * Goal: when memory runs out, only the requests that needed it fail, with an error after which
 * their senders retry: no request waits for ever, no thread and no buffer is lost.
 * Method: buffers that run out after a given number, and a pool that is answered by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestError } from '../../../src/errors.ts'
import { BATCH_BYTES_TARGET } from '../../../src/limits.ts'
import { bytes, setUp, stream, turn, wholePart } from './batcher-harness.ts'

const WAIT_MS = 2_000

/** Fails soon when a request gets no answer, rather than at the whole test's timeout. */
async function refusedWith(code: string, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise((resolve) => {
    timer = setTimeout(resolve, WAIT_MS, 'nobody was told')
  })
  try {
    const told = await Promise.race([promise, silence]).catch((error: unknown) => error)
    assert(told instanceof IngestError, String(told))
    assert.equal(told.code, code)
  } finally {
    clearTimeout(timer)
  }
}

for (const [name, hasIdleThread] of [
  ['at once', true],
  ['in its turn', false],
] as const) {
  // A batch of one stream takes a block and a payload.
  for (const takes of [0, 1]) {
    test(`a task made ${name}: no memory after ${takes} buffers`, async () => {
      const { pool, batcher, buffers, commits } = setUp()
      pool.hasIdleThread = hasIdleThread
      const failing = batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":1}')))
      failing.catch(() => undefined)
      buffers.takesLeft = takes
      await turn()
      for (const give of pool.turns.splice(0)) give()
      await refusedWith('overloaded', failing)
      assert.deepEqual([pool.tasks.length, buffers.out.size], [0, 0])
      buffers.takesLeft = Number.POSITIVE_INFINITY
      const next = batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":2}')))
      await turn()
      for (const give of pool.turns.splice(0)) give()
      pool.work()
      await turn()
      commits[0]?.resolve()
      assert.equal((await next).result.accepted, 1)
    })
  }
}

test('a task of several streams: each gets the error, and nothing is kept', async () => {
  // The batch of both, its block and its payload.
  for (const takes of [0, 1, 2]) {
    const { pool, batcher, buffers } = setUp(() => false)
    pool.hasIdleThread = false
    const streams = [2, 3].map((id) => {
      return batcher.submitShared(stream(id), wholePart('ndjson', bytes('{"a":1}')))
    })
    for (const each of streams) each.catch(() => undefined)
    await turn()
    buffers.takesLeft = takes
    for (const give of pool.turns.splice(0)) give()
    for (const each of streams) await refusedWith('overloaded', each)
    assert.deepEqual([pool.tasks.length, buffers.out.size], [0, 0])
  }
})

test('a full batch is handed on: its requests get results, the new one is accepted', async () => {
  const { pool, batcher, buffers } = setUp()
  pool.hasIdleThread = false
  const line = `{"a":"${'x'.repeat(60_000)}"}`
  const fits = Math.floor(BATCH_BYTES_TARGET / (line.length + 1))
  const full = Array.from({ length: fits }, () => {
    return batcher.submitShared(stream(1), wholePart('ndjson', bytes(line)))
  })
  for (const each of full) each.catch(() => undefined)
  buffers.takesLeft = 0
  assert.throws(() => batcher.submitShared(stream(1), wholePart('ndjson', bytes(line))), RangeError)
  for (const each of full) await refusedWith('overloaded', each)
  buffers.takesLeft = Number.POSITIVE_INFINITY
  void batcher.submitShared(stream(1), wholePart('ndjson', bytes(line)))
  assert.deepEqual([pool.tasks.length, buffers.out.size], [0, 1])
})

test("a large request's batch: it fails, and its buffer is used again", async () => {
  const { batcher, buffers } = setUp()
  const buffer = buffers.take(8)
  buffer.set(bytes('{"a":1}\n'))
  buffers.takesLeft = 1
  const part = { buffer, framing: 'ndjson', start: 0, end: 8, linesBefore: 0 } as const
  await refusedWith('overloaded', batcher.encodeOwn(stream(1), part))
  assert.equal(buffers.out.size, 0)
})

test('an invalid result fails its requests', async () => {
  const { pool, batcher } = setUp()
  const failing = batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":1}')))
  await turn()
  pool.tasks.shift()!.resolve({ segments: [] } as never)
  await assert.rejects(failing, TypeError)
})
