/**
 * Goal: an input box learns what is being typed, wherever the cursor is and whatever is wrong.
 * Method: a table, with the cursor as `‸`; then every position in random texts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { complete } from '../../src/language/complete.ts'
import { writeField } from '../../src/language/format.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'
import { anyText } from './random-query.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const TABLE = [
  ['‸', 'clause', ''],
  ['lev‸', 'clause', 'lev'],
  ['lev‸el:error', 'clause', 'lev'],
  ['a AND ‸', 'clause', ''],
  ['a AND NOT le‸', 'clause', 'le'],
  ['(a OR k8s.p‸', 'clause', 'k8s.p'],
  ['level‸ ', 'clause', 'level'],
  ['level ‸', 'operator', ''],
  ['level:error ‸', 'operator', ''],
  ['level:error A‸', 'clause', 'A'],
  ['(a) ‸', 'operator', ''],
  ['level:‸', 'value of level', ''],
  ['level: ‸', 'value of level', ''],
  ['level:er‸', 'value of level', 'er'],
  ['level>=‸', 'value of level', ''],
  ['level = e‸', 'value of level', 'e'],
  ['level:"er‸', 'value of level', 'er'],
  ['level:"a b‸', 'value of level', 'a b'],
  ['level:(error OR w‸', 'value of level', 'w'],
  ['level:(error,‸', 'value of level', ''],
  ['x:[1 TO ‸', 'value of x', ''],
  ['_exists_:us‸', 'value', 'us'],
  ['items[]:{pr‸', 'clause in items[]', 'pr'],
  ['items[]:{price:4 name:x‸', 'value of name in items[]', 'x'],
  ['"some te‸', 'none', ''],
  // A fault before the cursor.
  ['a) lev‸', 'clause', 'lev'],
  ['| level:er‸', 'value of level', 'er'],
] as const

for (const [marked, expected, prefix] of TABLE) {
  test(`${marked}: ${expected} ${prefix}`, () => {
    const offset = marked.indexOf('‸')
    const text = marked.replace('‸', '')
    const found = complete(text, offset)
    const field = found.field === undefined ? '' : ` of ${writeField(found.field)}`
    const element = found.element === undefined ? '' : ` in ${writeField(found.element)}`
    assert.equal(`${found.kind}${field}${element}`, expected)
    assert.equal(found.prefix, prefix)
    assert.equal(found.end, offset)
    if (!found.isQuoted) assert.equal(text.slice(found.start, found.end), prefix)
  })
}

test('nothing is thrown anywhere', () => {
  const property = fc.property(anyText, fc.nat(60), (text, offset) => {
    const { start, end } = complete(text, offset)
    assert.ok(start >= 0 && start <= end && end <= text.length)
  })
  fc.assert(property, fuzzed(seed, 10_000, 3_000))
})
