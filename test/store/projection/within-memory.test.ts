/**
 * Goal: a read that is out of memory runs again, in smaller blocks and the time that is left, and
 * whoever asked hears what it was about. Method: a read of the test's own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { IngestError } from '../../../src/errors.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { MEMORY_LIMIT_EXCEEDED, TIMEOUT_EXCEEDED } from '../../../src/store/clickhouse-codes.ts'
import { toQueryError } from '../../../src/store/projection/query-bounds.ts'
import { type ReadBlocks, WithinMemory } from '../../../src/store/projection/within-memory.ts'
import { StoreError } from '../../../src/store/store-error.ts'

const failure = (clickHouseCode: number) => {
  return new StoreError('unavailable', 'of the engine', { clickHouseCode })
}

const STREAMS = [7, 8].map((id) => ({ streamId: id as StreamId }))
const [ONE] = STREAMS.map((stream) => [stream])
const sizeOf = (blocks: ReadBlocks) => ('max_block_size' in blocks ? blocks.max_block_size : '')

/** A read that fails so often; what it was called with. */
function failing(times: number, code = MEMORY_LIMIT_EXCEEDED, takesMs = 0) {
  const sizes: string[] = []
  const leftMs: number[] = []
  const read = async (blocks: ReadBlocks, timeoutMs: number) => {
    sizes.push(sizeOf(blocks))
    leftMs.push(timeoutMs)
    await sleep(takesMs)
    if (sizes.length <= times) throw failure(code)
    return 'rows'
  }
  return { sizes, leftMs, read }
}

test('out of memory: again in smaller blocks, in the time that is left', async () => {
  const { sizes, leftMs, read } = failing(2, MEMORY_LIMIT_EXCEEDED, 20)
  assert.equal(await new WithinMemory().run(ONE!, 1_000, read), 'rows')
  assert.deepEqual(sizes, ['', '2048', '64'])
  assert.ok(leftMs[0]! > 990 && leftMs[1]! <= 985 && leftMs[2]! <= 970, String(leftMs))
})

test('the next reads of the stream begin with smaller blocks, others do not', async () => {
  const memory = new WithinMemory()
  for (const [fails, expected] of [
    [1, ['', '2048']],
    [0, ['2048']],
    [1, ['2048', '64']],
    [0, ['2048']], // The smallest are for the reads that need them.
  ] as const) {
    const { sizes, read } = failing(fails)
    await memory.run(ONE!, 1_000, read)
    assert.deepEqual(sizes, expected)
  }
  const both = failing(1)
  await memory.run(STREAMS, 1_000, both.read)
  assert.deepEqual(both.sizes, ['2048', '64'])
  const other = failing(0)
  await memory.run(STREAMS.slice(1), 1_000, other.read)
  assert.deepEqual(other.sizes, [''], 'of several it is not known which one it was')
})

test('what always fails, for another reason or without time left is thrown', async () => {
  for (const [times, code, timeoutMs, expected] of [
    [9, MEMORY_LIMIT_EXCEEDED, 1_000, 3],
    [1, TIMEOUT_EXCEEDED, 1_000, 1],
    [1, MEMORY_LIMIT_EXCEEDED, 5, 1],
  ] as const) {
    const { sizes, read } = failing(times, code, 10)
    const run = new WithinMemory().run(ONE!, timeoutMs, read)
    await assert.rejects(run, { clickHouseCode: code })
    assert.equal(sizes.length, expected)
  }
})

test('the client hears whether time or memory was short', () => {
  for (const [code, reason] of [
    [TIMEOUT_EXCEEDED, 'timeout'],
    [MEMORY_LIMIT_EXCEEDED, 'memory'],
  ] as const) {
    const told = toQueryError(failure(code), { timeoutMs: 100 })
    assert.ok(told instanceof IngestError)
    assert.deepEqual([told.code, told.members], ['unavailable', { reason }])
  }
})
