/**
 * Goal: a filter that is made by clicking a value finds the events that have it: always valid, with
 * any name and value, added once, and taken back whole.
 * Method: clauses of random payloads, judged by the reference evaluator of the language's tests.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type JsonSpan,
  jsonElements,
  jsonKind,
  jsonMembers,
  jsonObject,
  wholeJson,
} from '../../console/base/exact-json.ts'
import { type EventField, pathField, readFieldText, systemField } from '../../console/base/field.ts'
import {
  elementPlaces,
  fieldAt,
  isSeen,
  memberPlace,
  type Place,
  payloadPlace,
} from '../../console/events/place.ts'
import { clauseOfValue, type Facet } from '../../console/explore/facet.ts'
import {
  clauseFor,
  clauseForJson,
  hasClause,
  systemClause,
  withClause,
  withoutClause,
} from '../../console/explore/filters.ts'
import { highlight } from '../../console/query/highlight.ts'
import { format } from '../../src/language/format.ts'
import { parse } from '../../src/language/parse.ts'
import { FIELD_PATH_BYTES_MAX, NESTED_COLUMNS_DEPTH_MAX } from '../../src/limits.ts'
import { naiveMatches } from '../language/naive.ts'
import { eventText, TEXT_FIELDS } from '../language/random-event.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const json = (value: unknown) => wholeJson(JSON.stringify(value))

function finds(query: string, payload: string, textFields: readonly string[] = []): boolean {
  const event = {
    json: payload,
    id: '1-0',
    ingestedAtNs: 0n,
    eventTimeNs: 0n,
    shape: '0000000000000000',
    level: undefined,
    service: undefined,
  }
  return naiveMatches(parse(query), event, textFields)
}

/** The values that the tree of an event shows, with what its menu knows of them. */
function* valuesOf(value: JsonSpan, place: Place | undefined): Generator<[Place, JsonSpan]> {
  const kind = jsonKind(value)
  if (kind === 'object') {
    const last = jsonObject(value)
    for (const member of jsonMembers(value)) {
      const isLast = last.get(member.key)?.start === member.value.start
      yield* valuesOf(member.value, isLast ? memberPlace(place, member.key) : undefined)
    }
  } else if (kind === 'array') {
    const placeOf = elementPlaces(place, value)
    for (const element of jsonElements(value)) yield* valuesOf(element, placeOf(element))
  } else if (place !== undefined) yield [place, value]
}

/** Checks every filter of an event; how many there were. */
function assertFinds(payload: string, textFields: readonly string[]): number {
  let count = 0
  const whole = wholeJson(payload)
  for (const [place, value] of valuesOf(whole, payloadPlace(whole))) {
    const field = fieldAt(place)
    const clause = field && isSeen(place, value) ? clauseFor(field, value) : undefined
    if (clause === undefined) continue
    count++
    const included = withClause('', clause, false)!
    const told = `${included} for ${payload}`
    assert.equal(finds(included, payload, textFields), true, told)
    assert.equal(finds(withClause('', clause, true)!, payload, textFields), false, told)
    // Facets and groups, which tell numbers apart, have no values in arrays.
    if (jsonKind(value) !== 'number' || field!.parts.length > 1) continue
    assert.equal(finds(format(clauseFor(field!, value, true)!), payload, textFields), true, told)
  }
  return count
}

test('any value of any event, filtered, finds that event; excluded, it does not', () => {
  let events = 0
  let count = 0
  const property = fc.property(
    eventText,
    fc.constantFrom(...TEXT_FIELDS),
    (payload, textFields) => {
      events++
      count += assertFinds(payload, textFields)
    },
  )
  fc.assert(property, fuzzed(seed, 4_000, 6_000))
  assert.ok(count > events, `${count} filters of ${events} events`)
})

const ODD_NAMES = [
  ...[
    '_level',
    '_service',
    '_id',
    '_stream',
    '_exists_',
    '.a',
    'a.',
    '.',
    'a[]b',
    'a[]',
    '[]',
    'a,b',
  ],
  ...[
    'a`b',
    '`a`',
    '`',
    'a b',
    ' ',
    '"a"',
    "it's",
    'a:b',
    'a\\b',
    'C:\\u0041',
    '*',
    'a.*',
    'a\nb',
    '\t',
  ],
  ...[
    '\u001b[31m',
    '\u0007',
    '\u0000',
    '\u202ea',
    '\u200b',
    'é',
    '名',
    'AND',
    'not',
    '-a',
    '#a',
    '1',
    '',
  ],
]
const oddName = fc.oneof(
  fc.constantFrom(...ODD_NAMES),
  fc.string({ unit: 'binary', maxLength: 12 }),
)

test('so does any value at any name, however odd, and however deep', () => {
  const leaf = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('200', 'true', '', '*', '\u202eabc', '\u001b[0m', 'a\nb', 'x'.repeat(7_000)),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
  )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.dictionary(oddName, tie('value'), { maxKeys: 3 }),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
  }))
  let events = 0
  let count = 0
  const property = fc.property(fc.dictionary(oddName, value, { maxKeys: 4 }), (event) => {
    events++
    count += assertFinds(JSON.stringify(event), [])
  })
  fc.assert(property, fuzzed(seed, 4_000, 6_000))
  assert.ok(count > events / 4, `${count} filters of ${events} events`)
})

