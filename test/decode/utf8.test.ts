/** Goal: invalid UTF-8 is repaired as browsers do, and changes nothing beside it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Part } from '../../src/model/batch/accepted-batch.ts'
import { isCleanUtf8, repairParts } from '../../workers/decode/utf8.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

/** The WHATWG decoder, which keeps a byte order mark when told to. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

const piece = fc.oneof(
  fc.constantFrom('ascii', '\n', 'é', '日本', '😀', '\ufeff').map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom('ff', 'c3', 'e2', 'e282', 'f09f98', 'eda080', 'c080', 'f4908080').map((hex) => {
    return Buffer.from(hex, 'hex')
  }),
)
const body = fc.array(piece, { maxLength: 12 }).map((pieces) => Buffer.concat(pieces))

const isByLine = ({ framing }: Pick<Part, 'framing'>) => {
  return ['ndjson', 'text', 'bulk'].includes(framing)
}

test('each part is what the WHATWG decoder makes of it', () => {
  const framings = ['ndjson', 'array', 'text', 'document', 'bulk'] as const
  fc.assert(
    fc.property(fc.array(body, { minLength: 1, maxLength: 5 }), (bodies) => {
      const parts: { framing: (typeof framings)[number]; start: number; end: number }[] = []
      let length = 0
      for (const [i, each] of bodies.entries()) {
        parts.push({ framing: framings[i]!, start: length, end: length + each.length })
        length += each.length + 1
      }
      const bytes = Buffer.concat(bodies.flatMap((each) => [each, Buffer.from('\n')]))
      const repaired = repairParts(bytes, parts, isByLine)
      for (const [i, part] of repaired.parts.entries()) {
        const text = Buffer.from(repaired.bytes.subarray(part.start, part.end)).toString()
        const expected = decoder.decode(bodies[i]!)
        assert.equal(text, expected)
        assert.equal(repaired.bytes[part.end], 0x0a)
        assert.equal(part.framing, framings[i])
        const units = isByLine(part) ? lines(bodies[i]!) : [bodies[i]!]
        assert.equal(repaired.repaired[i], units.filter((unit) => !isCleanUtf8(unit)).length)
      }
    }),
    fuzzed(seed, 1_500, 400),
  )
})

function lines(bytes: Buffer): Buffer[] {
  return bytes
    .toString('latin1')
    .split('\n')
    .map((line) => Buffer.from(line, 'latin1'))
}

test('a part keeps what its surface asked for', () => {
  const itemFields = { index: 1, create: 2, update: 3, delete: 4 }
  const part = { framing: 'bulk', start: 0, end: 1, options: { itemFields } }
  const { parts } = repairParts(Buffer.from('ff0a', 'hex'), [part], isByLine)
  assert.deepEqual(parts, [{ ...part, end: 3 }])
})

test('clean input is known as such', () => {
  assert(isCleanUtf8(Buffer.from('é日本😀\ufeff\0')))
  for (const hex of ['ff', 'c080', 'eda080', 'f4908080', 'e282']) {
    assert(!isCleanUtf8(Buffer.from(hex, 'hex')), hex)
  }
})
