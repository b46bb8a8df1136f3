import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearest } from '../../src/language/near-words.ts'

test('near words are found for a typo, another case and a part', () => {
  const known = ['error', 'warn', 'info', 'payment-service']
  const near = (word: string) => nearest(word, known, (one) => one)
  assert.deepEqual(near('eror'), ['error'])
  assert.deepEqual(near('ERROR'), ['error'])
  assert.deepEqual(near('payment'), ['payment-service'])
  assert.deepEqual(near('zzzzzzzz'), [])
})
