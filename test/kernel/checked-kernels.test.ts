/**
 * Goal: with the checked build, a kernel that leaves its memory throws, where the service's would
 * read or write what is another's.
 * Method: calls with lengths and addresses that are wrong, and with the greatest that are right;
 * for the checks themselves a module made by hand, with each instruction that accesses memory.
 */
import './checked-kernels.ts'

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ARENA_SLACK, arena } from '../../workers/kernel/arena.ts'
import { BatchBytes } from '../../workers/kernel/batch-bytes.ts'
import { ByteWriter } from '../../workers/kernel/byte-writer.ts'
import { type Kernels, kernels } from '../../workers/kernel/kernels.ts'
import { KernelAccessError } from './checked-kernels.ts'
import { checkedModule } from './checked-module.ts'

const BYTES = 1_000
const code = readFileSync(new URL('../../workers/kernel/kernels.wasm', import.meta.url))

function throwsAccess(call: () => unknown, message: RegExp): void {
  assert.throws(call, (error: Error) => {
    assert(error instanceof KernelAccessError, String(error))
    assert.match(error.message, message)
    return true
  })
}

test('a kernel that writes or reads past an array and its slack throws', () => {
  const [to, from] = [arena.uint8(BYTES), arena.uint8(2 * BYTES)]
  kernels.copyBytes(to.byteOffset, from.byteOffset, BYTES + ARENA_SLACK)
  throwsAccess(
    () => kernels.copyBytes(to.byteOffset, from.byteOffset, BYTES + ARENA_SLACK + 1),
    /^copyBytes writes 1065 bytes at \d+, which end 65 bytes behind an array$/,
  )
  const far = arena.uint8(4 * BYTES)
  throwsAccess(
    () => kernels.copyBytes(far.byteOffset, from.byteOffset, 2 * BYTES + ARENA_SLACK + 1),
    /^copyBytes reads/,
  )
})

test('every way of access is checked: words, vectors, lanes', () => {
  const text = arena.uint8(BYTES).fill(0x61)
  const out = arena.uint8(BYTES).fill(0x61)
  const [from, to] = [text.byteOffset, out.byteOffset]
  const past = BYTES + 2 * ARENA_SLACK
  throwsAccess(() => kernels.hashText(from, past), /^hashText reads 8 bytes/)
  throwsAccess(() => kernels.isSameText(from, to, past), /^isSameText reads 16 bytes/)
  throwsAccess(() => kernels.unpackHex(from, 1, 2 * past, to), /^unpackHex writes 16 bytes/)
  throwsAccess(() => kernels.unpackNumbers(from, past, 1, to), /^unpackNumbers writes 1 bytes/)
  throwsAccess(() => kernels.packNumbers(from, past, 0, to), /^packNumbers reads 1 bytes/)
  text.fill(0x0a, 16, 17)
  throwsAccess(() => kernels.packHex(from, 1, 16, to + past), /^packHex writes 8 bytes/)
})

test('a kernel that leaves what it was given for another array throws', () => {
  const [mine, given] = [arena.uint8(BYTES), arena.uint8(BYTES)]
  const other = arena.uint8(BYTES)
  const distance = other.byteOffset - given.byteOffset
  throwsAccess(
    () => kernels.unpackHex(mine.byteOffset, 1, 16, given.byteOffset + distance - 8),
    /^unpackHex writes/,
  )
  // In a context, which `unpackHex` is not told of.
  const context = arena.addresses(4)
  context[0] = other.byteOffset
  throwsAccess(() => kernels.hashText(mine.byteOffset, distance * 4), /^hashText reads/)
})

test('an array that was released is nobody’s', () => {
  const released = arena.uint8(BYTES)
  const address = released.byteOffset
  arena.release(released)
  throwsAccess(() => kernels.hashText(address, 8), /where there is no array$/)
})

test('kernels read their own tables and never write them', () => {
  const { start, end } = checkedModule(code).constants
  assert(start > 0 && end > start && end <= 4_096)
  kernels.hashText(start, 8)
  const text = arena.uint8(8)
  throwsAccess(() => kernels.copyBytes(start, text.byteOffset, 8), /^copyBytes writes/)
  throwsAccess(() => kernels.hashText(end, 8), /^hashText reads/)
})

test('of what grows, only what was reserved is there', () => {
  const source = arena.uint8(16 * BYTES).byteOffset
  const writer = new ByteWriter(16 * BYTES)
  writer.reserve(100)
  const to = writer.bytes.byteOffset
  kernels.copyBytes(to, source, 100 + ARENA_SLACK)
  throwsAccess(() => kernels.copyBytes(to, source, 101 + ARENA_SLACK), /^copyBytes writes/)
  const batch = new BatchBytes()
  batch.room(BYTES)
  const { byteOffset } = batch.room(10)
  kernels.copyBytes(byteOffset, source, 10 + ARENA_SLACK)
  throwsAccess(() => kernels.copyBytes(byteOffset, source, 11 + ARENA_SLACK), /^copyBytes writes/)
  const room = arena.roomFor(10, arena.int32(BYTES)).byteOffset
  throwsAccess(() => kernels.copyBytes(room, source, 41 + ARENA_SLACK), /^copyBytes writes/)
})

