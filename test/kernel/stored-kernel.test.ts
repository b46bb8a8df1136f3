/**
 * Goal: the kernels that bring back a stored segment's text write what the same in TypeScript
 * writes, refuse what it refuses, and touch no memory but what they were given.
 * Method: segments of generated events, as they are and with bytes changed, cut and added in the
 * layout and in what is packed; the arena on both sides of the text is watched.
 */
import './checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import { loadCorpus } from '../../bench/corpus.ts'
import { Random } from '../../bench/random.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { arena } from '../../workers/kernel/arena.ts'
import { SegmentColumnsReader } from '../../workers/segment/segment-columns-reader.ts'
import { decodeColumns } from '../segment/plain-segment-columns.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'
import { randomObject } from '../tape/json-cases.ts'
import { batchOf } from '../workers/batch-of.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const FLAG_COLUMNS = 2
const FLAG_PACKED = 4
const HEADER_BYTES = 6
const GUARD_BYTES = 256
const GUARD = 0xa5
/** What the kernel may write behind the text. */
const SLACK = 31

const ingest = new IngestPipeline()
const reader = new SegmentColumnsReader()

interface Stored {
  readonly layout: Buffer
  readonly packed: Buffer
  readonly textBytes: number
}

/** The parts of a payload in column layout, undefined when it is not in that. */
function partsOf(bytes: Uint8Array): Stored | undefined {
  const payload = Buffer.from(bytes)
  if ((payload[1]! & FLAG_COLUMNS) === 0) return undefined
  const textBytes = payload.readUInt32LE(2)
  const isPacked = (payload[1]! & FLAG_PACKED) !== 0
  const packedEnd = HEADER_BYTES + (isPacked ? 4 + payload.readUInt32LE(HEADER_BYTES) : 0)
  const packed = payload.subarray(isPacked ? HEADER_BYTES + 4 : HEADER_BYTES, packedEnd)
  return { layout: brotliDecompressSync(payload.subarray(packedEnd)), packed, textBytes }
}

/** The text, or undefined where the segment is refused. */
function plainText({ layout, packed, textBytes }: Stored): Buffer | undefined {
  try {
    return decodeColumns(layout, packed, textBytes)
  } catch {
    return undefined
  }
}

function kernelText({ layout, packed, textBytes }: Stored): Buffer | undefined {
  const whole = arena.buffer(textBytes + 2 * GUARD_BYTES).fill(GUARD)
  const text = whole.subarray(GUARD_BYTES, GUARD_BYTES + textBytes)
  try {
    reader.write(layout, packed, text)
    return Buffer.from(text)
  } catch (error) {
    assert(error instanceof Error)
    return undefined
  } finally {
    assert(whole.subarray(0, GUARD_BYTES).every((byte) => byte === GUARD))
    assert(whole.subarray(GUARD_BYTES + textBytes + SLACK).every((byte) => byte === GUARD))
    arena.release(whole)
  }
}

/** Values of every kind that is packed, and of none; some longer than a step of the kernels. */
function randomLines(random: Random): string[] {
  const levels = ['debug', 'info', 'a level of more than sixteen bytes, and then some', '']
  const hex = (length: number) => {
    return Array.from({ length }, () => random.below(16).toString(16)).join('')
  }
  const shapes = Array.from({ length: 1 + random.below(3) }, () => randomObject(random, 3))
  return Array.from({ length: 8 + random.below(200) }, () => {
    if (random.chance(0.1)) return random.pick(shapes)
    if (random.chance(0.01)) return randomObject(random, 3)
    const uuid = [8, 4, 4, 4, 12].map(hex).join('-')
    const long = random.chance(0.05) ? 'x'.repeat(random.below(3_000)) : hex(random.below(40))
    return JSON.stringify({
      id: hex(32),
      uuid,
      n: random.below(1e9),
      level: random.pick(levels),
      ...(random.chance(0.8) && { code: 200 + random.below(9), one: 'always', odd: hex(9) }),
      text: long,
    })
  })
}

function storedOf(lines: readonly string[]): Stored[] {
  const { segments } = ingest.run(batchOf(lines.join('\n')))
  return segments.flatMap(({ payload }) => partsOf(payload) ?? [])
}

test('the text is that of the plain decoder, for recurring and for hostile events', () => {
  let [round, columns, packed] = [seed, 0, 0]
  forMilliseconds(2_000, () => {
    const lines = randomLines(new Random(++round))
    for (const stored of storedOf(lines)) {
      columns++
      packed += Math.sign(stored.packed.length)
      const text = kernelText(stored)
      assert.equal(text?.toString(), `${lines.join('\n')}\n`, `round ${round}`)
      assert(plainText(stored)?.equals(text!), `round ${round}`)
    }
  })
  assert(columns > 0 && packed > 0, `${columns} in columns, ${packed} of them packed`)
  const corpus = loadCorpus({ kind: 'json', count: 300 })
  for (const stored of storedOf(corpus)) assert(plainText(stored)?.equals(kernelText(stored)!))
})

// That one does not look at templates without events.
test('what is damaged is read as the plain decoder reads it, or refused', () => {
  let round = seed
  let refused = 0
  forMilliseconds(2_000, () => {
    const random = new Random(++round)
    for (const stored of storedOf(randomLines(random))) {
      for (let i = 0; i < 10; i++) {
        const damaged = { ...stored, layout: damage(random, stored.layout) }
        if (random.chance(0.5)) damaged.packed = damage(random, stored.packed)
        if (random.chance(0.1)) damaged.textBytes += random.below(9) - 4
        const text = kernelText(damaged)
        if (text === undefined) refused++
        else assert(plainText(damaged)?.equals(text), `round ${round}`)
      }
    }
  })
  assert(refused > 0)
})

function damage(random: Random, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  if (random.chance(0.2)) return copy.subarray(0, random.below(copy.length + 1))
  for (let i = random.below(3); i >= 0 && copy.length > 0; i--) {
    const place = random.chance(0.5) ? Math.min(64, copy.length) : copy.length
    copy[random.below(place)] = random.chance(0.5)
      ? random.pick([0, 1, 10, 255])
      : random.below(256)
  }
  return copy
}
