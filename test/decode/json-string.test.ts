/** Goal: escapes become the UTF-8 that JavaScript writes for what JSON.parse reads. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { unescapeInto, unescapeToString } from '../../workers/decode/json-string.ts'
import { forMilliseconds, testSeed } from './fuzzing.ts'
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

test('random strings', () => {
  let round = seed
  forMilliseconds(200, () => {
    const random = new Random(++round)
    for (let i = 0; i < 50; i++) assertDecoded(randomString(random), `round ${round}`)
  })
})
