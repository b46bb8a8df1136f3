/**
 * Goal: this module treats words, case and regular expressions as ClickHouse does.
 * Method: the real engine over random texts, every code point, and random regular expressions; and
 * a table with a text index, which must answer the same with its index and without.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findRegexFault } from '../../src/language/regex-syntax.ts'
import { FOLD_FUNCTION, foldCase, splitWords, TOKENIZER } from '../../src/language/words.ts'
import { separatedSql } from '../../src/store/projection/text-index.ts'
import { ProjectionHarness } from '../block/projection-harness.ts'
import { fuzzed, ONLY_LONG, testSeed } from '../support/fuzzing.ts'
import { regexSource } from './random-regex.ts'

const harness = new ProjectionHarness()
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const hexOf = (text: string) => Buffer.from(text).toString('hex')
/** Texts as an array in SQL, with every byte escaped. */
const arrayOf = (texts: readonly string[]) => `[${texts.map((text) => `unhex('${hexOf(text)}')`)}]`

async function select<Row>(sql: string): Promise<Row[]> {
  const reply = await harness.native(`${sql} FORMAT JSONEachRow`)
  const lines = reply.toString().split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row)
}

/** What the engine makes of each text, `column` being an expression over \`text\`. */
async function ask<Value>(texts: readonly string[], column: string): Promise<Value[]> {
  const rows = await select<{ value: Value }>(
    `SELECT ${column} AS value FROM (SELECT arrayJoin(${arrayOf(texts)}) AS text)`,
  )
  return rows.map(({ value }) => value)
}

const sample = <T>(arbitrary: fc.Arbitrary<T>, count: number) =>
  fc.sample(arbitrary, { seed, numRuns: count })

