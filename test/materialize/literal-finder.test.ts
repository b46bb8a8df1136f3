/**
 * Goal: a literal is found wherever it is, in either case where that is asked, and in the forms
 * that fold into ASCII; text that is made to be slow is not.
 * Method: short random texts of few letters, compared with `String.includes` of folded texts; the
 * slowest texts against a clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { foldCase } from '../../src/language/words.ts'
import { LiteralFinder } from '../../src/materialize/literal-finder.ts'
import { cpuNow } from '../support/cpu-time.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const lettersOf = (letters: string, maxLength: number) =>
  fc.array(fc.constantFrom(...letters), { maxLength }).map((parts) => parts.join(''))
const texts = lettersOf('aAbBiIkK\u0130\u212aé-', 40)

test('in either case', () => {
  const literals = lettersOf('abik-', 6).filter((text) => text !== '')
  const property = fc.property(literals, texts, (literal, text) => {
    const finder = new LiteralFinder({ bytes: Buffer.from(literal), ignoresCase: true })
    const isThere = foldCase(text).includes(literal)
    const mayBe = finder.mayBeIn(Buffer.from(text))
    if (isThere) assert.ok(mayBe)
    // Only these make it unsure.
    if (!isThere && !/[\u0130\u212a]/.test(text)) assert.ok(!mayBe)
  })
  fc.assert(property, fuzzed(seed, 20_000, 3_000))
})

test('as it is spelled', () => {
  const property = fc.property(texts, texts, (literal, text) => {
    fc.pre(literal !== '')
    const finder = new LiteralFinder({ bytes: Buffer.from(literal), ignoresCase: false })
    const bytes = Buffer.from(text)
    if (literal.length <= 20) assert.equal(finder.mayBeIn(bytes), text.includes(literal))
    else if (text.includes(literal)) assert.ok(finder.mayBeIn(bytes))
  })
  fc.assert(property, fuzzed(seed, 20_000, 3_000))
})

test('a literal and a text that are made to be slow end soon', () => {
  const text = Buffer.alloc(4 * 1024 * 1024, 'a')
  for (const ignoresCase of [true, false]) {
    for (const literal of [`b${'a'.repeat(4_000)}`, `${'a'.repeat(30)}b${'a'.repeat(30)}`]) {
      const finder = new LiteralFinder({ bytes: Buffer.from(literal), ignoresCase })
      const startedAt = cpuNow()
      finder.mayBeIn(text)
      const ms = cpuNow() - startedAt
      assert.ok(ms < 500, `${ms} ms`)
    }
  }
})
