/**
 * Goal: columns of ever new digits and columns of few values are packed, in the format that is
 * documented, and come back byte for byte; columns that are not wholly of one kind are left alone.
 * Method: segments of events with one such column, values by generators for each kind, mixed with
 * near misses; our own reader, and damaged payloads.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { IngestPipeline } from '../../workers/ingest.ts'
import { arena } from '../../workers/kernel/arena.ts'
import { LayoutReader } from '../../workers/segment/layout-reader.ts'
import { ColumnUnpacker } from '../../workers/segment/packed-columns.ts'
import { decodeSegment } from '../../workers/segment/segment.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'
import { batchOf } from '../workers/batch-of.ts'
import { readPayload } from './document-reader.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const FLAG_PACKED = 4
const FIRST_SECTION = 6
const HEX = 1
const UUID = 2
const DICTIONARY = 4

const pipeline = new IngestPipeline()
const unpacker = new ColumnUnpacker()

function inArena(bytes: Buffer): Buffer {
  return arena.buffer(bytes.length).fill(bytes)
}

/** Stores events with these JSON values; returns the payload, once it is read back as it should. */
function stored(values: readonly string[]): Buffer {
  const lines = values.map((value) => `{"v":${value}}`)
  const [segment] = pipeline.run(batchOf(lines.join('\n'))).segments
  assert.deepEqual(decodeSegment(segment!.payload).text.toString(), `${lines.join('\n')}\n`)
  const payload = Buffer.from(segment!.payload)
  const documented = readPayload(payload).map(({ text }) => text)
  assert.deepEqual(documented, lines, 'as docs/segment-format.md says')
  return payload
}

/** The kind of the first packed column, or nothing. */
function kindOf(payload: Buffer): number | undefined {
  return (payload[1]! & FLAG_PACKED) === 0 ? undefined : payload[FIRST_SECTION + 4]
}

/** Digits from a generator with a seed, so that values hardly repeat. */
function digits(count: number, length: number, alphabet = '0123456789abcdef'): string[] {
  let state = count * 31 + length
  return Array.from({ length: count }, () => {
    let text = ''
    while (text.length < length) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      text += alphabet[(state >>> 16) % alphabet.length]!
    }
    return text
  })
}

function uuids(count: number): string[] {
  return digits(count, 32).map((hex) => {
    const cuts = [0, 8, 12, 16, 20, 32]
    return cuts
      .slice(1)
      .map((end, i) => hex.slice(cuts[i]!, end))
      .join('-')
  })
}

const quoted = (values: readonly string[]) => values.map((value) => `"${value}"`)

test('ids in hexadecimal are packed, whatever their length', () => {
  for (const length of [8, 10, 14, 16, 18, 30, 32, 34, 40, 64, 254, 256]) {
    const payload = stored(quoted(digits(100, length)))
    assert.equal(kindOf(payload), HEX, `${length} digits`)
    // Half their size, and little else.
    assert(payload.length < 100 * (length / 2) + 100, `${payload.length} for ${length} digits`)
  }
  assert.equal(kindOf(stored(quoted(uuids(100)))), UUID)
})

/** So many different values, of which the first rows have few. */
function repeating(values: number, rows: number): string[] {
  const words = digits(values, 12).map((word) => `g${word}`)
  return Array.from({ length: rows }, (_, row) => {
    return words[row < 128 ? row % Math.min(values, 40) : (row * 31) % values]!
  })
}

test('few values are stored once, and for each row which one it has', () => {
  for (const values of [1, 2, 3, 4, 5, 8, 9, 16, 17, 64, 65, 128, 129, 254, 255]) {
    for (const rows of [4 * values + 128, 4 * values + 1_001]) {
      const payload = stored(quoted(repeating(values, rows)))
      assert.equal(kindOf(payload), DICTIONARY, `${values} values`)
      const mostBytes = 80 + values * 10 + (rows * Math.ceil(Math.log2(values))) / 8
      assert(payload.length < mostBytes, `${payload.length} bytes for ${values}, not ${mostBytes}`)
    }
  }
  assert.equal(kindOf(stored(quoted(repeating(256, 1_100)))), undefined, 'too many')
  assert.equal(kindOf(stored(quoted(repeating(100, 390)))), undefined, 'too many for so few rows')
})

test('numbers and addresses are left to brotli', () => {
  const numbers = digits(300, 7, '123456789')
  assert.equal(kindOf(stored(numbers)), undefined)
  assert.equal(kindOf(stored(numbers.map((n) => `-${n}.5`))), undefined)
  assert.equal(kindOf(stored(quoted(numbers.map((n) => `10.${n}.1`)))), undefined)
})

test('values that brotli has as short, or as long, as a dictionary are left to it', () => {
  const flags = Array.from({ length: 400 }, (_, row) => String((row * 7) % 5))
  assert.equal(kindOf(stored(flags)), undefined, 'a digit each')
  const runs = Array.from({ length: 1_000 }, (_, row) => `"host-${Math.floor(row / 200)}"`)
  assert.equal(kindOf(stored(runs)), undefined, 'long runs')
  const long = Array.from({ length: 400 }, (_, row) => `"${'x'.repeat(1_000)}${row % 20}"`)
  assert.equal(kindOf(stored(long)), undefined, 'long values')
})