const LETTERS = [
  'a',
  'Z',
  '0',
  '_',
  '-',
  ' ',
  '\t',
  '.',
  ':',
  "'",
  'é',
  'É',
  '東',
  '京',
  '😀',
  '\u00a0',
  '，',
  '“',
  '→',
  '\u001b[32m',
  '\u001b(B',
  '\u001b',
  '\ufe0f',
]
const words = fc.oneof(
  fc.array(fc.constantFrom(...LETTERS), { maxLength: 20 }).map((parts) => parts.join('')),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

test('words are the tokens of the engine, over separated text', async () => {
  const texts = sample(words, 2_000)
  const tokens = await ask<string[]>(texts, `tokens(${separatedSql('text')}, '${TOKENIZER}')`)
  assert.equal(tokens.length, texts.length)
  for (const [at, text] of texts.entries()) {
    assert.deepEqual(splitWords(foldCase(text)), tokens[at], JSON.stringify(text))
  }
})

/** Behind the first two planes there are only ideographs, tags, private and unassigned ones. */
const SAME_FROM = 0x20000

/** All there are, in runs of 1,000; of those from `SAME_FROM` on `npm test` has a tenth. */
function codePoints(): readonly (readonly string[])[] {
  const runs = (from: number, to: number) => {
    const chars: string[] = []
    for (let code = from; code < to; code++) {
      if (code < 0xd800 || code > 0xdfff) chars.push(String.fromCodePoint(code))
    }
    return Array.from({ length: Math.ceil(chars.length / 1_000) }, (_, run) => {
      return chars.slice(run * 1_000, (run + 1) * 1_000)
    })
  }
  const same = runs(SAME_FROM, 0x110000)
  const some = ONLY_LONG ? same.filter((_, run) => run % 10 === seed % 10) : same
  return [...runs(1, SAME_FROM), ...some]
}

test('every code point is in the same class as in the engine', { skip: ONLY_LONG }, async () => {
  // `a` and `\u4e00` beside it tell the three classes apart.
  const around = (char: string) => `a${char}a \u4e00${char}\u4e00`
  const last = (each: string[]) => each.at(-1)
  for (const some of codePoints()) {
    const lines: string[] = []
    for (let n = 0; n < some.length; n += 200)
      lines.push(
        some
          .slice(n, n + 200)
          .map(around)
          .join(' | '),
      )
    const tokens = await ask<string[]>(lines, `tokens(${separatedSql('text')}, '${TOKENIZER}')`)
    for (const [n, line] of lines.entries()) {
      const own = splitWords(foldCase(line))
      assert.equal(own.join(), tokens[n]!.join(), `${last(own)} ${last(tokens[n]!)}`)
    }
  }
})

test('case is folded as in the engine, for every code point and in context', async () => {
  const lines = codePoints().map((chars) => chars.join(' '))
  const greek = fc.array(fc.constantFrom('Σ', 'Α', 'α', ' ', ':', '.', 'İ', "'", 'ẞ'), {
    maxLength: 9,
  })
  const texts = [
    ...sample(
      greek.map((parts) => parts.join('')),
      500,
    ),
    ...sample(words, 500),
  ]
  texts.push(...lines)
  for (let at = 0; at < texts.length; at += 20) {
    const some = texts.slice(at, at + 20)
    const folded = await ask<string>(some, `hex(${FOLD_FUNCTION}(text))`)
    assert.deepEqual(
      folded,
      some.map((text) => hexOf(foldCase(text)).toUpperCase()),
    )
  }
})

test('queries get the same answers with an index on the separated text as without', async () => {
  const column = separatedSql('text')
  await harness.native(
    `CREATE TABLE words (id UInt32, text String,
      INDEX words ${column} TYPE text(tokenizer = '${TOKENIZER}')) ENGINE = MergeTree ORDER BY id`,
  )
  const texts = [
    ...['Timed OUT after 5 s', 'out timed', 'timed-out', 'timed x out', 'Żółw', 'timedout'],
    ...['请求timed，out', '\u001b[32mTimed\u001b[0m'],
  ]
  await harness.native(
    `INSERT INTO words SELECT number, ${arrayOf(texts)}[number + 1] FROM numbers(${texts.length})`,
  )
  const cases = [
    [`hasAllTokens(${column}, ['timed'])`, [0, 1, 2, 3, 6, 7]],
    [`hasAllTokens(${column}, ['żółw'])`, [4]],
    [`hasPhrase(${column}, 'timed out')`, [0, 2, 6]],
    [`hasPhrase(${column}, 'out after')`, [0]],
  ] as const
  for (const [condition, expected] of cases) {
    for (const use of [0, 1]) {
      const rows = await select<{ id: number }>(
        `SELECT id FROM words WHERE ${condition} ORDER BY id SETTINGS use_skip_indexes = ${use}`,
      )
      const ids = rows.map(({ id }) => id)
      assert.deepEqual(ids, expected, condition)
    }
    const plan = await harness.native(`EXPLAIN indexes = 1 SELECT id FROM words WHERE ${condition}`)
    assert.match(plan.toString(), /Name: words/, condition)
  }
})

/** Regular expressions that this module accepts and the engine does not. */
async function findRefused(sources: readonly string[]): Promise<string[]> {
  const refused: string[] = []
  for (const source of sources) {
    const pattern = `'${source.replace(/[\\']/g, '\\$&')}'`
    const sql = `SELECT match('x', ${pattern}) AS value`
    await select(sql).catch((error: Error) => refused.push(`${source}: ${error.message}`))
  }
  return refused
}

test('the engine accepts every regular expression that passes here', async () => {
  const { numRuns } = fuzzed(seed, 3_000, 0)
  const taken = new Set(
    sample(regexSource, numRuns).filter((each) => findRegexFault(each) === undefined),
  )
  assert.ok(taken.size > numRuns / 10, `${taken.size} of ${numRuns} pass`)
  assert.deepEqual(await findRefused([...taken]), [])
})

test('the largest that pass are not too large for the engine', async () => {
  const large = ['a{1000}', '(?:a{10}){100}', '\\pL{48}', '[^a]{400}', '.{1000}', 'é{1000}']
  const sources = [...large, `(?i)${'a'.repeat(1_000)}`, '\\pL'.repeat(49), '[à-ý]{40}', '\\W{900}']
  assert.deepEqual(
    sources.filter((each) => findRegexFault(each) !== undefined),
    [],
  )
  assert.deepEqual(await findRefused(sources), [])
  for (const each of ['(?:a{100}){11}', 'a{1001}', '\\pL{200}', '(?:\\pL{7}){8}']) {
    assert.notEqual(findRegexFault(each), undefined, each)
  }
})