test('the service’s build does not notice such a call: it overwrites what comes after', () => {
  const plain = new WebAssembly.Instance(new WebAssembly.Module(code), {
    env: { memory: arena.memory },
    otlp: { writeDouble: () => 0 },
  }).exports as unknown as Kernels
  const both = [arena.uint8(BYTES), arena.uint8(BYTES)]
  const [to, behind] = both.toSorted((a, b) => a.byteOffset - b.byteOffset)
  assert(to !== undefined && behind !== undefined)
  const from = arena.uint8(64 * BYTES).fill(7)
  const length = behind.byteOffset + 1 - to.byteOffset
  assert(length > 0 && length < from.length)
  plain.copyBytes(to.byteOffset, from.byteOffset, length)
  assert.equal(behind[0], 7)
  behind[0] = 0
  throwsAccess(() => kernels.copyBytes(to.byteOffset, from.byteOffset, length), /writes/)
  assert.equal(behind[0], 0)
})

/** Opcode, bytes; of stores the constant that is stored. */
const LOADS: readonly (readonly [opcode: readonly number[], bytes: number, ...lane: number[]])[] = [
  ...[4, 8, 4, 8, 1, 1, 2, 2, 1, 1, 2, 2, 4, 4].map((bytes, i) => [[0x28 + i], bytes] as const),
  ...[16, 8, 8, 8, 8, 8, 8, 1, 2, 4, 8].map((bytes, i) => [[0xfd, i], bytes] as const),
  [[0xfd, 92], 4],
  [[0xfd, 93], 8],
]
const [INT, LONG, FLOAT, DOUBLE] = [
  [0x41, 1],
  [0x42, 1],
  [0x43, ...zeros(4)],
  [0x44, ...zeros(8)],
]
const VECTOR = [0xfd, 12, ...zeros(16)]
const STORES = [
  [[0x36], 4, INT],
  [[0x37], 8, LONG],
  [[0x38], 4, FLOAT],
  [[0x39], 8, DOUBLE],
  [[0x3a], 1, INT],
  [[0x3b], 2, INT],
  [[0x3c], 1, LONG],
  [[0x3d], 2, LONG],
  [[0x3e], 4, LONG],
  [[0xfd, 11], 16, VECTOR],
] as const
const LANES = [1, 2, 4, 8]

function zeros(count: number): number[] {
  return Array.from({ length: count }, () => 0)
}

const DROP = 0x1a
const OFFSET = 3
const MEMARG = [0, OFFSET]

/** Each instruction once, at the addresses 16, 32, 48 … */
function accessesByHand(): { code: number[]; expected: [number, number, number][] } {
  const code: number[] = []
  const expected: [number, number, number][] = []
  const address = (bytes: number) => {
    const at = 16 * (expected.length + 1)
    expected.push([at, OFFSET, bytes])
    return [0x41, (at & 0x7f) | 0x80, at >> 7]
  }
  for (const [opcode, bytes] of LOADS) code.push(...address(bytes), ...opcode, ...MEMARG, DROP)
  for (const [opcode, bytes, value] of STORES) {
    code.push(...address(-bytes), ...value, ...opcode, ...MEMARG)
  }
  for (const [i, bytes] of LANES.entries()) {
    code.push(...address(bytes), ...VECTOR, 0xfd, 84 + i, ...MEMARG, 0, DROP)
    code.push(...address(-bytes), ...VECTOR, 0xfd, 88 + i, ...MEMARG, 0)
  }
  return { code, expected }
}

test('each instruction that accesses memory is checked before it does', () => {
  const { code: accesses, expected } = accessesByHand()
  // memory.copy and memory.fill of 5 bytes, from 40 to 50 and at 60.
  const bulk = [
    0x41, 50, 0x41, 40, 0x41, 5, 0xfc, 10, 0, 0, 0x41, 60, 0x41, 1, 0x41, 5, 0xfc, 11, 0,
  ]
  const body = [0, ...accesses, ...bulk, 0x0b]
  const length = (bytes: number) => [(bytes & 0x7f) | 0x80, bytes >> 7]
  const section = (id: number, bytes: readonly number[]) => [id, ...length(bytes.length), ...bytes]
  const memory = [3, 0x65, 0x6e, 0x76, 6, ...Buffer.from('memory'), 2, 3, 1, 2]
  const module = Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 0, 0]),
    ...section(2, [1, ...memory]),
    ...section(3, [1, 0]),
    ...section(7, [1, 3, 0x72, 0x75, 0x6e, 0, 0]),
    ...section(10, [1, ...length(body.length), ...body]),
  ])
  const checked = checkedModule(module)
  const seen: number[][] = []
  const check = (...args: number[]) => {
    seen.push(args)
    return args[0]
  }
  const env = { memory: new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true }) }
  const imports = { env, checked: { check } }
  const { run } = new WebAssembly.Instance(new WebAssembly.Module(checked.code), imports).exports
  ;(run as () => void)()
  const ranges = [
    [50, 0, -5],
    [40, 0, 5],
    [60, 0, -5],
  ]
  assert.deepEqual(seen, [...expected, ...ranges])
  assert.equal(checked.accesses, expected.length + 2)
  // An instruction that nobody knows: `memory.grow`.
  const unknown = Uint8Array.from(module)
  unknown[unknown.lastIndexOf(0xfc)] = 0x40
  assert.throws(() => checkedModule(unknown), /not known: 0x40/)
})

test('the kernels have more than a thousand accesses, and so many checks', () => {
  assert(checkedModule(code).accesses > 1_000)
})
