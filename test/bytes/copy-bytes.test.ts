/** Goal: every length at every alignment is copied, and nothing beside it is touched. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyBytes } from '../../src/bytes/copy-bytes.ts'

const LENGTHS = [0, 1, 7, 8, 9, 511, 512, 513, 520, 4_096, 65_537]

test('copies are exact, in shared memory and elsewhere', () => {
  const source = Uint8Array.from({ length: 70_000 }, (_, i) => (i * 31 + (i >> 8)) % 255)
  for (const buffer of [new SharedArrayBuffer(70_000), new ArrayBuffer(70_000)]) {
    for (const length of LENGTHS) {
      for (let offset = 0; offset < 9; offset++) {
        const target = new Uint8Array(buffer, 16, 69_000)
        target.fill(255)
        const from = source.subarray(9 - offset, 9 - offset + length)
        copyBytes(target, from, 100 + offset)
        const copied = target.subarray(100 + offset, 100 + offset + length)
        assert.equal(Buffer.compare(Buffer.from(copied), Buffer.from(from)), 0)
        const around = [target[99 + offset], target[100 + offset + length]]
        assert.deepEqual(around, [255, 255], `${length} at ${offset}`)
      }
    }
  }
})

test('what does not fit is refused, not cut', () => {
  for (const length of [10, 1_000]) {
    const target = new Uint8Array(new SharedArrayBuffer(length))
    assert.throws(() => copyBytes(target, new Uint8Array(length), 1), RangeError)
  }
})
