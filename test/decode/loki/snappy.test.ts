/**
 * Goal: what snappy's raw format holds comes back byte for byte, and nothing that is no such format
 * is read or written beyond what is there.
 * Method: random contents through an encoder of somebody else; every element by hand; blocks
 * changed at random, against that somebody's decoder.
 */
import '../../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import snappy from 'snappyjs'
import { Random } from '../../../bench/random.ts'
import { PartError } from '../../../workers/decode/loki/part-error.ts'
import { decompressSnappy } from '../../../workers/decode/loki/snappy.ts'
import { arena } from '../../../workers/kernel/arena.ts'
import { EventBuffer } from '../../../workers/tape/event-buffer.ts'
import { forMilliseconds, testSeed } from '../../support/fuzzing.ts'

const seed = testSeed()
console.log(`SLUICE_TEST_SEED=${seed}`)
const into = new EventBuffer()
const held = arena.buffer(256 * 1024)

function decompress(block: Uint8Array): Buffer | string {
  held.set(block, 7)
  try {
    decompressSnappy(held, 7, 7 + block.length, into)
  } catch (cause) {
    assert.ok(cause instanceof PartError)
    return cause.message
  }
  return Buffer.from(into.bytes.subarray(0, into.length))
}

const random = new Random(seed)

/** Words that recur, near and far, and bytes that do not. */
function contents(): Buffer {
  const words = Array.from({ length: 8 }, () => String(random.uint32()).repeat(random.below(12)))
  const pieces = Array.from({ length: random.below(300) }, () => {
    if (random.chance(0.8)) return Buffer.from(random.pick(words))
    return Buffer.from(Array.from({ length: random.below(90) }, () => random.below(256)))
  })
  return Buffer.concat(pieces).subarray(0, 128 * 1024)
}

test('contents come back', () => {
  forMilliseconds(60, () => {
    const bytes = contents()
    assert.deepEqual(decompress(snappy.compress(bytes)), bytes)
  })
})

test('blocks that were changed at random', () => {
  forMilliseconds(60, () => {
    const block = Buffer.from(snappy.compress(contents()))
    for (let n = random.below(3); n >= 0; n--) block[random.below(block.length)] = random.below(256)
    const cut = random.chance(0.2) ? block.subarray(0, random.below(block.length)) : block
    const found = decompress(cut)
    if (typeof found === 'string') return
    assert.deepEqual(found, Buffer.from(snappy.uncompress(cut)))
  })
})

test('each element, and what is wrong with it', () => {
  const abcd = [0x0c, 0x61, 0x62, 0x63, 0x64] // A literal of four bytes.
  const long = Array.from({ length: 100 }, (_, i) => i)
  const cases: readonly (readonly [block: readonly number[], expected: string | number[]])[] = [
    [[0], []],
    [[4, ...abcd], [...Buffer.from('abcd')]],
    [[8, ...abcd, 0x01, 4], [...Buffer.from('abcdabcd')]],
    [[10, ...abcd, 0x09, 1], [...Buffer.from('abcddddddd')]],
    [[6, ...abcd, 0x06, 2, 0], [...Buffer.from('abcdcd')]],
    [[6, ...abcd, 0x07, 2, 0, 0, 0], [...Buffer.from('abcdcd')]],
    [[100, 0xf0, 99, ...long], long],
    [[100, 0xf4, 99, 0, ...long], long],
    [[100, 0xf8, 99, 0, 0, ...long], long],
    [[100, 0xfc, 99, 0, 0, 0, ...long], long],
    [[], 'byte 0: no length'],
    [[0x80], 'byte 1: no length'],
    [[0x80, 0x80, 0x80, 0x80, 0x80, 0], 'byte 5: no length'],
    [[4], 'byte 1: shorter than its length says'],
    [[5, ...abcd], 'byte 6: shorter than its length says'],
    [[3, ...abcd], 'byte 1: longer than its length says'],
    [[7, ...abcd, 0x01, 4], 'byte 6: longer than its length says'],
    [[4, 0x0c, 0x61], 'byte 1: it ends inside an element'],
    [[4, 0xf4, 0], 'byte 1: it ends inside an element'],
    [[100, 0xfc, 255, 255, 255, 255, ...long], 'byte 1: it ends inside an element'],
    [[8, ...abcd, 0x01], 'byte 6: it ends inside an element'],
    [[8, ...abcd, 0x07, 4, 0, 0], 'byte 6: it ends inside an element'],
    [[8, ...abcd, 0x01, 0], 'byte 6: a copy of what is not there'],
    [[8, ...abcd, 0x01, 5], 'byte 6: a copy of what is not there'],
    [[8, ...abcd, 0x0f, 4, 0, 0, 0x80], 'byte 6: a copy of what is not there'],
  ]
  for (const [block, expected] of cases) {
    const found = decompress(Uint8Array.from(block))
    if (typeof expected === 'string') assert.equal(found, `invalid snappy at ${expected}`)
    else assert.deepEqual(found, Buffer.from(expected))
  }
})
