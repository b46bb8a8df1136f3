/**
 * Goal: whatever the query and the event, a worker is not held for long: the query is decided, or
 * ends with what it may cost.
 * Method: the largest events there may be, made of what is slow to search, and the most costly
 * queries within the language's bounds. Steps are counted; that they are about nanoseconds is held
 * to by the clock, with room for a busy machine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../src/language/parse.ts'
import { QueryError } from '../../src/language/query-error.ts'
import {
  EVENT_BYTES_MAX,
  QUERY_CLAUSES_MAX,
  QUERY_LEVELS_MAX,
  QUERY_TEXT_BYTES_MAX,
  QUERY_WILDCARDS_MAX,
} from '../../src/limits.ts'
import { Evaluator } from '../../workers/evaluate/evaluator.ts'
import { WorkSpentError } from '../../workers/evaluate/work.ts'
import { cpuNow } from '../support/cpu-time.ts'
import { ONLY_LONG, testSeed } from '../support/fuzzing.ts'
import { TapedBatch } from './taped-batch.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this choice)`)

const ORIGIN = { segmentId: '1', ingestedAtMs: 0, firstEvent: 0 }
const STEPS = 100_000_000
/** A step is about a nanosecond; one text more may be searched, and other tests run beside. */
const MS_MAX = 3_000

const BYTES = EVENT_BYTES_MAX - 1_000
const filled = (text: string, bytes: number) => text.repeat(Math.floor(bytes / text.length))
const list = (item: string) => `[${filled(`${item},`, BYTES).slice(0, -1)}]`

const EVENTS = {
  letters: `{"msg":"c${filled('a', BYTES)}"}`,
  mixture: `{"msg":"c${Array.from({ length: BYTES / 40 }, (_, at) => {
    return (at * 0x9e3779b1).toString(2).slice(-40).replaceAll('0', 'a').replaceAll('1', 'b')
  }).join('')}"}`,
  words: `{"msg":"${filled('a ', BYTES)}"}`,
  han: `{"msg":"${filled('東', BYTES / 3)}"}`,
  escapes: `{"msg":"${filled('\\u0061', BYTES)}"}`,
  keys: `{${Array.from({ length: BYTES / 13 }, (_, at) => `"k${at}":"a"`).join(',')}}`,
  objects: `{"l":${list('{"a":1}')}}`,
  strings: `{"l":${list('"a"')}}`,
  nested: `{"l":${list(`{"l":[${filled('{"a":"1"},', 3_000).slice(0, -1)}]}`)}}`,
}

const many = (count: number, make: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => make(at)).join(' OR ')

const QUERIES = [
  many(QUERY_CLAUSES_MAX, (at) => `w${at}`),
  many(QUERY_CLAUSES_MAX, (at) => `msg="${at}"`),
  `"${'a '.repeat(4_000)}b"`,
  `"${'東'.repeat(2_600)}大"`,
  `msg=${'*a'.repeat(QUERY_WILDCARDS_MAX - 1)}b*`,
  `msg=*${'a'.repeat(8_000)}b*`,
  `msg=${'a?'.repeat(QUERY_WILDCARDS_MAX - 1)}b*`,
  `${'a?'.repeat(QUERY_WILDCARDS_MAX)}b`,
  many(QUERY_WILDCARDS_MAX, (at) => `*:b${at}`),
  many(60, (at) => `*:/a[^c]{${at + 1}}x/`),
  many(250, (at) => `l[].a:${at + 2}`),
  many(120, (at) => `l[]:{a:${at + 2} b:1}`),
  many(250, (at) => `l[].l[].a:x${at}`),
  'msg:/(?:a|b)*a(?:a|b){20}c/',
  'msg:/(?:a|b){0,400}a(?:a|b){400}c/',
  many(200, (at) => `msg:/a[ab]{${at}}c/`),
  `msg:/${'(?:a|b)'.repeat(50)}.*${'[^c]'.repeat(90)}x/`,
  'msg:/c(?:\\pL{3}x?){15}[^ab]/',
]

/** Of an event `npm test` has one query in three, others for the next; the long run has all. */
function queriesOf(event: number): readonly string[] {
  return QUERIES.filter((_, at) => !ONLY_LONG || (at + event + seed) % 3 === 0)
}

for (const [index, [name, json]] of Object.entries(EVENTS).entries()) {
  test(`the largest event of ${name} holds up no query for long`, () => {
    const bytes = Buffer.byteLength(json)
    assert.ok(bytes <= EVENT_BYTES_MAX && bytes > EVENT_BYTES_MAX / 2)
    const batch = new TapedBatch()
    batch.load([json], ORIGIN)
    batch.cursor.moveTo(0)
    for (const text of queriesOf(index)) {
      const evaluator = new Evaluator(parse(text), ['msg'])
      evaluator.work.left = STEPS
      evaluator.begin(batch.cursor)
      const startMs = cpuNow()
      try {
        evaluator.matches(batch.cursor)
      } catch (error) {
        assert.ok(error instanceof WorkSpentError, String(error))
      }
      const ms = cpuNow() - startMs
      assert.ok(ms < MS_MAX, `${text.slice(0, 60)} took ${Math.round(ms)} ms`)
    }
  })
}

test('the deepest queries are evaluated', () => {
  const batch = new TapedBatch()
  const levels = QUERY_LEVELS_MAX - 1
  batch.load([`{"a":1,"l":[{"l":[{"l":[{"l":[{"a":1}]}]}]}]}`], ORIGIN)
  const deep = `${'(a:1 OR b:2 '.repeat(levels)}a:1${')'.repeat(levels)}`
  const elements = `${'l[]:{'.repeat(levels)}a:1${'}'.repeat(levels)}`
  for (const [text, expected] of [
    [deep, true],
    [elements, false],
    ['l[]:{l[]:{l[]:{NOT a:1}}}', true],
  ] as const) {
    const evaluator = new Evaluator(parse(text), [])
    evaluator.begin(batch.cursor)
    batch.cursor.moveTo(0)
    assert.equal(evaluator.matches(batch.cursor), expected, text.slice(0, 40))
  }
})

test('what is past the bounds of the language never comes here', () => {
  for (const text of [
    '('.repeat(QUERY_TEXT_BYTES_MAX),
    '*a'.repeat(10_000),
    '*a'.repeat(QUERY_WILDCARDS_MAX + 1),
    `/${'a'.repeat(1_025)}/`,
    'msg:/(a*)*b\\1/',
    'msg:/(?:a{1000}){1000}/',
  ]) {
    assert.throws(() => parse(text), QueryError, text.slice(0, 40))
  }
})
