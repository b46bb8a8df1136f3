/** Goal: a name in a list is found as the query language writes it, and any other as it is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readFieldName } from '../../src/language/field-text.ts'
import { writeField } from '../../src/language/format.ts'
import { splitNames } from '../../src/model/field-path.ts'
import { cpuNow } from '../support/cpu-time.ts'

const CASES = [
  ['http.status', 'http.status', false],
  ['user name', 'user name', false],
  ['`user name`', 'user name', true],
  ['http.`user name`.x', 'http.user name.x', true],
  ['`_level`', '_level', true],
  ['_level', '_level', false],
  ['`a[]`', 'a[]', true],
  ['a[].`b c`', 'a[].b c', false],
  ['`a\\`b\\\\c`', 'a`b\\c', true],
  ['`a,b`', 'a,b', true],
  ['`a`b`', 'a`b', true],
  // None of the language: the name has the backquotes.
  ['`', '`', false],
  ['``', '``', false],
  ['a`b', 'a`b', false],
  ['`a` b', '`a` b', false],
  ['`a`.*', '`a`.*', false],
  ['`open', '`open', false],
] as const

test('names are paths, or as queries have them', () => {
  for (const [text, path, isQuoted] of CASES) {
    assert.deepEqual(readFieldName(text), { path, isQuoted }, text)
  }
})

test('what the language writes for a path is read as that path, alone and in a list', () => {
  const part = fc.string({ minLength: 1, maxLength: 8, unit: fc.constantFrom(...'ab ,`\\[]:._é*') })
  const path = part.filter((text) => !/^\.|\.$|\.\./.test(text))
  fc.assert(
    fc.property(fc.array(path, { minLength: 1, maxLength: 4 }), (paths) => {
      const written = paths.map((one) => {
        return writeField({ kind: 'path', parts: [one], start: 0, end: 0 })
      })
      assert.deepEqual(splitNames(written.join(',')), written)
      assert.deepEqual(
        written.map((text) => readFieldName(text).path),
        paths,
      )
    }),
  )
})

test('lists are split at commas, in linear time', () => {
  assert.deepEqual(splitNames('a,`b,c`,d'), ['a', '`b,c`', 'd'])
  assert.deepEqual(splitNames('p99:`a,b`,count'), ['p99:`a,b`', 'count'])
  assert.deepEqual(splitNames('a`b,c'), ['a`b', 'c'])
  assert.deepEqual(splitNames(''), [''])
  const startMs = cpuNow()
  splitNames('`\\'.repeat(500_000))
  splitNames('`,'.repeat(500_001))
  assert.ok(cpuNow() - startMs < 2_000)
})
