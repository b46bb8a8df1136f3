/**
 * Goal: an element that is not put on the tape is judged as `JSON.parse` judges it, however deep,
 * and a syntax error in it fails the part.
 * Method: differential, against `JSON.parse`; valid texts, and the same with bytes changed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DEPTH_MAX, EVENT_BYTES_MAX } from '../../src/limits.ts'
import { JsonSkipper } from '../../workers/tape/json-skip.ts'
import { decodePart } from '../decode/decode-part.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const skipper = new JsonSkipper()

function isValid(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function assertSame(text: string): void {
  const bytes = Buffer.from(text)
  const end = skipper.skip(bytes, 0, bytes.length)
  const isWhole = end >= 0 && skipper.space(end) === bytes.length
  assert.equal(isWhole, isValid(text), JSON.stringify(text))
  if (end < 0) assert.ok(skipper.errorAt <= bytes.length && skipper.errorCode > 0)
}

test('every token and what is almost one', () => {
  for (const text of [
    ...[
      '0',
      '-0',
      '10',
      '1.5',
      '1e5',
      '1E+5',
      '1e-5',
      '-1.25e10',
      '01',
      '-',
      '1.',
      '.5',
      '1e',
      '+1',
    ],
    ...['1e+', '-a', '0x1', 'true', 'tru', 'truex', 'false', 'null', 'nul', 'NaN', 'Infinity'],
    ...['""', '"', '"\\', '"\\"', '"\\x"', '"\\u12"', '"\\u12G4"', '"\\uD800"', '"\t"', '"\u0000"'],
    ...[
      '"\\b\\f\\n\\r\\t\\/\\\\\\""',
      '"\u007f\u2028"',
      "'a'",
      '[]',
      '[ ]',
      '[1,]',
      '[,1]',
      '[1 2]',
    ],
    ...['[1,2]', '[[[]]]', '[}', '{]', '{}', '{ }', '{"a"}', '{"a":}', '{"a":1,}', '{"a":1 "b":2}'],
    ...[
      '{a:1}',
      '{"a":1,"b":[{}]}',
      '{1:1}',
      ' \r\n\t1 \r\n\t',
      '\u00a01',
      '\ufeff1',
      '',
      ' ',
      '1 1',
    ],
    ...['[1]]', '[', '{', '{"a":[', '[{"a":1]}', '\f1', '\v1', '/* */1', '[1//\n]'],
  ]) {
    assertSame(text)
  }
})

test('as JSON.parse, valid and with a byte changed', () => {
  const texts = fc.json({ depthSize: 'medium' })
  const change = fc.tuple(fc.nat(), fc.constantFrom(...'[]{}",:0e-\\ \nu'), fc.boolean())
  fc.assert(
    fc.property(texts, fc.array(change, { maxLength: 2 }), (json, changes) => {
      let text = json
      for (const [at, character, replaces] of changes) {
        const place = at % (text.length + 1)
        text = text.slice(0, place) + character + text.slice(place + (replaces ? 1 : 0))
      }
      assertSame(text)
    }),
    fuzzed(seed, 2_000, 2_000),
  )
})

test('a million levels are no matter', () => {
  const levels = 1_000_000
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const bytes = Buffer.from(`${open.repeat(levels)}1${close.repeat(levels)}`)
    assert.equal(skipper.skip(bytes, 0, bytes.length), bytes.length)
    assert.equal(skipper.skip(bytes, 0, bytes.length - 1), -1)
  }
})

const OPEN = '['.repeat(DEPTH_MAX + 2)
const CLOSE = ']'.repeat(DEPTH_MAX + 2)
const LONG = 'x'.repeat(EVENT_BYTES_MAX)

test('a syntax error in an element too deep or too large fails the part, with its line', () => {
  for (const element of [
    `{"a":${OPEN}1 2${CLOSE}}`,
    `{"a":${OPEN}${CLOSE},"b"}`,
    `{"a":${OPEN}tru${CLOSE}}`,
    `{"a":${OPEN}"\\x"${CLOSE}}`,
    `{"a":${OPEN}${CLOSE}}}`,
    `{"a":${OPEN}${CLOSE}} {}`,
    `{"a":"${LONG}","b":01}`,
    `{"a":"${LONG}" "b":1}`,
  ]) {
    for (const framing of ['array', 'document'] as const) {
      const body = framing === 'array' ? `{"n":1},\n${element}` : `\n${element}`
      const { events, result } = decodePart(framing, body)
      assert.equal(result.fatal?.code, 'malformed', element.slice(0, 20))
      assert.equal(result.fatal?.line, 2)
      assert.deepEqual(events, [])
    }
  }
})

test('one whose syntax is right is rejected alone, white space behind it or not', () => {
  for (const element of [`{"a":${OPEN}{"b":"]"}${CLOSE}}`, `{"a":"${LONG}"}`]) {
    for (const space of ['', ' ', '\n']) {
      const { events, result } = decodePart('array', `{"n":1},${element}${space},{"n":2}`)
      assert.deepEqual([events.length, result.rejects.length, result.fatal], [2, 1, undefined])
    }
    const { result } = decodePart('document', `${element}\n`)
    assert.deepEqual([result.accepted, result.rejects.length, result.fatal], [0, 1, undefined])
  }
})
