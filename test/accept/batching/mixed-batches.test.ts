/**
 * Goal: small batches of several streams share a task, and each request learns of its own events;
 * streams that must not be mixed are not; a stream that kills a worker fails alone.
 * Method: as in `batcher.test.ts`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BATCH_PADDING } from '../../../src/bytes/batch-buffers.ts'
import { IngestError } from '../../../src/errors.ts'
import { BATCH_BYTES_TARGET, MIX_STREAM_BYTES_MAX } from '../../../src/limits.ts'
import type { Stream } from '../../../src/model/stream.ts'
import { bytes, setUp, stream, type Task, turn, wholePart } from './batcher-harness.ts'

const mixable = (id: number, settings: Partial<Stream> = {}): Stream => {
  return { ...stream(id), parseUserAgents: false, ...settings }
}
const owners = ({ batch }: Task) => batch.owners?.map((owner) => [owner.streamId, owner.parts])

test('small batches of several streams go as one; each learns of its own run', async () => {
  const { pool, batcher, commits, buffers } = setUp(() => false)
  const results = [
    batcher.submitShared(mixable(2), wholePart('ndjson', bytes('{"a":1}\n{"a":2}'))),
    batcher.submitShared(mixable(3), wholePart('ndjson', bytes('{"bad'))),
    batcher.submitShared(mixable(4), wholePart('ndjson', bytes('{"a":3}'))),
    batcher.submitShared(mixable(2), wholePart('ndjson', bytes('{"a":4}'))),
  ]
  await turn()
  assert.deepEqual(pool.tasks.map(owners), [
    [
      [2, 2],
      [3, 1],
      [4, 1],
    ],
  ])
  pool.work()
  assert.equal((await results[1])?.result.rejected, 1, 'nothing to wait for')
  assert.deepEqual(commits[0]?.texts, ['{"a":1}\n{"a":2}\n{"a":4}\n{"a":3}\n'])
  commits[0]?.resolve()
  const placed = await Promise.all(results)
  assert.deepEqual(
    placed.map(({ segmentIds, firstEvent, result }) => [segmentIds, firstEvent, result.accepted]),
    [
      [[0n], 0, 2],
      [[], 0, 0],
      [[1n], 0, 1],
      [[0n], 2, 1],
    ],
  )
  assert.equal(buffers.out.size, 2, 'block and payload')
})

test('streams with other settings or user agents, and large batches, are not mixed', async () => {
  const { pool, batcher } = setUp((streamId) => streamId === 9)
  const large = bytes(`{"a":"${'x'.repeat(MIX_STREAM_BYTES_MAX)}"}`)
  const redacting = { redactSensitive: true }
  const submit = (each: Stream, body = bytes('{"a":1}')) => {
    void batcher.submitShared(each, wholePart('ndjson', body))
  }
  submit(mixable(2))
  submit(mixable(3, redacting))
  submit(stream(1))
  submit(mixable(4), large)
  void batcher.submitShared(mixable(5), wholePart('text', bytes('line')))
  submit(mixable(6, { ...redacting, redactFields: ['c'] }))
  submit(mixable(9))
  submit(mixable(7))
  submit(mixable(8, redacting))
  submit(mixable(10, { textFields: ['title'] }))
  await turn()
  const seen = pool.tasks.map((task) => owners(task) ?? task.batch.streamId)
  assert.deepEqual(seen, [
    [
      [2, 1],
      [7, 1],
    ],
    [
      [3, 1],
      [8, 1],
    ],
    [[1, 1]],
    [[4, 1]],
    [[5, 1]],
    [[6, 1]],
    9,
    [[10, 1]],
  ])
  const settings = pool.tasks.map(({ batch }) => batch.settings.redactSensitive)
  assert.deepEqual(settings, [false, true, false, false, false, true, false, false])
})

test('a large request goes where its stream goes', async () => {
  const { pool, batcher } = setUp((streamId) => streamId === 9)
  for (const id of [2, 9]) {
    const buffer = batcher.buffers.take(8)
    buffer.set(bytes('{"a":1}'))
    const part = { buffer, framing: 'ndjson', start: 0, end: 7, linesBefore: 0 } as const
    void batcher.encodeOwn(mixable(id), part)
  }
  assert.deepEqual(
    pool.tasks.map((task) => owners(task) ?? task.batch.streamId),
    [[[2, 1]], 9],
  )
})

test('a mixed batch holds BATCH_BYTES_TARGET bytes; the rest are in the next', async () => {
  const { pool, batcher } = setUp(() => false)
  const line = bytes(`{"a":"${'x'.repeat(MIX_STREAM_BYTES_MAX - 100)}"}`)
  const fits = Math.floor(BATCH_BYTES_TARGET / (line.length + 1))
  for (let id = 2; id < fits + 4; id++) {
    void batcher.submitShared(mixable(id), wholePart('ndjson', line))
  }
  await turn()
  assert.deepEqual(
    pool.tasks.map(({ batch }) => batch.owners?.length),
    [fits, 2],
  )
  assert(pool.tasks.every(({ batch }) => batch.bytes.length <= BATCH_BYTES_TARGET + BATCH_PADDING))
})

test('a mixed batch that kills its worker is tried stream by stream', async () => {
  const { pool, batcher, commits } = setUp(() => false)
  const good = batcher.submitShared(mixable(2), wholePart('ndjson', bytes('{"a":1}')))
  const bad = batcher.submitShared(mixable(3), wholePart('ndjson', bytes('{"a":2}')))
  await turn()
  pool.tasks.shift()!.reject(new IngestError('internal', 'died'))
  await turn()
  assert.deepEqual(pool.tasks.map(owners), [[[2, 1]], [[3, 1]]])
  pool.work()
  pool.tasks.shift()!.reject(new IngestError('internal', 'died'))
  await assert.rejects(bad, /died/)
  commits[0]?.resolve()
  assert.equal((await good).result.accepted, 1)
})

test('a mixed batch that the pool or commit refuses is refused, not tried again', async () => {
  const { pool, batcher, failCommits } = setUp(() => false)
  const full = [2, 3].map((id) =>
    batcher.submitShared(mixable(id), wholePart('ndjson', bytes('{"a":1}'))),
  )
  await turn()
  pool.tasks.shift()!.reject(new IngestError('overloaded', 'full'))
  for (const each of full) await assert.rejects(each, /full/)
  failCommits(new IngestError('internal', 'broken'))
  const lost = [2, 3].map((id) =>
    batcher.submitShared(mixable(id), wholePart('ndjson', bytes('{"a":1}'))),
  )
  await turn()
  pool.work()
  for (const each of lost) await assert.rejects(each, /broken/)
  assert.equal(pool.tasks.length, 0)
})
