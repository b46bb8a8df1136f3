/**
 * Goal: the evaluator is true for just the events that the reference says (`language/naive.ts`).
 * Method: random queries over random events, which have names and values in common and have gone
 * through a real segment. Many queries an evaluator: what it keeps between batches is in the test.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from '../../src/language/parse.ts'
import { QueryError } from '../../src/language/query-error.ts'
import type { Query } from '../../src/language/query-tree.ts'
import { LAYOUT_ENTRIES_MAX } from '../../src/limits.ts'
import { Evaluator } from '../../workers/evaluate/evaluator.ts'
import { naiveMatches } from '../language/naive.ts'
import { eventText, TEXT_FIELDS } from '../language/random-event.ts'
import { queryText } from '../language/random-query.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'
import { TapedBatch } from './taped-batch.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const ORIGIN = { segmentId: '1', ingestedAtMs: Date.UTC(2026, 0, 1), firstEvent: 0 }
const EVENTS = 60
const PADDING = JSON.stringify(Array.from({ length: LAYOUT_ENTRIES_MAX }, () => null))
const QUERIES = 60

function tryParse(text: string): Query | undefined {
  try {
    return parse(text)
  } catch (error) {
    assert.ok(error instanceof QueryError)
    return undefined
  }
}

test('true for the events of the reference, whatever the query and the events', () => {
  let round = 0
  let pairs = 0
  let hits = 0
  const batch = new TapedBatch()
  const evaluators = TEXT_FIELDS.map(() => new Map<string, Evaluator>())
  forMilliseconds(6_000, () => {
    const options = { seed: seed + round++ }
    const lines = fc.sample(eventText, { ...options, numRuns: EVENTS })
    // Some again, whose layouts are known then; and some with more entries than a layout has.
    const long = lines.slice(10, 20).map((line) => line.replace(/}$/, `,"pad":${PADDING}}`))
    const events = batch.load([...lines, ...lines.slice(0, 10), ...long], ORIGIN)
    for (const text of fc.sample(queryText, { ...options, numRuns: QUERIES })) {
      const query = tryParse(text)
      if (query === undefined) continue
      const list = round % TEXT_FIELDS.length
      const known = evaluators[list]!.get(text)
      const evaluator = known ?? new Evaluator(query, TEXT_FIELDS[list]!)
      evaluators[list]!.set(text, evaluator)
      evaluator.begin(batch.cursor)
      for (const [ordinal, event] of events.entries()) {
        batch.cursor.moveTo(ordinal)
        const expected = naiveMatches(query, event, TEXT_FIELDS[list]!)
        const found = evaluator.matches(batch.cursor)
        const what = `${text}\non ${event.json}\ntext fields ${TEXT_FIELDS[list]}`
        assert.equal(found, expected, `${what}\nseed ${options.seed}`)
        pairs++
        if (found) hits++
      }
    }
  })
  console.log(`${pairs} pairs, true for ${hits}`)
  assert.ok(hits > pairs / 20 && hits < pairs * 0.9, `${hits} of ${pairs}`)
})