test('what no query can ask for has no filter, and no other field in its place', () => {
  const fieldsIn = (payload: unknown) => {
    const whole = json(payload)
    return [...valuesOf(whole, payloadPlace(whole))].map(([place]) => fieldAt(place))
  }
  const nested = Array.from({ length: NESTED_COLUMNS_DEPTH_MAX + 1 }).reduce(
    (inner) => [{ a: inner }],
    1 as unknown,
  )
  for (const payload of [
    { '': 1 },
    { a: [[1]] },
    { a: [{ b: 1 }, 2].slice(0, 1).concat([[1] as never]) },
    { items: [{ '': 1 }] },
    { a: nested },
    { ['x'.repeat(FIELD_PATH_BYTES_MAX + 1)]: 1 },
    { '@`': 1, '^`a': 1, 'a.:`T`': 1 },
  ]) {
    const known = fieldsIn(payload).filter((field) => field !== undefined)
    assert.deepEqual(known, [], JSON.stringify(payload).slice(0, 100))
  }
  assert.equal(clauseFor(pathField(['o']), json({})), undefined)
  assert.equal(clauseFor(pathField(['a', '']), json(null)), undefined)
  assert.equal(clauseFor(pathField(['a']), json('x'.repeat(10_000))), undefined)
})

const fieldOf = (text: string): EventField => {
  const field = readFieldText(text)
  assert.ok(field, text)
  return field
}

test('clauses by the kind of the value', () => {
  const text = (path: string, value: unknown) => {
    const clause = clauseFor(fieldOf(path), value === undefined ? undefined : json(value))
    return clause && format(clause)
  }
  assert.equal(text('status', 200), 'status=200')
  assert.equal(text('status', '200'), 'status="200"')
  assert.equal(text('ok', true), 'ok=true')
  assert.equal(text('gone', null), 'NOT gone:*')
  assert.equal(text('gone', undefined), 'NOT gone:*')
  assert.equal(text('items[].price', 4), 'items[].price=4')
  assert.equal(text('tags[]', 'a'), 'tags[]="a"')
  assert.equal(text('`_level`', 'error'), '`_level`="error"')
  assert.equal(text('_level', 'error'), '_level:error')
  assert.equal(text('_level', null), 'NOT _level:*')
  assert.equal(text('_service', '200'), '_service:"200"')
  assert.equal(text('_stream', '1'), undefined)
  assert.equal(text('evil', '\u202e'), 'evil="\\u202e"')
  const digits = clauseFor(fieldOf('n'), wholeJson('12345678901234567890'))
  assert.equal(format(digits!), 'n=12345678901234567890')
})

test('where 200 and "200" both occur, each is found alone; a cut value by its beginning', () => {
  const values = ['200', '"200"', '"x"'].map((one) => ({ json: one, text: '', count: 1 }))
  const facet: Facet = { field: fieldOf('status'), label: '', values, isEstimated: false }
  const [number, string, other] = values.map((value) => format(clauseOfValue(facet, value)!))
  assert.deepEqual(
    ['{"status":200}', '{"status":"200"}'].map((event) => [
      finds(number!, event),
      finds(string!, event),
    ]),
    [
      [true, false],
      [false, true],
    ],
  )
  assert.equal(other, 'status="x"')
  assert.equal(format(clauseForJson(facet.field, '200')!), 'status=200')
  const cut = { json: JSON.stringify('*'.repeat(256)), text: '', count: 1 }
  const begins = format(clauseOfValue(facet, cut)!)
  assert.equal(finds(begins, JSON.stringify({ status: `${'*'.repeat(256)}rest` })), true)
  assert.equal(finds(begins, JSON.stringify({ status: '*'.repeat(255) })), false)
})

test('a clause is there once, and is taken back whole', () => {
  const value = fc.oneof(fc.string(), fc.integer(), fc.double({ noNaN: true }), fc.boolean())
  fc.assert(
    fc.property(oddName, value, (name, example) => {
      const payload = json({ [name]: example })
      const field = fieldAt(memberPlace(payloadPlace(payload), name))
      const clause = field && clauseFor(field, json(example))
      if (clause === undefined) return
      const text = withClause('level:error', clause, false)!
      assert.equal(format(parse(text)), `level:error AND ${format(clause)}`)
      assert.equal(hasClause(text, clause), 'included')
      assert.equal(withClause(text, clause, false), text)
      assert.equal(withoutClause(text, clause), 'level:error')
      const excluded = withClause('', clause, true)!
      assert.equal(hasClause(excluded, clause), 'excluded')
      assert.equal(withoutClause(excluded, clause), '')
    }),
    fuzzed(seed, 2_000, 3_000),
  )
})

test('what was typed stays, and is put in brackets where it must be', () => {
  const clause = systemClause('_level', 'error')
  assert.equal(withClause('a:1 OR b:2', clause, false), '(a:1 OR b:2) _level:error')
  assert.equal(withClause('a:1   b:2', clause, true), 'a:1   b:2 NOT _level:error')
  assert.equal(withClause('a:(', clause, false), undefined)
  assert.equal(hasClause('a:(', clause), undefined)
  const long = clauseFor(systemField('_service'), json('x'.repeat(5_000)))!
  assert.equal(withClause(`message:${'y'.repeat(5_000)}`, long, false), undefined)
})

test('highlighted parts are together the text, whatever is typed', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a:()"/ *.[\]]*$/)), (text) => {
      const { parts } = highlight(text)
      assert.equal(parts.map((part) => part.text).join(''), text)
    }),
  )
  const { parts, error } = highlight('level:error (x')
  assert.ok(error)
  assert.equal(parts.filter(({ kind }) => kind === 'fault').length, 1)
})
