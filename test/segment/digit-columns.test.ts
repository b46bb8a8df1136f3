/**
 * Goal: columns of ever new numbers, which we write as brotli's meta-blocks ourselves, are what any
 * reader of brotli makes them, byte for byte, and take no more room than brotli's own would; what
 * brotli makes smaller, or has other characters, is left to it.
 * Method: Node's brotli reads random columns behind a stream that its own encoder flushed, at every
 * size where the header's form changes; whole segments go through our reader and the page's.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import fc from 'fast-check'
import { IngestPipeline } from '../../workers/ingest.ts'
import { arena } from '../../workers/kernel/arena.ts'
import { DigitColumns } from '../../workers/segment/digit-columns.ts'
import { decodeSegment } from '../../workers/segment/segment.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'
import { batchOf } from '../workers/batch-of.ts'
import { readPayload } from './document-reader.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const PADDING = Buffer.alloc(8)
const QUALITY = { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 16 }
const BEFORE = Buffer.from('what brotli wrote itself')
const columns = new DigitColumns()
const pipeline = new IngestPipeline()

/** Numbers from a generator with a seed, so that texts hardly repeat. */
function random(state: number): (below: number) => number {
  let next = state
  return (below) => {
    next = (Math.imul(next, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((next / 2 ** 32) * below)
  }
}

/** A text of so many bytes over the characters; a line feed is the last. */
function textOf(length: number, characters: string, state = length): string {
  const below = random(state)
  let text = ''
  while (text.length < length - 1) text += characters[below(characters.length)]
  return `${text}\n`
}

/** What each of the texts became of: in the stream, or left. */
function written(texts: readonly string[]): boolean[] {
  columns.begin()
  const are = texts.map((text) => {
    const bytes = arena.buffer(text.length).fill(text)
    const is = columns.tryAdd(bytes, 0, text.length)
    arena.release(bytes)
    return is
  })
  const body = brotliCompressSync(BEFORE, {
    params: QUALITY,
    finishFlush: constants.BROTLI_OPERATION_FLUSH,
  })
  const read = brotliDecompressSync(Buffer.concat([body, columns.end()]))
  const taken = texts.filter((_, i) => are[i]).flatMap((text) => [Buffer.from(text), PADDING])
  assert.ok(read.equals(Buffer.concat([BEFORE, ...taken, PADDING])), 'read by brotli as written')
  return are
}

const DIGITS = '0123456789\n'
const ALL = '0123456789\n+,-./'

test('a column of any size comes back behind what brotli wrote', () => {
  for (const around of [1_024, 1_082, 2_106, 6_202, 22_586, 65_528, 1_048_568]) {
    const sizes = [-3, -2, -1, 0, 1, 2, 3].map((more) => around + more).filter((n) => n >= 1_024)
    const texts = sizes.map((size) => textOf(size, DIGITS))
    assert.deepEqual(
      written(texts),
      sizes.map(() => true),
      `around ${around}`,
    )
  }
})

test('smaller columns are left to brotli', () => {
  assert.deepEqual(written([textOf(1_023, DIGITS)]), [false])
})

test('characters that are rare, or missing, come back too', () => {
  const skewed = (character: string) => {
    const text = textOf(4_000, '0123456789', 7)
    return `${text.slice(0, 2_000)}${character}\n${text.slice(2_002)}`
  }
  assert.deepEqual(written([...ALL].map(skewed)), Array(ALL.length).fill(true))
  // Each twice as often as the one before: codes would be longer than they may be.
  const deep = [...ALL].map((character, i) => character.repeat(2 ** Math.min(i, 13))).join('')
  const below = random(3)
  const shuffled = [...deep].sort(() => below(3) - 1).join('')
  written([`${shuffled}\n`])
})

test('any other character leaves the column to brotli, wherever it is', () => {
  const text = textOf(2_000, DIGITS)
  for (let byte = 0; byte < 256; byte++) {
    if (ALL.includes(String.fromCharCode(byte))) continue
    for (const at of [0, 17, 1_990, 1_998]) {
      const bytes = arena.buffer(text.length).fill(text)
      bytes[at] = byte
      columns.begin()
      assert.equal(columns.tryAdd(bytes, 0, bytes.length), false, `byte ${byte} at ${at}`)
      arena.release(bytes)
    }
  }
})

test('numbers that have much in common are left to brotli', () => {
  const counted = Array.from({ length: 500 }, (_, i) => `${1_732_183_200_000 + i * 3}\n`).join('')
  const network = Array.from({ length: 500 }, (_, i) => `192.168.10.${(i * 7) % 256}\n`).join('')
  assert.deepEqual(written([counted, network]), [false, false])
})

const anyColumn = fc
  .record({
    size: fc.integer({ min: 900, max: 9_000 }),
    characters: fc.subarray([...ALL], { minLength: 4 }),
    state: fc.integer({ min: 1, max: 2 ** 31 }),
  })
  .map(({ size, characters, state }) => textOf(size, characters.join(''), state))

test('random columns, several in a stream', () => {
  fc.assert(
    fc.property(fc.array(anyColumn, { maxLength: 5 }), (texts) => {
      written(texts)
    }),
    fuzzed(seed, 150, 5_000),
  )
})

/** The payload of events with these values in a field, once both readers have read it. */
function stored(values: readonly string[]): Buffer {
  const lines = values.map((value, i) => `{"a":"x${i % 300}","v":${value},"z":"word ${i}"}`)
  const [segment] = pipeline.run(batchOf(lines.join('\n'))).segments
  assert.equal(decodeSegment(segment!.payload).text.toString(), `${lines.join('\n')}\n`)
  const payload = Buffer.from(segment!.payload)
  const documented = readPayload(payload).map(({ text }) => text)
  assert.deepEqual(documented, lines, 'as docs/segment-format.md says')
  return payload
}

test('segments with such columns are no larger than with brotli alone', () => {
  const below = random(5)
  const address = () => `"${below(256)}.${below(256)}.${below(256)}.${below(256)}"`
  const kinds: readonly (readonly [string, () => string])[] = [
    ['addresses', address],
    ['durations', () => (below(1e6) / 1e3).toFixed(3)],
    ['sizes', () => String(below(1e6))],
    ['negative', () => String(below(1e6) - 5e5)],
  ]
  for (const [name, value] of kinds) {
    const values = Array.from({ length: 1_000 }, value)
    const mark = values.map((text, i) => (i === 500 ? '"?"' : text))
    const [ours, brotlis] = [stored(values).length, stored(mark).length]
    assert.ok(ours < brotlis, `${name}: ${ours} B, by brotli ${brotlis}`)
  }
})

test('events that stand whole in the last column leave all to brotli', () => {
  const below = random(9)
  const lines = Array.from({ length: 400 }, (_, i) => {
    return i % 9 === 0 ? `{"v":1,"v":{"v":${i}}}` : `{"v":${below(1e9)}}`
  })
  const [segment] = pipeline.run(batchOf(lines.join('\n'))).segments
  assert.equal(decodeSegment(segment!.payload).text.toString(), `${lines.join('\n')}\n`)
})