test('what is not all of one kind, repeats, or is small is left to brotli', () => {
  const ids = quoted(digits(100, 16))
  const wrong = ['"0123456789ABCDEF"', '"0123456789abcdeg"', '"0123456789abcde"', '""', '"/:@`g"']
  for (const value of wrong) {
    for (const place of [0, 50, 99]) {
      assert.equal(kindOf(stored(ids.with(place, value))), undefined, `${value} at ${place}`)
    }
  }
  for (const cut of [8, 13, 18, 23, 5, 35]) {
    const id = uuids(1)[0]!
    const other = `${id.slice(0, cut)}0${id.slice(cut + 1)}`.replace(/^(.{5})./, '$1-')
    assert.equal(kindOf(stored(quoted(uuids(100).with(99, other)))), undefined, other)
  }
  for (const value of ['1E5', '"1 2"', '"12:30"', 'true']) {
    assert.equal(kindOf(stored(digits(300, 7, '123456789').with(299, value))), undefined, value)
  }
  const codes = Array.from({ length: 300 }, (_, i) => `${200 + (i % 7)}`)
  assert.equal(kindOf(stored(codes)), DICTIONARY, 'codes that come again')
  assert.equal(kindOf(stored(quoted(digits(20, 8)))), undefined, 'a small column')
  assert.equal(kindOf(stored(quoted(digits(100, 7)))), undefined, 'an odd number of digits')
})

test('values of any kind in any order come back byte for byte', () => {
  const character = fc.constantFrom(...'0123456789abcdef-+.eEgA :/')
  const pool = fc.oneof(
    fc.integer({ min: 8, max: 70 }).map((length) => quoted(digits(64, length))),
    fc.constant(quoted(uuids(64))),
    fc.integer({ min: 1, max: 15 }).map((length) => digits(64, length, '123456789')),
    fc.array(
      fc.array(character, { maxLength: 40 }).map((some) => `"${some.join('')}"`),
      { minLength: 1, maxLength: 20 },
    ),
  )
  const mixed = fc.tuple(pool, pool, fc.integer({ min: 1, max: 90 }), fc.nat(120))
  let packed = 0
  let count = 0
  fc.assert(
    fc.property(mixed, ([most, some, each, place]) => {
      const values = Array.from({ length: 120 }, (_, i) => {
        return i % each === place % each && i >= place ? some[i % some.length]! : most[i % 64]!
      })
      const payload = stored(values.map((value) => value ?? '0'))
      packed += kindOf(payload) === undefined ? 0 : 1
      count++
    }),
    fuzzed(seed, 600, 1_500),
  )
  const isBoth = packed > 0 && packed < count
  assert(isBoth || count < 50, `${packed} of ${count} were packed`)
})

test('a damaged section is refused, not misread', () => {
  const payload = stored(quoted(digits(100, 16)))
  const column = FIRST_SECTION + 5
  const refused = (change: (copy: Buffer) => Buffer, message = /./) => {
    assert.throws(() => decodeSegment(change(Buffer.from(payload))), message)
  }
  refused((copy) => copy.fill(9, column - 1, column), /kind 9/)
  refused((copy) => copy.fill(99, column, column + 1), /column that it lacks/)
  refused((copy) => copy.fill(14, column + 1, column + 2), /part of a value/)
  refused((copy) => copy.fill(0, column - 1, column))
  refused((copy) => copy.fill(255, FIRST_SECTION, FIRST_SECTION + 1))
  refused((copy) => copy.subarray(0, FIRST_SECTION + 40))
})

test('a dictionary of more values than there may be, or half a one, is refused', () => {
  const read = (values: readonly string[], cut = 0) => {
    const text = inArena(Buffer.from(values.map((value) => `${value}\n`).join('')))
    const packed = inArena(Buffer.from([DICTIONARY, 0, 4, 0b0001, 0]))
    // Behind it the raw column, which is empty.
    const sizes = [text.length - cut, 0]
    const columns = { rows: 4, sizes, read: (size: number) => text.subarray(0, size) }
    const [column] = unpacker.unpack(new LayoutReader(packed), columns)
    const { numbers, starts } = column!.listed!
    const value = (number: number) => column!.text.subarray(starts[number], starts[number + 1])
    return Buffer.concat(Array.from(numbers, value)).toString()
  }
  const values = Array.from({ length: 300 }, (_, i) => `value ${i}`)
  assert.equal(read(values.slice(0, 2)), 'value 1\nvalue 0\nvalue 0\nvalue 0\n')
  for (const some of [values, []]) assert.throws(() => read(some), /a dictionary that is none/)
  assert.throws(() => read(values.slice(0, 2), 1), /a dictionary that is none/)
})

test('a damaged dictionary is refused, not misread', () => {
  const payload = stored(quoted(repeating(5, 100)))
  const rows = FIRST_SECTION + 6
  const refused = (change: (copy: Buffer) => Buffer, message = /./) => {
    assert.throws(() => decodeSegment(change(Buffer.from(payload))), message)
  }
  assert.equal(payload[rows], 100)
  refused((copy) => copy.fill(0xff, rows + 1, rows + 2), /a value that it lacks/)
  refused((copy) => copy.fill(101, rows, rows + 1), /fewer rows/)
  refused((copy) => copy.fill(99, rows, rows + 1))
  refused((copy) => copy.subarray(0, rows + 10))
})
