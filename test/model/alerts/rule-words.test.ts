import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  labelName,
  labelValue,
  matcherText,
  tryReadMatcher,
} from '../../../src/model/alerts/alert-matchers.ts'
import { conditionWords, ruleState } from '../../../src/model/alerts/rule-words.ts'

const RULE = {
  ...{ aggregate: { fn: 'count' }, condition: { op: '>', value: 20 }, for: { of: 1, in: 1 } },
  ...{ window: '1m', every: '1m' },
}

test('a condition in words', () => {
  const words: [changes: object, words: string][] = [
    [{}, 'count > 20 in 1m'],
    [{ for: { of: 3, in: 5 } }, 'count > 20 in 3 of 5 windows of 1m'],
    [{ window: '5m' }, 'count > 20 in 5m, every 1m'],
    [{ aggregate: { fn: 'p99', field: 'ms' } }, 'p99 of ms > 20 in 1m'],
    [{ relative_to: { before: '1w' } }, 'count / 1w before > 20 in 1m'],
    [
      { aggregate: { fn: 'count', query: 'status:>=500' }, relative_to: { fn: 'count' } },
      'count where status:>=500 / count > 20 in 1m',
    ],
  ]
  for (const [changes, expected] of words) {
    assert.equal(conditionWords({ ...RULE, ...changes }), expected)
  }
})

test('the state of a rule: what fires comes first, also while it is paused', () => {
  const quiet = { groups_firing: 0, groups_pending: 0, paused: false, problem: null }
  const states: [changes: object, state: string][] = [
    [{}, 'quiet'],
    [{ groups_pending: 1 }, 'pending'],
    [{ groups_pending: 1, problem: 'no rights' }, 'failing'],
    [{ problem: 'no rights', paused: true }, 'paused'],
    [{ groups_firing: 1, problem: 'no rights', paused: true }, 'firing'],
  ]
  for (const [changes, state] of states) assert.equal(ruleState({ ...quiet, ...changes }), state)
})

test('matchers are read as they are written; labels have names, and values to the digit', () => {
  for (const text of ['a=b', 'a!=b', 'a=~b.*', 'a!~b', 'a=', 'a=b=c', 'a=x\ny']) {
    assert.equal(matcherText(tryReadMatcher(text)!), text)
  }
  for (const text of ['a', '=b', '9a=b', 'a b=c']) assert.equal(tryReadMatcher(text), undefined)
  assert.deepEqual(['http.path', '9n'].map(labelName), ['http_path', '_9n'])
  assert.deepEqual(['"a\\"b"', '9007199254740993', 'null'].map(labelValue), [
    ...['a"b', '9007199254740993', 'null'],
  ])
})
