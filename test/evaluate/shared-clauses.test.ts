/** Goal: of queries that are asked together the clauses are found that they share, if cheap. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../src/language/parse.ts'
import { chooseShared, neededClauses } from '../../workers/evaluate/shared-clauses.ts'

function shared(...texts: string[]): (string | undefined)[] {
  const chosen = chooseShared(texts.map((text) => neededClauses(parse(text), [])))
  return chosen.map((one, at) => one && texts[at]!.slice(one.clause.start, one.clause.end))
}

test('the clause that most have, wherever it stands', () => {
  const texts = ['level:error a:1', 'b:2 level:error', 'a:1 level:error', 'c:3', 'level:error']
  const level = 'level:error'
  assert.deepEqual(shared(...texts), [level, level, level, undefined, level])
  assert.deepEqual(shared('a:1 b:2', 'a:1', 'b:2', 'b:2 c:3'), ['b:2', 'a:1', 'b:2', 'b:2'])
})

test('only what every match has, and what is cheap', () => {
  assert.deepEqual(shared('a:1 OR b:1', 'a:1'), [undefined, undefined])
  assert.deepEqual(shared('a:/x/ b:1', 'a:/x/'), [undefined, undefined])
  assert.deepEqual(shared('*:x b:1', '*:x'), [undefined, undefined])
  assert.deepEqual(shared('a:1', 'b:1'), [undefined, undefined])
  assert.deepEqual(shared('-a:1 b:2', 'NOT a:1'), ['-a:1', 'NOT a:1'])
})

test('clauses are the same when they mean the same', () => {
  assert.deepEqual(shared('f>=5 a:1', 'f:[5 TO *]'), ['f>=5', 'f:[5 TO *]'])
  assert.deepEqual(shared('f:5', 'f:"5"'), [undefined, undefined])
  const [one, other] = [neededClauses(parse('m:x'), []), neededClauses(parse('m:x'), ['m'])]
  assert.deepEqual(chooseShared([one, other]), [undefined, undefined])
  const times = ['t:>=2026-01-01T00:00:00Z', 't:>=2026-01-01T00:00:01Z']
  assert.deepEqual(shared(...times), [undefined, undefined])
})
