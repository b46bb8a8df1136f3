/** Goal: a group's value is valid JSON with all its digits, cut or not, and a cut one ends. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupJson } from '../../src/read/aggregate/group-json.ts'

const CASES = [
  ['null', '', 'null'],
  ['boolean', 'true', 'true'],
  ['number', '18446744073709551615', '18446744073709551615'],
  ['number', 'inf', '"inf"'],
  ['string', '[1]', '"[1]"'],
  ['other', '[]', '[]'],
  ['other', '["a","b\\"c",null]', '["a","b\\"c",null]'],
  ['other', '[9007199254740993]', '[9007199254740993]'],
  ['other', '["[1,9007199254740993]","{\\"a\\":\\"b]\\"}"]', '[[1,9007199254740993],{"a":"b]"}]'],
  // Strings that only begin like one stay strings.
  ['other', '["[error] no","{x"]', '["[error] no","{x"]'],
  ['other', '[{"a":"[1]"}]', '[{"a":"[1]"}]'],
] as const

test('values are JSON', () => {
  for (const [kind, text, json] of CASES) assert.equal(groupJson({ kind, text }), json)
})

test('an array that was cut anywhere is a string with its beginning', () => {
  const whole = JSON.stringify(Array.from({ length: 60 }, (_, n) => `a]"b\\${n}`))
  assert.equal(groupJson({ kind: 'other', text: whole }), whole)
  for (let chars = 256; chars < whole.length; chars++) {
    const text = whole.slice(0, chars)
    assert.equal(JSON.parse(groupJson({ kind: 'other', text })), text)
  }
})
