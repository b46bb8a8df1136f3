/**
 * Goal: the kernel that lists a column's values finds what a `Map` finds, packs numbers of every
 * width, touches no memory but what it was given, and gives up where it should.
 * Method: generated columns against a model, with other bytes all around each array.
 */
import './checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arena } from '../../workers/kernel/arena.ts'
import { kernels } from '../../workers/kernel/kernels.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const TEXT_BYTES_MAX = 4_096
const ROWS_MAX = 600
const GUARD_BYTES = 8_192
const GUARD = 0xa5
/** What kernels may write behind an array. */
const SLACK = 16

const arrays: Buffer[] = []
/** Bytes of the arena between others that must not change. */
function guarded(bytes: number): Buffer {
  const whole = arena.buffer(bytes + 2 * GUARD_BYTES).fill(GUARD)
  arrays.push(whole)
  return whole.subarray(GUARD_BYTES, GUARD_BYTES + bytes).fill(0)
}
function assertGuards(): void {
  for (const whole of arrays) {
    const behind = whole.length - GUARD_BYTES + SLACK
    assert(whole.subarray(0, GUARD_BYTES).every((byte) => byte === GUARD))
    assert(whole.subarray(behind).every((byte) => byte === GUARD))
  }
}

const texts = guarded(TEXT_BYTES_MAX)
const heads = guarded(255 * 16)
const starts = guarded(255 * 4)
const places = guarded(1_024 * 4)
const numbers = guarded(ROWS_MAX)
const packed = guarded(ROWS_MAX)
const column = guarded(ROWS_MAX * 256)
/** See `Dictionary` of `kernels/segment/dictionary.ts`. */
const context = arena.addresses(10)
let serial = 0

interface Listed {
  readonly values: readonly string[]
  readonly numbers: readonly number[]
  readonly changes: number
}

/** What the kernel makes of a column; undefined when it gives up. */
function list(rows: readonly string[]): Listed | undefined {
  const text = Buffer.from(rows.map((row) => `${row}\n`).join(''), 'latin1')
  column.set(text)
  const { byteOffset } = texts
  const tables = [heads, starts, places].map((table) => table.byteOffset)
  context.set([byteOffset, byteOffset, byteOffset + TEXT_BYTES_MAX, ...tables, ++serial])
  const from = column.byteOffset
  const end = from + text.length
  const found = kernels.listValues(context.byteOffset, from, end, numbers.byteOffset)
  assertGuards()
  if (found === 0) return undefined
  const values = texts
    .toString('latin1', 0, context[1]! - byteOffset)
    .split('\n')
    .slice(0, -1)
  assert.equal(values.length, found)
  assert.equal(context[8], rows.length)
  return {
    values,
    numbers: [...numbers.subarray(0, rows.length)],
    changes: context[9]!,
  }
}

function model(rows: readonly string[]): Listed {
  const values = [...new Set(rows)]
  const changes = rows.filter((row, i) => row !== rows[i - 1]).length
  return { values, numbers: rows.map((row) => values.indexOf(row)), changes }
}

const character = fc.constantFrom(...'abAB01 ./-"\\é')
/** Of every length around the sixteen bytes that a value is told by, and far beyond. */
const value = fc
  .tuple(fc.oneof(fc.integer({ min: 0, max: 34 }), fc.integer({ min: 35, max: 250 })), character)
  .chain(([length, filler]) => {
    const at = fc.integer({ min: 0, max: Math.max(0, length - 1) })
    return fc.tuple(at, character).map(([place, other]) => {
      const text = filler.repeat(length)
      return length === 0 ? '' : text.slice(0, place) + other + text.slice(place + 1)
    })
  })

test('values and numbers are those of a model', () => {
  const columns = fc
    .array(value, { minLength: 1, maxLength: 20 })
    .chain((values) => fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 400 }))
  fc.assert(
    fc.property(columns, (rows) => {
      assert.deepEqual(list(rows), model(rows))
    }),
    fuzzed(seed, 400, 1_500),
  )
})

test('up to 255 values, as much text as there is room for, and samples that repeat', () => {
  const few = (count: number) => Array.from({ length: ROWS_MAX }, (_, i) => `v${i % count}`)
  assert.deepEqual(list(few(104)), model(few(104)))
  assert.equal(list(few(129)), undefined, 'the first 128 are all different')
  const later = (count: number) => [...few(50).slice(0, 200), ...few(count).slice(0, 400)]
  assert.deepEqual(list(later(255)), model(later(255)))
  assert.equal(list(later(256)), undefined)
  const long = (last: number) => {
    return Array.from({ length: 20 }, (_, i) => `${i % 8}`.repeat(i % 8 === 7 ? last : 511))
  }
  assert.deepEqual(list(long(511)), model(long(511)), `${TEXT_BYTES_MAX} bytes`)
  assert.equal(list(long(512)), undefined)
})

/** As `kernels/segment/dictionary.ts` has it, for values of at most 15 bytes. */
function placeOf(text: string): number {
  const head = Buffer.alloc(16)
  head.write(`${text}\n`)
  const u64 = (wide: bigint) => BigInt.asUintN(64, wide)
  let hash = u64(head.readBigUInt64LE(0) * 0x9e3779b97f4a7c15n)
  hash ^= u64(head.readBigUInt64LE(8) * 0xc2b2ae3d27d4eb4fn)
  return Number(u64((hash ^ (hash >> 29n)) * 0xc2b2ae3d27d4eb4fn) >> 54n)
}

test('values that meet in one place are told apart, and no search is long', () => {
  for (const place of [5, 1_020]) {
    const meeting: string[] = []
    for (let i = 0; meeting.length < 17; i++)
      if (placeOf(`v ${i}`) === place) meeting.push(`v ${i}`)
    const rows = (count: number) => Array.from({ length: 300 }, (_, i) => meeting[(i * 7) % count]!)
    assert.deepEqual(list(rows(16)), model(rows(16)))
    assert.equal(list(rows(17)), undefined)
  }
})

test('long values that differ in their midst only have places of their own', () => {
  const agents = Array.from({ length: 100 }, (_, i) => {
    return `Mozilla/5.0 (Windows NT 10.0; Win64; x64) Gecko Chrome/${i}.0 Safari/537.36`
  })
  const paths = Array.from({ length: 50 }, (_, i) => `/var/log/containers/${i}/current.log`)
  const rows = (some: readonly string[]) => {
    return Array.from({ length: 400 }, (_, i) => some[(i * 7) % (i < 128 ? 30 : some.length)]!)
  }
  assert.deepEqual(list(rows(paths)), model(rows(paths)))
  assert.equal(list(rows(agents)), undefined, `${TEXT_BYTES_MAX} bytes are too few for all`)
  assert.deepEqual(list(rows(agents.slice(0, 40))), model(rows(agents.slice(0, 40))))
})

test('numbers of every width are packed, the first in the lowest bits', () => {
  for (let width = 0; width <= 8; width++) {
    for (const count of [1, 2, 7, 8, 9, 31, 32, 33, 255, ROWS_MAX]) {
      let expected = 0n
      for (let i = 0; i < count; i++) {
        numbers[i] = (i * 37 + width) % 2 ** width
        expected |= BigInt(numbers[i]!) << BigInt(i * width)
      }
      kernels.packNumbers(numbers.byteOffset, count, width, packed.byteOffset)
      assertGuards()
      const bytes = Math.ceil((count * width) / 8)
      const found = Buffer.from(packed.subarray(0, bytes)).reverse().toString('hex')
      assert.equal(BigInt(`0x0${found}`), expected, `${count} numbers of ${width} bits`)
    }
  }
})
