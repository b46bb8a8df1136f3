/**
 * Goal: numbers keep their text, and everything else is what JSON.parse makes of it.
 * Method: random JSON, read both ways and compared after rounding the exact numbers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readMemberTexts } from '../../src/api/json-text.ts'
import { IngestError } from '../../src/errors.ts'
import { REST_DEPTH_MAX } from '../../src/limits.ts'
import { ExactNumber, parseExactJson } from '../../src/serve/exact-json.ts'

function rounded(value: unknown): unknown {
  if (value instanceof ExactNumber) return Number(value.text)
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, rounded(inner)] as const)
  return Object.fromEntries(entries)
}

test('numbers keep every digit', () => {
  const texts = [
    '0',
    '-0',
    '9007199254740993',
    '-1.50',
    '1e400',
    '1E+2',
    '0.1',
    '18446744073709551615',
  ]
  for (const text of texts) {
    const parsed = parseExactJson(` {"a" : [ ${text} ,"${text}"] } `)
    assert.deepEqual(parsed, { a: [new ExactNumber(text), text] })
  }
})

test('all else is as JSON.parse reads it', () => {
  const json = fc.json({ maxDepth: 5 }).filter((text) => !text.includes('__proto__'))
  fc.assert(
    fc.property(json, (text) => {
      // -0 and 0 differ for deepEqual after JSON.parse too, so both sides keep the sign.
      assert.deepEqual(rounded(parseExactJson(text)), rounded(JSON.parse(text)))
    }),
  )
})

test('strings that look like numbers and quotes stay strings', () => {
  const value = { 'a"1': '\\"2', '3\\': '4', '': '\\\\', b: '{"c":5}' }
  assert.deepEqual(parseExactJson(JSON.stringify(value)), value)
})

test('what is no JSON is malformed', () => {
  for (const text of ['', '{', '{"a":01}', '{"a":NaN}', '1 2', "{'a':1}", '{"a":"\\x"}']) {
    assert.throws(() => parseExactJson(text), IngestError, text)
  }
})

test('what is nested too deep is malformed, and says so', () => {
  const nested = (depth: number) => `${'[{"a":'.repeat(depth / 2)}"[["${'}]'.repeat(depth / 2)}`
  assert.doesNotThrow(() => parseExactJson(nested(REST_DEPTH_MAX)))
  assert.doesNotThrow(() => parseExactJson('[[],[]]'.replace(/\[\]/g, nested(REST_DEPTH_MAX - 2))))
  for (const depth of [REST_DEPTH_MAX + 2, 3_000, 30_000]) {
    assert.throws(() => parseExactJson(nested(depth)), /nested over 64 levels \(REST_DEPTH_MAX\)/)
  }
  for (const open of ['[', '{"a":']) {
    const text = `${open.repeat(REST_DEPTH_MAX + 1)}1`
    const closed = text + (open === '[' ? ']' : '}').repeat(REST_DEPTH_MAX + 1)
    assert.throws(() => parseExactJson(closed), /REST_DEPTH_MAX/)
    assert.throws(() => parseExactJson(open.repeat(500_000)), IngestError)
  }
})

test('a long string costs neither stack nor quadratic time', () => {
  const long = 'a\\"1'.repeat(50_000)
  assert.equal(parseExactJson(JSON.stringify(long)), long)
})

test('members keep their text: digits, duplicates, spaces', () => {
  const text =
    ' { "a" : {"id":9007199254740993,"d":1, "d":2} ,"b":"x,}\\"", "\\u0063": [1.0 ,{}]  }'
  assert.deepEqual(
    [...readMemberTexts(text)],
    [
      ['a', '{"id":9007199254740993,"d":1, "d":2}'],
      ['b', '"x,}\\""'],
      ['c', '[1.0 ,{}]'],
    ],
  )
  assert.equal(readMemberTexts('{"a":1,"a":2}').get('a'), '2')
  assert.equal(readMemberTexts('{ }').size, 0)
})

test('members parse to what the object parses to', () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue())
  fc.assert(
    fc.property(object, fc.constantFrom(undefined, 2), (value, indent) => {
      const members = readMemberTexts(JSON.stringify(value, undefined, indent))
      const parsed = [...members].map(([name, text]) => [name, JSON.parse(text)] as const)
      assert.deepEqual(Object.fromEntries(parsed), JSON.parse(JSON.stringify(value)))
    }),
  )
})
