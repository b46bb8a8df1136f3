/** Goal: numbers are written as JavaScript writes them. Method: random bits against its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import {
  nanosBeyondMs,
  nanosToMs,
  writeDouble,
  writeInt64,
  writeUint64,
} from '../../workers/kernel/number-text.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`SLUICE_TEST_SEED=${seed}`)

type Write = (out: Uint8Array, at: number, ...numbers: number[]) => number

function written(write: Write, ...numbers: number[]): string {
  const out = Buffer.alloc(64, 0x7e)
  return out.toString('latin1', 3, write(out, 3, ...numbers))
}

function checkInteger(bits: bigint): void {
  const high = Number(bits >> 32n)
  const low = Number(bits & 0xffffffffn)
  assert.equal(written(writeUint64 as Write, high, low), String(bits))
  assert.equal(written(writeInt64 as Write, high, low), String(BigInt.asIntN(64, bits)))
  assert.equal(nanosToMs(high, low), Number(bits / 1_000_000n))
  assert.equal(nanosBeyondMs(high, low), Number(bits % 1_000_000n))
}

test('integers of 64 bits keep all their digits', () => {
  for (let power = 0n; power <= 64n; power++) {
    for (let near = -3n; near <= 3n; near++) checkInteger(BigInt.asUintN(64, 2n ** power + near))
  }
  for (let power = 0n; power <= 19n; power++) {
    for (let near = -3n; near <= 3n; near++) checkInteger(BigInt.asUintN(64, 10n ** power + near))
  }
  const random = new Random(seed)
  forMilliseconds(300, () => {
    const bits = (BigInt(random.uint32()) << 32n) | BigInt(random.uint32())
    checkInteger(bits >> BigInt(random.below(64)))
    checkInteger((bits / 1_000_000n) * 1_000_000n + 999_999n)
  })
})

test('doubles are written as JSON.stringify writes them', () => {
  const check = (value: number) => {
    assert.equal(written(writeDouble as Write, value), JSON.stringify(value))
    assert.equal(written(writeDouble as Write, -value), JSON.stringify(-value))
  }
  const some = [0, 1, 0.1, 0.1 + 0.2, 1e-6, 9.9e-7, 999_999_999.999_999, 1e9, 1e15, 1e21, 5e-324]
  for (const value of [...some, 123_456_789.123_456, 1.7976931348623157e308, 4.35, 1.005])
    check(value)
  const random = new Random(seed ^ 1)
  const bits = new DataView(new ArrayBuffer(8))
  forMilliseconds(300, () => {
    check(random.below(1e9) / 10 ** random.below(8))
    check(random.unit())
    check(random.skewed(18, 1.2))
    bits.setUint32(0, random.uint32())
    bits.setUint32(4, random.uint32())
    const value = bits.getFloat64(0)
    if (Number.isFinite(value)) check(value)
  })
})
