/** Goal: arrays of the arena are like any others, and their memory is used again. */
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { ARENA_BYTES_MAX } from '../../src/limits.ts'
import { ARENA_SLACK, Arena, ArenaFullError } from '../../workers/kernel/arena.ts'

test('arrays are zeros, apart from each other, with slack after each', () => {
  const arena = new Arena()
  const sizes = [0, 1, 63, 64, 1_000, 70_000, 3_000_000]
  const arrays = sizes.flatMap((size) => [
    arena.int32(size),
    arena.uint8(size),
    arena.float64(size),
    arena.buffer(size),
  ])
  const ranges = arrays.map(({ byteOffset, byteLength }) => [byteOffset, byteOffset + byteLength])
  for (const [i, [start = 0, end = 0]] of ranges.entries()) {
    assert.equal(start % 64, 0)
    for (const [j, [otherStart = 0, otherEnd = 0]] of ranges.entries()) {
      if (i !== j) assert(end + ARENA_SLACK <= otherStart || otherEnd + ARENA_SLACK <= start)
    }
  }
  for (const array of arrays) {
    assert(arena.holds(array))
    assert(array.every((value) => value === 0))
  }
  assert(!arena.holds(new Uint8Array(8)))
  assert(!arena.holds(new Arena().uint8(8)))
})

test('memory that was given back is used again, as zeros', () => {
  const arena = new Arena()
  const first = arena.int32(1_000)
  const address = first.byteOffset
  first.fill(7)
  arena.release(first)
  const bytes = arena.bytes
  const second = arena.int32(900)
  assert.equal(second.byteOffset, address)
  assert(second.every((value) => value === 0))
  assert.equal(arena.bytes, bytes)
  assert.throws(() => arena.release(first), /released once/)
  assert.throws(() => arena.release(new Int32Array(4)), /an array of the arena/)
})

test('arrays keep their contents while the memory grows and they do', () => {
  const arena = new Arena()
  let array = arena.int32(4)
  array.set([1, 2, 3, 4])
  for (let i = 0; i < 18; i++) array = arena.doubled(array)
  assert.equal(array.length, 4 * 2 ** 18)
  assert.deepEqual([...array.subarray(0, 6)], [1, 2, 3, 4, 0, 0])
  assert.equal(arena.roomFor(array.length, array), array)
  assert(arena.roomFor(array.length + 1, array).length > array.length)
  assert(arena.bytes < 64 * 1024 * 1024)
})

test('ARENA_BYTES_MAX: beyond it there is an error that says so', () => {
  const arena = new Arena()
  assert.throws(() => arena.buffer(ARENA_BYTES_MAX), /ARENA_BYTES_MAX/)
  assert.equal(arena.uint8(16).length, 16)
})

test('a system that has no more memory is an error of the same kind', () => {
  const arena = new Arena()
  mock.method(arena.memory, 'grow', () => {
    throw new RangeError('unable to grow')
  })
  assert.throws(() => arena.buffer(1_000_000), ArenaFullError)
  mock.restoreAll()
  assert.equal(arena.buffer(1_000_000).length, 1_000_000)
})
