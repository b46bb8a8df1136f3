/** Goal: words are found in bytes as in folded text, whatever folds into what. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { foldCase, makeTextTest, splitWords } from '../../src/language/words.ts'
import { makeWordTest } from '../../workers/evaluate/word-test.ts'
import { Work } from '../../workers/evaluate/work.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

function has(asked: string, text: string): boolean {
  const bytes = Buffer.from(`x${text}x`)
  return makeWordTest(asked, new Work())(bytes, 1, bytes.length - 1)
}

function expected(asked: string, text: string): boolean {
  const folded = foldCase(text)
  const wanted = makeTextTest(asked)
  if (wanted.kind === 'empty') return folded === ''
  if (wanted.kind === 'substring') return folded.includes(wanted.text)
  return ` ${splitWords(folded).join(' ')} `.includes(` ${wanted.words.join(' ')} `)
}

test('only two characters outside ASCII fold into it', () => {
  const found: string[] = []
  for (let code = 0x80; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const char = String.fromCodePoint(code)
    if (/[\0-\x7f]/.test(foldCase(char))) found.push(char)
  }
  assert.deepEqual(found, ['İ', '\u212a'])
})

const PIECES = [
  'a',
  'A',
  'b',
  'k',
  'K',
  'i',
  '1',
  ' ',
  ' ',
  '-',
  '_',
  'é',
  'É',
  'İ',
  '\u212a',
  'Σ',
  '東',
  '，',
  '“',
  '\u00a0',
  '\u001b[32m',
  '\u001b(B',
  '\u001b',
  '😀',
]
const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((parts) => parts.join(''))

test('as in the folded text', () => {
  const property = fc.property(text, text, (asked, other) => {
    for (const each of [other, `${other} ${asked}`, `${asked.toUpperCase()}-${other}`]) {
      assert.equal(has(asked, each), expected(asked, each), JSON.stringify([asked, each]))
    }
  })
  fc.assert(property, fuzzed(seed, 20_000, 3_000))
})
