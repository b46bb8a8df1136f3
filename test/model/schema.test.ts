/** Goal: which types conflict, and what caps say; literal tables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  decodeLeaf,
  encodeLeaf,
  FIELD_TYPES,
  hasTypeConflict,
  learningState,
  worseState,
} from '../../src/model/schema.ts'

test('integer and float agree, null agrees with all, every other pair conflicts', () => {
  for (const a of FIELD_TYPES) {
    for (const b of FIELD_TYPES) {
      const areNumbers = [a, b].every((type) => type === 'integer' || type === 'float')
      const agree = a === b || areNumbers || a === 'null' || b === 'null'
      assert.equal(hasTypeConflict([a, b]), !agree, `${a} and ${b}`)
    }
  }
  assert.equal(hasTypeConflict([]), false)
  assert.equal(hasTypeConflict(['null', 'integer', 'float']), false)
  assert.equal(hasTypeConflict(['null', 'integer', 'string']), true)
})

test('a state changes when a cap is reached', () => {
  const state = (count: number) => learningState(count, { soft: 8, hard: 10 })
  assert.deepEqual([0, 7, 8, 9, 10, 11].map(state), [
    'ok',
    'ok',
    'soft_cap',
    'soft_cap',
    'hard_cap',
    'hard_cap',
  ])
  assert.equal(worseState('ok', 'soft_cap'), 'soft_cap')
  assert.equal(worseState('hard_cap', 'soft_cap'), 'hard_cap')
})

test('a leaf is read back as it was written', () => {
  const leaf = { path: 'a.b[]', type: 'string', samples: ['"x"', '"\\u0000"'] } as const
  assert.deepEqual(decodeLeaf(encodeLeaf(leaf.path, leaf.type, leaf.samples)), leaf)
  assert.deepEqual(decodeLeaf(encodeLeaf('', 'null', [])), { path: '', type: 'null', samples: [] })
})
