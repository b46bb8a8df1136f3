import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearest, widerClause } from '../../src/language/near-words.ts'

test('near words are found for a typo, another case and a part', () => {
  const known = ['error', 'warn', 'info', 'payment-service']
  const near = (word: string) => nearest(word, known, (one) => one)
  assert.deepEqual(near('eror'), ['error'])
  assert.deepEqual(near('ERROR'), ['error'])
  assert.deepEqual(near('payment'), ['payment-service'])
  assert.deepEqual(near('zzzzzzzz'), [])
})

test('a word has a wider form, what is none or has a wildcard has not', () => {
  for (const [clause, wider] of [
    ['exhaust', 'exhaust*'],
    ['message:time', 'message:time*'],
    ['service:d1', 'service:d1*'],
    ['été', 'été*'],
    ['time*', undefined],
    ['x', undefined],
    ['"timed out"', undefined],
    ['n:>5', undefined],
    ['NOT x', undefined],
    ['f=timeout', undefined],
  ] as const) {
    assert.equal(widerClause(clause), wider, clause)
  }
})
