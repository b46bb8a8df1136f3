/**
 * Goal: a request that is not what its route says is refused, with the place, the rule and the kind
 * of the value in the message. Method: a table of messages; random values against random schemas,
 * judged by Ajv as well.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { checkBody, readQueryString } from '../../src/api/check-value.ts'
import { nullable, type ObjectSchema, type Schema } from '../../src/api/schema.ts'
import { IngestError } from '../../src/errors.ts'

const SCHEMA: ObjectSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 5 },
    limit: { type: 'integer', minimum: 1, maximum: 10 },
    basis: { type: 'string', enum: ['a', 'b'] },
    kind: { type: 'string', enum: ['a', 'b', 'c', 'd'] },
    isOn: { type: 'boolean' },
    keep: { type: 'string', must: 'a duration such as "30d"' },
    parts: {
      type: 'array',
      maxItems: 2,
      items: { type: 'object', properties: { fn: { type: 'string' } }, required: ['fn'] },
    },
    cap: nullable({ type: 'integer', minimum: 1 }),
  },
  required: ['name'],
}

function refusalOf(schema: Schema, value: unknown): string | undefined {
  try {
    checkBody(schema, value)
    return undefined
  } catch (cause) {
    assert.ok(cause instanceof IngestError)
    assert.equal(cause.code, 'malformed')
    return cause.message
  }
}

test('the message names the place, the rule and the kind', () => {
  const cases: readonly (readonly [value: unknown, message: string | undefined])[] = [
    [{ name: 'a', limit: 10, basis: 'b', isOn: false, parts: [{ fn: 'x' }], cap: null }, undefined],
    [[], 'the body must be a JSON object, not an array'],
    ['x', 'the body must be a JSON object, not a string'],
    [{}, '"name" is required: a string'],
    [{ name: 1 }, '"name" must be a string, not a number'],
    [{ name: 'abcdef' }, '"name" is 6 characters, over 5'],
    [{ name: 'a', limit: 11 }, '"limit" must be an integer from 1 to 10'],
    [{ name: 'a', limit: 1.5 }, '"limit" must be an integer from 1 to 10'],
    [{ name: 'a', limit: '1' }, '"limit" must be an integer from 1 to 10, not a string'],
    [{ name: 'a', basis: 'c' }, '"basis" must be "a" or "b"'],
    [{ name: 'a', kind: 'z' }, '"kind" must be one of a, b, c, d'],
    [{ name: 'a', isOn: 1 }, '"isOn" must be true or false, not a number'],
    [{ name: 'a', keep: 3 }, '"keep" must be a duration such as "30d", not a number'],
    [{ name: 'a', parts: {} }, '"parts" must be a list, not an object'],
    [{ name: 'a', parts: [1, 2, 3] }, '"parts" has 3 elements, over 2'],
    [{ name: 'a', parts: [{ fn: 'x' }, 2] }, '"parts"[1] must be an object, not a number'],
    [{ name: 'a', parts: [{}] }, '"parts"[0].fn is required: a string'],
    [{ name: 'a', cap: 'x' }, '"cap" must be an integer of at least 1 or null, not a string'],
    [{ name: 'a', cap: 0 }, '"cap" must be an integer of at least 1'],
    [{ name: 'a', what: 1 }, unknownField('"what"')],
    [JSON.parse('{"name":"a","__proto__":1}'), unknownField('"__proto__"')],
    [{ name: 'a', parts: [{ fn: 'x', g: 1 }] }, 'unknown field "g" in "parts"[0]; known are: fn'],
  ]
  for (const [value, message] of cases) assert.equal(refusalOf(SCHEMA, value), message)
})

function unknownField(name: string): string {
  return `unknown field ${name}; known are: ${Object.keys(SCHEMA.properties).join(', ')}`
}

test('parameters of a URL are read as their schemas say', () => {
  const read = (text: string) => readQueryString(SCHEMA, new URLSearchParams(text))
  assert.deepEqual(read('name=1&limit=7&isOn=true'), { name: '1', limit: 7, isOn: true })
  const cases = [
    ['name=a&limit=x', '"limit" must be an integer from 1 to 10, not a string'],
    ['name=a&limit=1e0', '"limit" must be an integer from 1 to 10, not a string'],
    ['name=a&limit=99999999999999999999', '"limit" must be an integer from 1 to 10, not a string'],
    ['name=a&isOn=1', '"isOn" must be true or false, not a string'],
    ['name=a&name=b', 'parameter "name" is given twice'],
    ['name=a&__proto__=b', unknownField('"__proto__"').replace('field', 'parameter')],
    ['limit=1', 'parameter "name" is required'],
  ] as const
  for (const [text, message] of cases) assert.throws(() => read(text), { message })
})

const leaf: fc.Arbitrary<Schema> = fc.oneof(
  fc.constant<Schema>({}),
  fc.constantFrom<Schema>({ type: 'boolean' }, { type: 'null' }),
  fc.record({ type: fc.constantFrom('integer' as const, 'number' as const), minimum: fc.nat(3) }),
  fc.record({ type: fc.constant('string' as const), minLength: fc.nat(1), maxLength: fc.nat(3) }),
  fc.record({ type: fc.constant('string' as const), enum: fc.constant(['a', 'b']) }),
)
const { schema: anySchema } = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.record({ type: fc.constant('array' as const), items: tie('schema'), maxItems: fc.nat(2) }),
    fc.record({
      type: fc.constant('object' as const),
      properties: fc.dictionary(fc.constantFrom('a', 'b'), tie('schema')),
      required: fc.constantFrom([], ['a']),
    }),
    fc.record({ anyOf: fc.tuple(leaf, tie('schema')) }),
  ),
}))
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(null, true, 'a', 'b', '', 'long', 0, 2, 2.5, -1),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value')),
  ),
}))

/** Requests may have no member that the schema does not name. */
function strict(schema: Schema): object {
  const text = JSON.stringify(schema, (_, value) =>
    value?.type === 'object' ? { ...value, additionalProperties: false } : value,
  )
  return JSON.parse(text)
}

test('what is refused is what Ajv refuses', () => {
  const ajv = new Ajv2020({ strict: false })
  fc.assert(
    fc.property(anySchema, fc.array(anyValue, { maxLength: 8 }), (schema, values) => {
      const validate = ajv.compile(strict(schema))
      for (const value of values) {
        assert.equal(refusalOf(schema, value) === undefined, validate(value))
      }
    }),
    { numRuns: 300 },
  )
})
