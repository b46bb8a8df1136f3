/** Goal: a reply's buffer is used again once it was given back, and not before; few are kept. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReplyBuffers } from '../../src/bytes/reply-buffers.ts'

const KIB = 1024

test('buffers in use are apart; one that was given back is used again', () => {
  const buffers = new ReplyBuffers()
  const first = buffers.take(100 * KIB)
  const second = buffers.take(100 * KIB)
  assert.notEqual(first.buffer, second.buffer)
  buffers.release(first.subarray(0, 70 * KIB))
  const third = buffers.take(90 * KIB)
  assert.equal(third.buffer, first.buffer)
  assert.equal(third.length, 128 * KIB)
  assert.notEqual(buffers.take(90 * KIB).buffer, first.buffer)
})

test('very large ones are not kept, nor more of any size than are of use', () => {
  const buffers = new ReplyBuffers()
  const huge = buffers.take(5 * KIB * KIB)
  assert.equal(huge.length, 5 * KIB * KIB)
  buffers.release(huge)
  assert.notEqual(buffers.take(5 * KIB * KIB).buffer, huge.buffer)
  const taken = Array.from({ length: 8 }, () => buffers.take(1000 * KIB))
  for (const each of taken) buffers.release(each)
  const known = new Set(taken.map(({ buffer }) => buffer))
  const again = Array.from({ length: 8 }, () => buffers.take(1000 * KIB))
  assert.equal(again.filter(({ buffer }) => known.has(buffer)).length, 4)
})
