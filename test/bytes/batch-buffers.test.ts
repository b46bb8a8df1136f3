/** Goal: buffers are used again, and what a load needed that is over is given up. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BATCH_PADDING, BatchBuffers } from '../../src/bytes/batch-buffers.ts'

const BATCH_BYTES = 768 * 1024
const SIZES = [1, 50_000, 150_000, 400_000, BATCH_BYTES]

function takeAll(buffers: BatchBuffers, times: number): Uint8Array[] {
  return SIZES.flatMap((size) => Array.from({ length: times }, () => buffers.take(size)))
}

test('a buffer has room for the data and the padding, and comes back when it is released', () => {
  const buffers = new BatchBuffers(BATCH_BYTES)
  for (const size of SIZES) {
    const buffer = buffers.take(size)
    assert(buffer.length >= size + BATCH_PADDING)
    buffers.release(buffer)
    assert.equal(buffers.take(size), buffer)
  }
  const odd = buffers.take(2 * BATCH_BYTES)
  buffers.release(odd)
  assert.notEqual(buffers.take(2 * BATCH_BYTES), odd, 'sizes of no class are not kept')
})

test('no more are kept than a class may have', () => {
  const buffers = new BatchBuffers(BATCH_BYTES)
  for (const buffer of takeAll(buffers, 2_000)) buffers.release(buffer)
  assert(buffers.idleBytes > 0 && buffers.idleBytes < 96 * 1024 * 1024, `${buffers.idleBytes}`)
})

test('BUFFERS_IDLE_MS: what was not used between two trims is given up, the rest is kept', () => {
  const buffers = new BatchBuffers(BATCH_BYTES)
  for (const buffer of takeAll(buffers, 10)) buffers.release(buffer)
  const all = buffers.idleBytes
  buffers.trim()
  assert.equal(buffers.idleBytes, all, 'they were in use since the time before')
  const used = takeAll(buffers, 3)
  for (const buffer of used) buffers.release(buffer)
  buffers.trim()
  assert.equal(buffers.idleBytes, (all * 3) / 10)
  const known = new Set(used)
  const again = takeAll(buffers, 3)
  assert(again.every((buffer) => known.has(buffer)))
  for (const buffer of again) buffers.release(buffer)
  buffers.trim()
  buffers.trim()
  assert.equal(buffers.idleBytes, 0, 'nobody needs any')
})
