/**
 * Goal: the engine finds what regular expressions mean, whatever letters it looks for beforehand.
 * Method: random expressions and texts with characters outside ASCII and classes of every kind, the
 * real engine, and RE2 in JavaScript, which looks for nothing beforehand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { findRegexFault } from '../../../../src/language/regex-syntax.ts'
import { isMisread, matchSql } from '../../../../src/store/projection/compile/match-sql.ts'
import { SqlParams } from '../../../../src/store/projection/compile/sql-params.ts'
import { ProjectionHarness } from '../../../block/projection-harness.ts'
import { fewest, fuzzMs, testSeed } from '../../../support/fuzzing.ts'

const harness = new ProjectionHarness()
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const PIECES = [
  ...['a', 'b', 'c', 'EUR', 'caf', 'x', 'é', '€', '東', '😀', '.', '^', '$', '|', '(', ')', '(?:'],
  ...['(?i)', '(?i:', '(?-i:', '[', ']', '[]a]', '[^]a]', '[a-z]', '[[:alpha:]]', '[^[:digit:]x]'],
  ...['[[:alpha:]b]', '[a\\]b]', '[é東]', '[a[b]', '[[]', '-', '*', '+', '?', '{2}', '{2,}', '{0}'],
  ...['{0,1}', '{1,3}', '{', '}', '{,2}', '\\d', '\\W', '\\b', '\\A', '\\z', '\\pL', '\\p{^Greek}'],
  ...[
    '\\x41',
    '\\x{e9}',
    '\\.',
    '\\n',
    '\\/',
    '\\\\',
    '\\[',
    '\\]',
    '\\(',
    ',',
    ' ',
    ':',
    '*?',
    '??',
  ],
]
const PARTS = [
  ...[
    'a',
    'b',
    'c',
    'EUR',
    'caf',
    'x',
    'é',
    '€',
    '東',
    '😀',
    'A',
    'z',
    ' ',
    '-',
    '.',
    '[',
    ']',
    '(',
  ],
  ...['\\', '1', 'e9', 'Greek', 'alpha', ':', '{', '}', '2', 'L', '\n', ',', '^', 'n', 'd'],
]
const joined = (from: readonly string[], maxLength: number) =>
  fc.array(fc.constantFrom(...from), { minLength: 1, maxLength }).map((parts) => parts.join(''))

const CASES = [
  ['^café?$', 'caf'],
  ['10 €? ?EUR', '10 EUR'],
  ['[^]a]K', 'xK'],
  ['x[]a]b', 'x]b'],
  ['[a[b]c', '[c'],
  ['é*x', 'x'],
] as const

test('expressions of which the engine looks for letters that a match need not have', async () => {
  for (const [source, text] of CASES) {
    assert.ok(isMisread(source), source)
    const params = new SqlParams()
    const sql = `SELECT ${matchSql('{text:String}', source, params)} AS found`
    const [row] = await harness.clickhouse.query<{ found: number }>(sql, {
      ...params.values,
      text,
    })
    assert.equal(Number(row!.found), 1, source)
  }
  for (const source of ['timed out', 'a.*b', '[a-z]+x', '\\[x\\]?', '^/api/v[0-9]+/', 'é.x']) {
    assert.ok(!isMisread(source), source)
  }
})

test('random expressions', async () => {
  const texts = fc.sample(joined(PARTS, 6), { seed, numRuns: 400 })
  await harness.clickhouse.command('CREATE TABLE texts (i UInt32, t String) ENGINE = Memory')
  await harness.clickhouse.command(
    `INSERT INTO texts SELECT i - 1, t FROM (SELECT {texts:Array(String)} AS texts)
     ARRAY JOIN texts AS t, arrayEnumerate(texts) AS i`,
    { texts },
  )
  const deadline = performance.now() + fuzzMs(6_000)
  let count = 0
  for (let round = 0; performance.now() < deadline; round++) {
    const drawn = fc.sample(joined(PIECES, 7), { seed: seed + round, numRuns: 200 })
    const sources = drawn.filter((source) => findRegexFault(source) === undefined)
    const params = new SqlParams()
    const columns = sources.map((source, at) => {
      return `groupArrayIf(i, ${matchSql('t', source, params)}) AS r${at}`
    })
    const [row] = await harness.clickhouse.query<Record<string, number[]>>(
      `SELECT ${columns} FROM texts`,
      params.values,
    )
    for (const [at, source] of sources.entries()) {
      const regex = RE2JS.compile(source, RE2JS.DOTALL)
      const expected = texts.flatMap((text, index) => (regex.test(text) ? [index] : []))
      assert.deepEqual(
        row![`r${at}`]!.toSorted((a, b) => a - b),
        expected,
        source,
      )
      count++
    }
  }
  console.log(`${count} expressions over ${texts.length} texts`)
  assert.ok(count > fewest(500))
})
