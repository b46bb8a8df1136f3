/**
 * Goal: patterns that differ in names are told as one, those that say something else are not; no
 * pattern is lost or told twice, and no cluster is larger than a query.
 * Method: texts put together from words, in any order.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { tryReadTemplate } from '../../../src/model/patterns/pattern-template.ts'
import {
  CLUSTER_PATTERNS_MAX,
  clusterPatterns,
} from '../../../src/read/patterns/cluster-patterns.ts'
import { clusterText } from '../../../src/read/patterns/find-patterns.ts'
import { fuzzed, testSeed } from '../../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const noRest = () => Promise.resolve()

/** The clusters' templates, each with how many of the texts it has. */
async function told(texts: readonly string[]): Promise<string[]> {
  const clusters = await clusterPatterns(texts, tryReadTemplate, noRest)
  return clusters.map(({ patterns, parts }) => `${patterns.length} ${clusterText(parts)}`).sort()
}

test('names are told as one, words that say something are not', async () => {
  const users = ['alice', 'bob', 'carol', 'dan']
  const hosts = ['red', 'green', 'blue', 'white', 'black']
  assert.deepEqual(
    await told([
      ...users.map((user) => `user ${user} logged in from 10.0.0.1`),
      ...hosts.map((host) => `connection to ${host} opened after 3 ms`),
      ...hosts.map((host) => `connection to ${host} closed after 3 ms`),
      'disk is full',
      'disk is gone',
    ]),
    [
      '1 disk is full',
      '1 disk is gone',
      '4 user <value> logged in from <address>',
      '5 connection to <value> closed after <number> ms',
      '5 connection to <value> opened after <number> ms',
    ],
  )
})

test('slots keep their kinds and show a few of their values', async () => {
  const texts = ['ann', 'ben', 'cat', 'dot'].map((name, n) => `job of ${name} took ${n}ms in all`)
  const [cluster] = await clusterPatterns(texts, tryReadTemplate, noRest)
  assert.deepEqual(cluster!.parts, [
    { text: 'job of ' },
    { slot: 'value', examples: ['ann', 'ben', 'cat'] },
    { text: ' took ' },
    { slot: 'duration', examples: ['0ms', '1ms', '2ms'] },
    { text: ' in all' },
  ])
})

test('each pattern is in one cluster, whatever they are', async () => {
  const word = fc.constantFrom('a', 'b', 'c', 'd', 'e', '7', '(8)', '"q"', 'k=v')
  const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(' '))
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 60 }), async (texts) => {
      const clusters = await clusterPatterns(texts, tryReadTemplate, noRest)
      assert.deepEqual(clusters.flatMap(({ patterns }) => patterns).sort(), texts.toSorted())
      for (const { patterns } of clusters) assert.ok(patterns.length > 0)
    }),
    fuzzed(seed, 200, 600),
  )
})

test('a cluster has as many patterns as a query takes; others rest in between', async () => {
  const name = (n: number) =>
    [n % 26, Math.floor(n / 26)].map((i) => 'abcdefghijklmnopqrstuvwxyz'[i])
  const texts = Array.from({ length: 650 }, (_, n) => `the host ${name(n).join('')} is down`)
  let rests = 0
  const clusters = await clusterPatterns(texts, tryReadTemplate, async () => {
    rests++
  })
  const sizes = clusters.map(({ patterns }) => patterns.length)
  assert.deepEqual(sizes, [CLUSTER_PATTERNS_MAX, CLUSTER_PATTERNS_MAX, CLUSTER_PATTERNS_MAX, 50])
  assert.ok(rests > 10, `${rests}`)
})
