/**
 * Goal: decoding loosely gives what strict decoding gives where that is possible, never more bytes
 * than before, and leaves alone what is no escape.
 */
import '../../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { unescapeLoosely } from '../../../workers/transform/secrets/loose-escapes.ts'
import { fuzzed, testSeed } from '../../support/fuzzing.ts'

const seed = testSeed()

function decoded(text: string): string {
  const bytes = Buffer.from(`${text}\\`)
  return bytes.toString('latin1', 0, unescapeLoosely(bytes, bytes.length - 1))
}

test('what JSON spells is what JSON.parse reads, for ASCII', (t) => {
  t.diagnostic(`seed ${seed}`)
  const ascii = fc.string({ unit: 'binary-ascii' })
  fc.assert(
    fc.property(ascii, fc.boolean(), (text, isSpelled) => {
      let json = JSON.stringify(text).slice(1, -1)
      if (isSpelled) {
        json = [...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
      }
      assert.equal(decoded(json), text)
    }),
    fuzzed(seed, 500, 2_000),
  )
})

test('any bytes: no longer than before, and the same where there is no backslash', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const copy = Buffer.from(bytes)
      const length = unescapeLoosely(copy, copy.length)
      assert(length <= bytes.length)
      if (!bytes.includes(0x5c)) assert.deepEqual(copy, Buffer.from(bytes))
    }),
    fuzzed(seed, 500, 2_000),
  )
})

for (const [name, before, after] of [
  ['nginx', '{\\x22a\\x22:1}', '{"a":1}'],
  ['shells', '\\033[0m\\e[0m\\x1B[0m', '\x1b[0m\x1b[0m\x1b[0m'],
  ['slashes', 'a:\\/\\/b', 'a://b'],
  ['beyond ASCII', '\\u00fc\\xe4', '\xff\xff'],
  ['no escapes', 'C:\\Windows \\u12 \\xg0 \\09 \\', 'C:\\Windows \\u12 \\xg0 \\09 \\'],
  ['two backslashes', '\\\\n', '\\n'],
] as const) {
  test(`loosely: ${name}`, () => assert.equal(decoded(before), after))
}
