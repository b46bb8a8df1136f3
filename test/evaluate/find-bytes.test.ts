/** Goal: bytes are found where they first are, in linear time whatever they are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Needle } from '../../workers/evaluate/find-bytes.ts'
import { cpuNow } from '../support/cpu-time.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const letters = fc.constantFrom('a', 'a', 'a', 'b')
const text = (minLength: number, maxLength: number) =>
  fc.array(letters, { minLength, maxLength }).map((parts) => parts.join(''))

test('as Buffer finds them, within the range', () => {
  const property = fc.property(text(0, 400), text(1, 12), fc.nat(400), (hay, needle, from) => {
    const bytes = Buffer.from(`${hay}${needle}`)
    const start = Math.min(from, hay.length)
    const found = new Needle(Buffer.from(needle)).find(bytes, start, hay.length)
    assert.equal(found, Buffer.from(hay).indexOf(needle, start))
  })
  fc.assert(property, fuzzed(seed, 5_000, 2_000))
})

test('what nearly matches everywhere takes no longer than a few looks at each byte', () => {
  const bytes = Buffer.alloc(1_000_000, 'a')
  const needle = new Needle(Buffer.from(`${'a'.repeat(4_000)}b`))
  const timeOf = () => {
    const startMs = cpuNow()
    assert.equal(needle.find(bytes, 0, bytes.length), -1)
    return cpuNow() - startMs
  }
  assert.ok(Math.min(timeOf(), timeOf(), timeOf()) < 100)
})
