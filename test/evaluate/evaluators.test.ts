/** Goal: a worker keeps the evaluators of the queries it was asked lately, and not more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Evaluators, MATCH_QUERIES_KEPT_MAX } from '../../workers/evaluate/evaluators.ts'

test('an evaluator is kept for its text and text fields', () => {
  const evaluators = new Evaluators()
  const first = evaluators.of('a:1', ['msg'])
  assert.equal(evaluators.of('a:1', ['msg']), first)
  assert.notEqual(evaluators.of('a:1', []), first)
  assert.notEqual(evaluators.of('a:1 ', ['msg']), first)
})

test('those not asked for lately are given up', () => {
  const evaluators = new Evaluators()
  const all = Array.from({ length: MATCH_QUERIES_KEPT_MAX }, (_, at) =>
    evaluators.of(`a:${at}`, []),
  )
  assert.equal(evaluators.of('a:0', []), all[0])
  evaluators.of('a:/new/', [])
  evaluators.trim()
  assert.equal(evaluators.size, MATCH_QUERIES_KEPT_MAX)
  assert.equal(evaluators.of('a:0', []), all[0])
  assert.notEqual(evaluators.of('a:1', []), all[1])
})
