/** Goal: members of JSON keep their text, and parse to what the whole parses to. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readMemberTexts, withMemberTexts } from '../../src/api/json-text.ts'

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

test('members that are JSON already come behind the others, as they are', () => {
  const texts = { group: '[9007199254740993]', 'a"b': 'null' }
  assert.equal(withMemberTexts({ n: 1 }, texts), '{"n":1,"group":[9007199254740993],"a\\"b":null}')
  assert.equal(withMemberTexts({}, { a: '1' }), '{"a":1}')
  assert.equal(withMemberTexts({}, {}), '{}')
})
