/**
 * Goal: escapes become the UTF-8 that JavaScript writes for what JSON.parse reads, by the kernel as
 * well, which takes sixteen bytes at a time.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { arena } from '../../workers/kernel/arena.ts'
import { heldBytes } from '../../workers/kernel/arena-copy.ts'
import { kernels } from '../../workers/kernel/kernels.ts'
import { unescapeInto, unescapeToString } from '../../workers/tape/json-string.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'
import { randomString } from './json-cases.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const GUARD = 0xa5

/** `quoted` is a JSON string. */
function assertDecoded(quoted: string, hint = ''): void {
  const bytes = Buffer.from(quoted)
  const expected = Buffer.from(JSON.parse(quoted) as string)
  // Room for as many bytes as the text has, as promised, and guards around it.
  const out = Buffer.alloc(bytes.length + 2, GUARD)
  const end = unescapeInto(bytes, 1, bytes.length - 1, out, 2)
  assert.equal(out.toString('hex', 2, end), expected.toString('hex'), `${quoted} ${hint}`)
  assert.deepEqual([out[0], out[1]], [GUARD, GUARD])
  assert(end <= out.length, quoted)
  assert.equal(unescapeToString(bytes, 1, bytes.length - 1), expected.toString())
  assert.equal(unescapedByKernel(bytes), expected.toString('hex'), `${quoted} ${hint}`)
}

/** In hexadecimal, of a JSON string with its quotes. */
function unescapedByKernel(quoted: Buffer): string {
  const bytes = heldBytes(quoted)
  const out = arena.buffer(quoted.length)
  const { byteOffset } = bytes
  const end = kernels.unescapeText(byteOffset + 1, byteOffset + bytes.length - 1, out.byteOffset)
  const text = out.toString('hex', 0, end - out.byteOffset)
  arena.release(bytes)
  arena.release(out)
  return text
}

const unit = (code: number) => `\\u${code.toString(16).padStart(4, '0')}`

test('every code unit alone, in both cases of hex, between other text', () => {
  for (let code = 0; code <= 0xffff; code += code < 0x900 || code > 0xd700 ? 1 : 37) {
    assertDecoded(`"${unit(code)}"`)
    assertDecoded(`"é${unit(code).toUpperCase().replace('U', 'u')}\\n"`)
  }
})

test('surrogates: every kind of pair at its bounds', () => {
  const codes = [0xd7ff, 0xd800, 0xd801, 0xdbff, 0xdc00, 0xdc01, 0xdfff, 0xe000, 0x41]
  for (const first of codes) {
    for (const second of codes) {
      assertDecoded(`"${unit(first)}${unit(second)}"`)
      assertDecoded(`"${unit(first)}x${unit(second)}"`)
      for (const third of codes) assertDecoded(`"${unit(first)}${unit(second)}${unit(third)}"`)
    }
    assertDecoded(`"${unit(first)}\\n"`)
    assertDecoded(`"${unit(first)}\\\\udc00"`)
    assertDecoded(`"${unit(first)}"`)
  }
})

test('an escape at every place of long strings', () => {
  const words = 'words of the log, é and ü and 日本, some more of them, and an end'
  for (const spelled of ['\\n', '\\\\', '\\u0041', '\\u00e9', '\\ud83d\\ude00', '\\ud83d']) {
    for (let at = 0; at <= words.length; at++) {
      assertDecoded(`"${words.slice(0, at)}${spelled}${words.slice(at)}"`)
      assertDecoded(`"${words.slice(0, at)}${spelled}"`)
    }
  }
})

test('random strings', () => {
  let round = seed
  forMilliseconds(200, () => {
    const random = new Random(++round)
    for (let i = 0; i < 50; i++) assertDecoded(randomString(random), `round ${round}`)
  })
})
