/**
 * Goal: whatever an event holds, a model gets short, valid JSON that says what was cut.
 * Method: tables, and random JSON, compared by what `JSON.parse` makes of both texts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cutStrings, cutText, fitRows, fitWhole } from '../../src/agents/fit-text.ts'
import { readElementTexts } from '../../src/api/json-text.ts'
import { MCP_RESULT_CHARS_MAX, MCP_STRING_CHARS_MAX } from '../../src/limits.ts'

test('a long string is cut and says by how much, a short one is unchanged', () => {
  const long = 'x'.repeat(MCP_STRING_CHARS_MAX + 7)
  assert.equal(
    cutStrings(JSON.stringify({ a: long, b: 'short "quoted"', n: 1 })),
    JSON.stringify({ a: `${'x'.repeat(MCP_STRING_CHARS_MAX)}…(+7)`, b: 'short "quoted"', n: 1 }),
  )
})

test('digits of numbers and duplicate names stay as they were', () => {
  const text = '{"id":9223372036854775807,"x":1.0,"x":1e400}'
  assert.equal(cutStrings(text), text)
})

test('a cut never leaves half a character', () => {
  const text = `${'x'.repeat(9)}😀rest`
  assert.equal(cutText(text, 10), `${'x'.repeat(9)}…(+6)`)
})

test('cutting any JSON gives the same JSON with its strings cut', () => {
  const cut = (value: unknown): unknown => {
    if (typeof value === 'string') return cutText(value, MCP_STRING_CHARS_MAX)
    if (Array.isArray(value)) return value.map(cut)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, cut(one)]))
  }
  const string = fc.oneof(fc.string(), fc.string({ minLength: 480, maxLength: 1_200 }))
  const value = fc.array(
    fc.dictionary(fc.string(), fc.oneof(string, fc.double(), fc.array(string))),
  )
  fc.assert(
    fc.property(value, (any) => {
      const text = JSON.stringify(any)
      // What JSON escapes is longer as text than as a string: it may be looked at, and not be cut.
      assert.deepEqual(JSON.parse(cutStrings(text)), JSON.parse(JSON.stringify(cut(any))))
    }),
  )
})

test('rows are shown while they fit', () => {
  assert.deepEqual(fitRows(['"aaa"', '"bbb"', '"ccc"'], 12), {
    json: '"aaa","bbb"',
    count: 2,
    isCut: true,
  })
  assert.equal(fitRows([]).isCut, false)
})

test('no text is longer than the limit on a result', () => {
  assert.ok(fitWhole('x'.repeat(1_000_000)).length <= MCP_RESULT_CHARS_MAX)
})

test('elements of an array are reported as they were written', () => {
  assert.deepEqual(readElementTexts('[]'), [])
  assert.deepEqual(readElementTexts(' [ {"a":[1,2]} , "x,]" ,1.0]'), [
    '{"a":[1,2]}',
    '"x,]"',
    '1.0',
  ])
})
