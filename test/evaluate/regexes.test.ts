/**
 * Goal: a regular expression of a query finds what RE2 finds, and can cost neither time nor memory
 * without bound.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findRegexFault } from '../../src/language/regex-syntax.ts'
import {
  MATCH_REGEX_BYTES_MAX,
  MATCH_REGEX_TEXT_MAX,
  Regexes,
  RegexMemory,
} from '../../workers/evaluate/regexes.ts'
import { Work, WorkSpentError } from '../../workers/evaluate/work.ts'
import { regexSource } from '../language/random-regex.ts'
import { cpuNow } from '../support/cpu-time.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

function makeTest(source: string, memory = new RegexMemory(), ignoreCase = false) {
  const work = new Work()
  const test = new Regexes(work, memory).makeTest(source, ignoreCase)
  return { work, matches: (text: string) => test(Buffer.from(text), 0, Buffer.byteLength(text)) }
}

test('the whole text is meant by ^ and $, any character by a point', () => {
  for (const [source, yes, no] of [
    ['a.b', ['a\nb', 'xa😀by'], ['ab', 'A.b']],
    ['^a$', ['a'], ['a\n', 'b\na']],
    ['(?m)^a$', ['b\na\nc'], ['ba']],
    ['\\bx\\b', ['a x.'], ['éx1']],
    ['\\w', ['_'], ['é']],
  ] as const) {
    for (const text of yes) assert.equal(makeTest(source).matches(text), true, `${source} ${text}`)
    for (const text of no) assert.equal(makeTest(source).matches(text), false, `${source} ${text}`)
  }
  assert.equal(makeTest('k', new RegexMemory(), true).matches('\u212a'), true)
})

test('every regular expression that the language takes compiles, as the engine takes it', () => {
  let taken = 0
  const property = fc.property(regexSource, (source) => {
    if (findRegexFault(source) !== undefined) return
    taken++
    makeTest(source).matches('aé東 x.b')
    makeTest(source, new RegexMemory(), true).matches('')
  })
  fc.assert(property, fuzzed(seed, 5_000, 4_000))
  assert.ok(taken > 100, `${taken} were taken`)
})

test('the largest that the language takes compile within 2 s', () => {
  const large = ['a{1000}', '(?:a{10}){100}', '\\pL{48}', '[^a]{400}', '.{1000}', 'é{1000}']
  for (const source of [...large, `(?i)${'a'.repeat(1_000)}`, '\\pL'.repeat(49), '\\W{900}']) {
    assert.equal(findRegexFault(source), undefined)
    const startMs = cpuNow()
    makeTest(source).matches('x')
    assert.ok(cpuNow() - startMs < 2_000, source)
  }
})

/** Its table doubles with each repetition: none is large enough for it. */
const EXPLODING = '(?:a|b)*a(?:a|b){20}c'
const randomText = (length: number) => {
  let state = seed | 1
  const chars = Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return (state & 0x10000) === 0 ? 'a' : 'b'
  })
  return `c${chars.join('')}`
}

test('work is counted as it is done: little with a table, much without', () => {
  const text = randomText(20_000)
  const spent = (source: string) => {
    const { work, matches } = makeTest(source)
    matches(text)
    work.left = 1e15
    matches(text)
    return 1e15 - work.left
  }
  assert.ok(spent('a[^b]b.?c$') < 12 * text.length)
  const { work, matches } = makeTest(EXPLODING)
  work.left = 1e8
  assert.throws(() => {
    for (let i = 0; i < 100; i++) matches(randomText(20_000 + i))
  }, WorkSpentError)
})

test('a text is not searched when nothing could end that in time', () => {
  const { work, matches } = makeTest('a[^b]{998}b')
  work.left = 1e15
  assert.equal(matches('x'.repeat(10_000)), false)
  const length = Math.ceil(MATCH_REGEX_TEXT_MAX / 500)
  assert.throws(() => matches('x'.repeat(length)), WorkSpentError)
})

test('tables of many are forgotten together', () => {
  const memory = new RegexMemory()
  const text = randomText(60_000)
  let most = 0
  for (let i = 0; i < 10; i++) {
    makeTest(`${EXPLODING}${i}`, memory).matches(`c${i}${text}`)
    most = Math.max(most, memory.used)
    assert.ok(memory.used <= MATCH_REGEX_BYTES_MAX)
  }
  assert.ok(most > MATCH_REGEX_BYTES_MAX / 2, `${most} bytes at most`)
})
