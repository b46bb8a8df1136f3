/**
 * Goal: a field stays the same field through addresses, what people type, and the API, whatever it
 * is called; unlike values look unlike, and nothing is hidden in them.
 * Method: tables, and properties over random names.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  apiField,
  type EventField,
  fieldListText,
  fieldOfApi,
  fieldText,
  isCounted,
  pathField,
  readFieldList,
  readFieldText,
  systemField,
} from '../../console/base/field.ts'
import { shownValue } from '../../console/base/shown-value.ts'
import { isQueryablePath } from '../../src/language/parse-field.ts'
import { visibleLine, visibleText } from '../../src/language/visible-text.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const name = fc.oneof(
  fc.string({ minLength: 1, unit: 'binary', maxLength: 12 }),
  fc.stringMatching(/^[a`,.[\] _\\u0]{1,8}$/),
  fc.constantFrom('_level', '_stream', '_bucket', 'figure', '_exists_', '`_level`', 'a[]', 'a,b'),
)
const field: fc.Arbitrary<EventField> = fc.oneof(
  name.filter((one) => isQueryablePath([one])).map((one) => pathField([one])),
  fc.constantFrom('_level', '_id', '_service').map(systemField),
  fc.constant({ kind: 'stream' as const }),
)
const partsOf = (one: EventField | undefined) =>
  one?.kind === 'path' ? one.parts : one?.kind === 'system' ? one.name : one?.kind

test('a field is the same field through an address, alone and among others', () => {
  const property = fc.property(fc.uniqueArray(field, { selector: fieldText }), (fields) => {
    const params = new URLSearchParams({ cols: fieldListText(fields) })
    const read = readFieldList(new URLSearchParams(params.toString()).get('cols')!)
    assert.deepEqual(read.map(partsOf), fields.map(partsOf))
    for (const one of fields) assert.deepEqual(partsOf(readFieldText(fieldText(one))), partsOf(one))
  })
  fc.assert(property, fuzzed(seed, 3_000, 3_000))
})

test('and through the API, where a name never becomes a label, a bucket or an array', () => {
  const property = fc.property(field, (one) => {
    const written = apiField(one)
    assert.deepEqual(partsOf(fieldOfApi(written)), partsOf(one))
    const isLabel = [
      '_level',
      '_service',
      '_shape',
      '_pattern',
      '_stream',
      '_bucket',
      'figure',
      '_id',
    ]
    if (one.kind === 'path') assert.ok(!isLabel.includes(written), written)
  })
  fc.assert(property, fuzzed(seed, 3_000, 3_000))
  assert.equal(apiField(pathField(['http.status'])), 'http.status')
  assert.equal(apiField(pathField(['a[]b'])), 'a[]b')
  assert.equal(apiField(pathField(['a[]'])), '`a[]`')
  assert.equal(apiField(pathField(['`q`'])), '`\\`q\\``')
})

test('what people type, and what older addresses have', () => {
  const list = (text: string) => readFieldList(text).map(partsOf)
  assert.deepEqual(list('status, user.id,,a b'), [['status'], ['user.id'], ['a b']])
  assert.deepEqual(list('_level,`_level`,_stream,`_stream`'), [
    '_level',
    ['_level'],
    'stream',
    ['_stream'],
  ])
  assert.deepEqual(list('items[].price,`items[].price`'), [['items', 'price'], ['items[].price']])
  assert.deepEqual(list('status,status'), [['status']])
  assert.deepEqual(list('`open,b'), [['`open'], ['b']])
  assert.deepEqual(partsOf(readFieldText(' user name ')), ['user name'])
  assert.equal(readFieldText(''), undefined)
  assert.equal(isCounted(readFieldText('items[].price')!), false)
  assert.equal(isCounted(readFieldText('_id')!), false)
  assert.equal(isCounted(pathField(['é'.repeat(513)])), false)
  assert.equal(isCounted(pathField(['é'.repeat(512)])), true)
})

test('unlike values look unlike', () => {
  const values = ['200', '"200"', 'true', '"true"', 'null', '"null"', '""', '" "', '"(no value)"']
  values.push(
    '[1]',
    '"[1]"',
    '{}',
    '"{}"',
    '"a"',
    '"a "',
    '"\\"a\\""',
    '1.0',
    '"1.0"',
    '-1',
    '"-1"',
  )
  const shown = values.map(shownValue)
  assert.equal(new Set(shown).size, values.length, shown.join(' | '))
  assert.deepEqual(['"cart"', '200', '"200"', 'null'].map(shownValue), [
    'cart',
    '200',
    '"200"',
    '(no value)',
  ])
})

test('nothing that is not seen is left, and JSON stays the same JSON', () => {
  assert.equal(
    visibleText('a\u001b[31m\u0007\u0000\u202e\u200b\u2028\u{e0001}\ud800 \n\t\u200d'),
    'a\\u001b[31m\\u0007\\u0000\\u202e\\u200b\\u2028\\udb40\\udc01\\ud800 \n\t\u200d',
  )
  assert.equal(visibleLine('a\nb\tc'), 'a\\nb\\tc')
  const property = fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
    const shown = visibleText(text)
    assert.doesNotMatch(shown, /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}]/u)
    assert.deepEqual(JSON.parse(shown), JSON.parse(text))
  })
  fc.assert(property, fuzzed(seed, 2_000, 2_000))
})
