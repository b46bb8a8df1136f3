/**
 * Goal: small requests share batches without mixing their outcomes; buffers come back once, and
 * never while a thread may still use them.
 * Method: a fake pool that is answered by hand, with the worker's real code for the answers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestError } from '../../../src/errors.ts'
import { BATCH_BYTES_TARGET, BATCH_PARTS_MAX } from '../../../src/limits.ts'
import { bytes, setUp, stream, turn, wholePart } from './batcher-harness.ts'

test('requests of one stream and turn share a batch; each gets its own result', async () => {
  const { pool, commits, batcher, buffers } = setUp()
  const results = [
    batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":1}\n{"a":2}'))),
    batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"bad\n{"a":3}\n'))),
    batcher.submitShared(stream(1), wholePart('array', bytes('{"a":4},7'))),
    batcher.submitShared(stream(1), wholePart('document', bytes('{"a":\n5}'))),
    batcher.submitShared(stream(1), wholePart('array', bytes('{"a":6},{"a"'))),
    batcher.submitShared(stream(1), wholePart('ndjson', bytes('\n \n'))),
    batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":7}'))),
  ]
  await turn()
  assert.equal(pool.tasks.length, 1)
  const { settings, receivedAtMs, parts } = pool.work()
  assert.deepEqual(settings, {
    parseUserAgents: true,
    redactSensitive: false,
    redactFields: ['a.b'],
    otlpContext: 'drop',
    textFields: [],
  })
  assert.deepEqual([receivedAtMs, parts.length], [1_234, 7])
  // A request with nothing to store does not wait for the commit.
  assert.equal((await results[4])?.result.fatal?.code, 'malformed')
  assert.equal((await results[5])?.result.items, 0)
  assert.deepEqual(commits[0]?.texts, ['{"a":1}\n{"a":2}\n{"a":3}\n{"a":4}\n{"a": 5}\n{"a":7}\n'])
  let isSettled = false
  void results[0]?.then(() => {
    isSettled = true
  })
  await turn()
  assert.equal(isSettled, false, 'acknowledged before the commit')
  commits[0]?.resolve()
  const placed = await Promise.all(results)
  const counts = placed.map(({ result }) => [result.accepted, result.rejected])
  assert.deepEqual(
    placed.map(({ segmentIds, firstEvent }) => [segmentIds.length, firstEvent]),
    [
      [1, 0],
      [1, 2],
      [1, 3],
      [1, 4],
      [0, 0],
      [0, 0],
      [1, 5],
    ],
  )
  assert.deepEqual(counts, [
    [2, 0],
    [1, 1],
    [1, 1],
    [1, 0],
    [0, 0],
    [0, 0],
    [1, 0],
  ])
  // Block and payload are still in use: committer and materializer give them back.
  assert.equal(buffers.out.size, 2)
})

test('other streams, text and later turns have batches of their own', async () => {
  const { pool, batcher } = setUp()
  void batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":1}')))
  void batcher.submitShared(stream(2), wholePart('ndjson', bytes('{"a":2}')))
  void batcher.submitShared(stream(1), wholePart('text', bytes('line')))
  await turn()
  void batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":3}')))
  await turn()
  const seen = pool.tasks.map(({ batch }) => [
    batch.streamId,
    batch.parts.map((part) => part.framing),
  ])
  assert.deepEqual(seen, [
    [1, ['ndjson']],
    [2, ['ndjson']],
    [1, ['text']],
    [1, ['ndjson']],
  ])
})

test('a busy pool lets requests gather; a free thread takes them', async () => {
  const { pool, batcher } = setUp()
  void batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":1}')))
  await turn()
  pool.hasIdleThread = false
  for (let i = 0; i < 5; i++) {
    void batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":2}')))
    await turn()
  }
  assert.equal(pool.tasks.length, 1)
  pool.hasIdleThread = true
  pool.work()
  await turn()
  await turn()
  assert.deepEqual(
    pool.tasks.map(({ batch }) => batch.parts.length),
    [5],
  )
})

test('with a busy pool, all shared batches hold a single slot in its queue', async () => {
  const { pool, batcher, commits } = setUp()
  pool.hasIdleThread = false
  const first = batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":1}')))
  const other = batcher.submitShared(stream(2), wholePart('ndjson', bytes('{"a":2}')))
  await turn()
  const late = batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":3}')))
  await turn()
  assert.deepEqual([pool.tasks.length, pool.turns.length], [0, 1])
  pool.turns.shift()!() // A thread is free: it takes what has gathered until now.
  assert.deepEqual(
    pool.tasks.map(({ batch }) => batch.parts.length),
    [2],
  )
  await turn()
  assert.equal(pool.turns.length, 1, 'the next stream stands in line by itself')
  pool.turns.shift()!()
  pool.work()
  pool.work()
  await turn()
  for (const { resolve } of commits) resolve()
  const results = await Promise.all([first, other, late])
  assert(results.every(({ result }) => result.accepted === 1))
  await turn()
  assert.equal(pool.turns.length, 0)
})

test('a turn that finds nothing left to do is given back', async () => {
  const { pool, batcher } = setUp()
  pool.hasIdleThread = false
  void batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":1}')))
  await turn()
  pool.hasIdleThread = true
  batcher.threadIdle()
  await turn()
  assert.deepEqual([pool.tasks.length, pool.turns.length], [1, 1])
  pool.turns.shift()!()
  assert.equal(pool.tasks.length, 1)
})

test('a shared batch holds BATCH_PARTS_MAX requests, then another begins', async () => {
  const { pool, batcher } = setUp()
  pool.hasIdleThread = false
  for (let i = 0; i <= BATCH_PARTS_MAX; i++)
    void batcher.submitShared(stream(1), wholePart('text', bytes('x')))
  assert.deepEqual(
    pool.tasks.map(({ batch }) => batch.parts.length),
    [BATCH_PARTS_MAX],
  )
})

test('a shared batch holds BATCH_BYTES_TARGET bytes, then another begins', async () => {
  const { pool, batcher, commits } = setUp()
  pool.hasIdleThread = false
  const line = `{"a":"${'x'.repeat(60_000)}"}`
  const fits = Math.floor(BATCH_BYTES_TARGET / (line.length + 1))
  const results = Array.from({ length: fits + 1 }, () => {
    return batcher.submitShared(stream(1), wholePart('ndjson', bytes(line)))
  })
  assert.deepEqual(
    pool.tasks.map(({ batch }) => batch.parts.length),
    [fits],
  )
  pool.hasIdleThread = true
  pool.work()
  await turn()
  await turn()
  pool.work()
  await turn()
  for (const { resolve } of commits) resolve()
  assert((await Promise.all(results)).every(({ result }) => result.accepted === 1))
})

test('a failure of the pool fails only its requests, and its buffers are not reused', async () => {
  const { pool, batcher, buffers, commits } = setUp()
  const failing = batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":1}')))
  await turn()
  const task = pool.tasks.shift()!
  task.reject(new IngestError('internal', 'died'))
  await assert.rejects(failing, /died/)
  assert.equal(buffers.out.size, 3)
  const next = batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":2}')))
  await turn()
  assert.notEqual(pool.tasks[0]?.batch.bytes.buffer, task.batch.bytes.buffer)
  pool.work()
  await turn()
  commits[0]?.resolve()
  assert.equal((await next).result.accepted, 1)
})

test('a failed commit fails the requests that had events in it', async () => {
  const { pool, batcher, failCommits } = setUp()
  failCommits(new IngestError('unavailable', 'away'))
  const stored = batcher.submitShared(stream(1), wholePart('ndjson', bytes('{"a":1}')))
  const empty = batcher.submitShared(stream(1), wholePart('ndjson', bytes('x')))
  stored.catch(() => undefined)
  await turn()
  pool.work()
  assert.equal((await empty).result.rejected, 1)
  await assert.rejects(stored, /away/)
})

test('a large request has a batch of its own; what the worker did not use comes back', async () => {
  const { pool, batcher, buffers } = setUp()
  const parts = ['{"a":1}\n', '{"a":2}\nx\n', 'y\n'].map((text) => {
    const buffer = batcher.buffers.take(text.length)
    buffer.set(bytes(text))
    const part = { buffer, framing: 'ndjson', start: 0, end: text.length, linesBefore: 0 } as const
    return batcher.encodeOwn(stream(1), part)
  })
  while (pool.tasks.length > 0) pool.work()
  const encoded = await Promise.all(parts)
  assert.deepEqual(
    encoded.map((each) => each?.segments.length),
    [1, 1, 0],
  )
  assert.equal(buffers.out.size, 4)
  for (const { payload, block } of encoded.flatMap((each) => each?.segments ?? [])) {
    buffers.releaseView(payload)
    buffers.releaseView(block.bytes)
  }
  assert.equal(buffers.out.size, 0)
})

test('items of a large bulk request are in a buffer that comes back to us', async () => {
  const { pool, batcher, buffers } = setUp()
  const action = '{"create":{"_id":"mine"}}\n{"a":1}\n'
  // The estimate is for documents of usual size: this many tiny ones do not fit.
  const [usual, tiny] = await Promise.all(
    [`${action}{"create":{}}\n{"text":"${'x'.repeat(400)}"}\n`, action.repeat(200)].map((text) => {
      const buffer = batcher.buffers.take(text.length)
      buffer.set(bytes(text))
      const part = { buffer, framing: 'bulk', start: 0, end: text.length, linesBefore: 0 } as const
      const encoded = batcher.encodeOwn(stream(1), part, { hasItems: true })
      pool.work()
      return encoded
    }),
  )
  const json = usual?.parts[0]?.bulkItems?.json
  assert(json !== undefined && json.buffer instanceof SharedArrayBuffer)
  assert.equal(JSON.parse(`[${Buffer.from(json).toString()}]`)[0].create._id, 'mine')
  assert(buffers.out.has(json.buffer))
  buffers.releaseView(json)
  assert(!(tiny?.parts[0]?.bulkItems?.json.buffer instanceof SharedArrayBuffer))
  for (const { payload, block } of [usual, tiny].flatMap((each) => each?.segments ?? [])) {
    buffers.releaseView(payload)
    buffers.releaseView(block.bytes)
  }
  assert.equal(buffers.out.size, 0)
})

test('a request under new settings does not join a batch under old ones', async () => {
  const { pool, batcher } = setUp()
  pool.hasIdleThread = false
  const before = stream(1)
  const redacting = { ...before, redactSensitive: true, redactFields: ['password'] }
  for (const each of [before, { ...before }, redacting, { ...redacting }, before]) {
    void batcher.submitShared(each, wholePart('ndjson', bytes('{"password":"x"}')))
  }
  assert.deepEqual(
    pool.tasks.map(({ batch }) => [batch.settings.redactSensitive, batch.parts.length]),
    [
      [false, 2],
      [true, 2],
    ],
  )
  pool.turns.length = 0
})
