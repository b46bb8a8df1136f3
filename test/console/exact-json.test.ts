/**
 * Goal: the console reads JSON by its places just as `JSON.parse` reads it into values, and keeps
 * what that loses: digits, equal keys, order.
 * Method: random JSON in random white space, against `JSON.parse`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type JsonSpan,
  jsonAt,
  jsonElements,
  jsonKind,
  jsonMembers,
  jsonObject,
  jsonText,
  parseKeeping,
  wholeJson,
} from '../../console/base/exact-json.ts'

function toValue(span: JsonSpan): unknown {
  switch (jsonKind(span)) {
    case 'object':
      return Object.fromEntries(
        [...jsonMembers(span)].map(({ key, value }) => [key, toValue(value)]),
      )
    case 'array':
      return [...jsonElements(span)].map(toValue)
    default:
      return JSON.parse(jsonText(span))
  }
}

test('any JSON, with any white space, is the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom('', ' ', '\n\t'), (value, space) => {
      const text = `${space}${JSON.stringify(value, undefined, space)}${space}`
      assert.deepEqual(toValue(wholeJson(text)), JSON.parse(text))
    }),
  )
})

test('digits, equal keys and quotes in strings stay as they are', () => {
  const text = '{"n":12345678901234567890.10,"a":1,"a":{"b":"x\\\\\\"}"},"e":"\\\\"}'
  const members = [...jsonMembers(wholeJson(text))]
  assert.deepEqual(
    members.map(({ key, value }) => [key, jsonText(value)]),
    [
      ['n', '12345678901234567890.10'],
      ['a', '1'],
      ['a', '{"b":"x\\\\\\"}"}'],
      ['e', '"\\\\"'],
    ],
  )
  assert.equal(jsonKind(jsonObject(wholeJson(text)).get('a')!), 'object')
})

test('elements of arrays of a name stay JSON, however deep; the rest is read', () => {
  const text = '{"groups":[{"group":[9007199254740993,"a"],"n":1},{"group":null}],"next":"7"}'
  assert.deepEqual(parseKeeping(wholeJson(text), 'group'), {
    groups: [{ group: ['9007199254740993', '"a"'], n: 1 }, { group: null }],
    next: '7',
  })
})

test('a dotted path finds nested names and names with dots, the last that counts', () => {
  const at = (text: string, path: string) => {
    const found = jsonAt(wholeJson(text), path)
    return found && jsonText(found)
  }
  assert.equal(at('{"a":{"b":1}}', 'a.b'), '1')
  assert.equal(at('{"a.b":2}', 'a.b'), '2')
  assert.equal(at('{"a":{"b":1},"a.b":2}', 'a.b'), '2')
  assert.equal(at('{"a.b":{"c":3}}', 'a.b.c'), '3')
  assert.equal(at('{"a":[{"b":1}]}', 'a.b'), undefined)
  assert.equal(at('{"a":5}', 'a.b'), undefined)
  assert.equal(at('5', 'a'), undefined)
})
