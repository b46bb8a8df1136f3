/** Goal: a masked sample tells what kind of value it was, and not enough of it to use it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maskedSample } from '../../../workers/transform/redact/masked-sample.ts'

function sampleOf(json: string) {
  const bytes = Buffer.from(`  ${json} `)
  return maskedSample(bytes, 2, bytes.length - 1)
}

test('types, classes of length, and characters', () => {
  const cases = [
    ['""', 'string', '***', '0-8', 'other'],
    ['"1234"', 'string', '***', '0-8', 'digits'],
    ['1234', 'number', '***', '0-8', 'digits'],
    ['-1.5e3', 'number', '***', '0-8', 'other'],
    ['true', 'boolean', '***', '0-8', 'letters'],
    ['{"a":1}', 'object', '***', '0-8', 'other'],
    ['["a","b","c"]', 'array', '***', '9-16', 'other'],
    ['"abcdefghijklmno"', 'string', '***', '9-16', 'letters'],
    ['"abcdefghijklmnop"', 'string', 'ab***', '9-16', 'letters'],
    ['"0123456789abcdef0"', 'string', '01***', '17-32', 'hexadecimal'],
    ['"0123456789ABCDEF0"', 'string', '01***', '17-32', 'hexadecimal'],
    ['"g123456789abcdef0"', 'string', 'g1***', '17-32', 'letters_and_digits'],
    ['"some words of a line"', 'string', 'so***', '17-32', 'words'],
    ['"_123456789abcdef0"', 'string', '***', '17-32', 'other'],
    [`"${'x'.repeat(1_024)}"`, 'string', 'xx***', '129-1024', 'letters'],
    [`"${'x'.repeat(1_025)}"`, 'string', 'xx***', 'over 1024', 'letters'],
    // A piece of a string, as of JSON that is spelled in one.
    ['piece of a string', 'string', 'pi***', '17-32', 'words'],
    ['"', 'string', '***', '0-8', 'other'],
  ] as const
  for (const [json, type, masked, length, characters] of cases) {
    assert.deepEqual(sampleOf(json), { type, masked, length, characters }, json)
  }
})

test('two characters at most, and only of what has at least sixteen', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (value) => {
      const { masked } = sampleOf(JSON.stringify(value))
      assert(masked.endsWith('***') && masked.length <= 5)
      if (Buffer.byteLength(JSON.stringify(value)) < 18) assert.equal(masked, '***')
      else assert(masked === '***' || value.startsWith(masked.slice(0, 2)))
    }),
  )
})
