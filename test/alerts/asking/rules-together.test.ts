/**
 * Goal: rules about the same windows cost few statements, and what fails of one holds up no other.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALERT_GROUPS_MAX } from '../../../src/limits.ts'
import { MINUTE_MS, START_MS, setUp } from '../evaluator-harness.ts'

test('many due windows are asked at once, and rules that ask about the same together', async () => {
  const { ask, decisions, settle } = setUp()
  for (const value of [1, 2, 3]) decisions.add({ condition: { op: '>', value } })
  const fields = Array.from({ length: 50 }, (_, n) => `f${n}`)
  for (const field of fields) decisions.add({ aggregate: { fn: 'uniq', field } })
  decisions.add({ query: 'level:error' })
  await settle(START_MS + 30 * MINUTE_MS)
  const range = [START_MS, START_MS + 30 * MINUTE_MS]
  const counted = range
  assert.deepEqual(
    ask.asked,
    [range, counted, range],
    'two statements are enough for 52 aggregates',
  )
})

test('past the bound of groups rules that see the same are asked once', async () => {
  const { ask, decisions, settle } = setUp()
  const grouped = { group_by: ['service'] }
  const kept = [1, 2, 3].map((value) => {
    return decisions.add({ ...grouped, condition: { op: '>', value } })
  })
  kept.push(decisions.add({ ...grouped, condition: { op: '<', value: 1 } }))
  ask.events = Array.from({ length: ALERT_GROUPS_MAX + 1 }, (_, n) => {
    return { ms: START_MS + n, service: String(n) }
  })
  await settle(START_MS + MINUTE_MS)
  // All together, then those that judge the largest groups, then the smallest.
  assert.equal(ask.asked.length, 3)
  for (const { decided } of kept) assert.equal(decided[0]?.window.groupCount, ALERT_GROUPS_MAX + 1)
})

test('of large windows each search is asked by itself', async () => {
  const { ask, decisions, settle } = setUp()
  const kept = ['a:1', 'b:1', 'c:1'].map((query) => decisions.add({ query }))
  ask.large = true
  await settle(START_MS + MINUTE_MS)
  assert.equal(ask.asked.length, 4, 'how large they are, and three searches')
  ask.large = false
  await settle(START_MS + 2 * MINUTE_MS)
  assert.equal(ask.asked.length, 6)
  for (const { decided } of kept) assert.equal(decided.length, 2)
})

test('of searches that are asked at once one that fails holds up no other', async () => {
  const { ask, decisions, failed, settle } = setUp()
  const [bad, ...good] = ['bad:1', 'b:1', 'c:1'].map((query) => decisions.add({ query }))
  ask.faultOf = 'bad'
  await settle(START_MS + MINUTE_MS)
  assert.deepEqual(
    [bad!, ...good].map(({ decided, rule }) => [decided.length, rule.failures]),
    [
      [0, 1],
      [1, 0],
      [1, 0],
    ],
  )
  assert.deepEqual(failed, ['rule1: no answer in time'])
  // Then it is asked by itself from the start.
  const before = ask.asked.length
  await settle(START_MS + 2 * MINUTE_MS)
  assert.equal(ask.asked.length - before, 3)
  ask.faultOf = undefined
  await settle(START_MS + 4 * MINUTE_MS)
  for (const { decided } of [bad!, ...good]) assert.equal(decided.length, 4)
})

test('a decision that PostgreSQL cannot store holds up no other', async () => {
  const { decisions, failed, settle } = setUp()
  const kept = [1, 2, 3].map(() => decisions.add({}))
  decisions.unstorable = 'rule2'
  await settle(START_MS + MINUTE_MS)
  assert.deepEqual(
    kept.map(({ decided, rule }) => [decided.length, rule.failures]),
    [
      [1, 0],
      [0, 1],
      [1, 0],
    ],
  )
  assert.deepEqual(failed, ['rule2: no such value'])
})

test('past the bound of groups each window and each rule is asked alone', async () => {
  const { ask, decisions, settle } = setUp()
  const shared = { group_by: ['service'] }
  const kept = [
    decisions.add(shared),
    decisions.add({ ...shared, aggregate: { fn: 'uniq', field: 'x' } }),
  ]
  ask.events = Array.from({ length: ALERT_GROUPS_MAX + 1 }, (_, n) => {
    return { ms: START_MS + n, service: String(n) }
  })
  await settle(START_MS + 2 * MINUTE_MS)
  const [first, second] = [1, 2].map((n) => [
    START_MS + (n - 1) * MINUTE_MS,
    START_MS + n * MINUTE_MS,
  ])
  assert.deepEqual(ask.asked, [
    ...[[START_MS, START_MS + 2 * MINUTE_MS], first, first, first, second],
  ])
  for (const { decided } of kept) assert.equal(decided[0]?.window.groupCount, ALERT_GROUPS_MAX + 1)
})
