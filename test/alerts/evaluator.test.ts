/**
 * Goal: each window is decided once, in order, with the number that the query gives; not before it
 * is closed and projected; failures and gaps are told, once.
 * Method: an evaluator over a list of events and rules in memory, round by round.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backtest } from '../../src/alerts/backtest.ts'
import { FAILING_INTERVALS } from '../../src/alerts/rule-settings.ts'
import { IngestError } from '../../src/errors.ts'
import {
  ALERT_BACKTEST_WINDOWS_MAX,
  ALERT_BEFORE_MS_MAX,
  ALERT_DUE_WINDOWS_MAX,
  CLOCK_LEAD_MS_MAX,
} from '../../src/limits.ts'
import { segmentIdAt } from '../../src/model/segment-id.ts'
import { rounds } from '../support/fuzzing.ts'
import { createRandom } from '../support/random.ts'
import { STREAM } from './counted-events.ts'
import { MINUTE_MS, START_MS, setUp } from './evaluator-harness.ts'

test('windows of any catch-up sum to one query, and a backtest says the same', async (t) => {
  const { seed, next: random } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  const ofB = { aggregate: { fn: 'count', query: 'b' }, relative_to: { fn: 'count' } }
  for (const changes of [
    {},
    { group_by: ['service'] },
    { window: '3m', every: '1m' },
    { ...ofB, condition: { op: '>', value: 0.5 } },
    { relative_to: { before: '2m' }, group_by: ['service'], condition: { op: '<', value: 0.7 } },
  ]) {
    const { ask, decisions, settle } = setUp()
    const kept = decisions.add({ ...changes, for: { of: 2, in: 3 } })
    let nowMs = START_MS
    for (let step = 0; step < rounds(12); step++) {
      const untilMs = nowMs + Math.floor(random() * 10 * MINUTE_MS)
      for (let n = 0; n < 20; n++) {
        const ms = nowMs + Math.floor(random() * Math.max(1, untilMs - nowMs))
        ask.events.push({ ms, service: random() < 0.5 ? 'a' : 'b' })
      }
      nowMs = untilMs
      await settle(nowMs)
    }
    const { window } = kept.rule.settings
    const ends = kept.decided.map((each) => each.window.untilMs)
    assert.deepEqual(
      ends,
      ends.map((_, index) => START_MS + (index + 1) * MINUTE_MS),
    )
    const last = ends.at(-1)!
    assert.ok(nowMs - last < MINUTE_MS)
    if (window === '1m') {
      const sum = kept.decided.reduce((all, each) => all + each.window.events, 0)
      assert.equal(sum, ask.events.filter(({ ms }) => ms < last).length)
    }
    const tested = await backtest(
      ask,
      {
        ...{ settings: kept.rule.settings, streams: [STREAM] },
        range: { fromMs: START_MS, toMs: last, closedMs: nowMs },
      },
      new AbortController().signal,
    )
    assert.deepEqual(
      tested.windows.map(({ seen, decision }) => {
        return [seen.endMs, seen.events, seen.groupCount, decision.uncounted, decision.outcome]
      }),
      kept.decided.map(({ window: { untilMs, events, groupCount, uncounted, outcome } }) => {
        return [untilMs, events, groupCount, uncounted, outcome]
      }),
    )
    assert.deepEqual(
      tested.transitions.map(({ kind, groupJson, untilMs, value }) => [
        kind,
        groupJson,
        untilMs,
        value,
      ]),
      kept.told.map(({ kind, group, untilMs, value }) => [kind, group?.json, untilMs, value]),
    )
    assert.ok(tested.transitions.length > 0)
  }
})

test('a rule that this version cannot read fails by itself, and holds up no other', async () => {
  const { decisions, failed, settle } = setUp()
  const kept = [decisions.add({}), decisions.add({ query: 'level:error' })]
  const [bad, good] = kept as [(typeof kept)[0], (typeof kept)[0]]
  bad.rule = { ...bad.rule, settings: { ...bad.rule.settings, window: '1y' } }
  await settle(START_MS + MINUTE_MS)
  assert.equal(good.decided.length, 1)
  assert.equal(bad.decided.length, 0)
  assert.match(failed[0]!, /^rule1: "window" must be a duration/)
})

test('a value is a share of its window, or of what its group was before', async () => {
  const { ask, decisions, settle } = setUp()
  const share = decisions.add({
    ...{ aggregate: { fn: 'count', query: 'b' }, relative_to: { fn: 'count' } },
    condition: { op: '>', value: 0.4 },
  })
  const grouped = { group_by: ['service'], condition: { op: '<', value: 0.5 } }
  const fallen = decisions.add({ ...grouped, relative_to: { before: '1m' } })
  const counts = [
    { a: 4, b: 1 },
    { a: 2, b: 2 },
    { a: 4, b: 0 },
    { a: 0, b: 0 },
    { a: 1, b: 0 },
  ]
  for (const [minute, services] of counts.entries()) {
    for (const [service, count] of Object.entries(services)) {
      for (let n = 0; n < count; n++) {
        ask.events.push({ ms: START_MS + minute * MINUTE_MS + n, service })
      }
    }
  }
  await settle(START_MS + counts.length * MINUTE_MS)
  assert.deepEqual(
    share.decided.map(({ window: { value, outcome } }) => [value, outcome]),
    [
      [0.2, 'clear'],
      [0.5, 'breach'],
      [0, 'clear'],
      [undefined, 'no_data'],
      [0, 'clear'],
    ],
  )
  assert.deepEqual(
    fallen.told.map(({ kind, group, untilMs, value }) => {
      return [kind, group?.json, (untilMs - START_MS) / MINUTE_MS, value]
    }),
    [
      ['firing', '["b"]', 3, 0],
      ['resolved', '["b"]', 4, undefined],
      ['firing', '["a"]', 4, 0],
      ['resolved', '["a"]', 5, undefined],
    ],
    'where there was nothing before there is no value',
  )
  const wrong = (relative: object, message: RegExp) => {
    assert.throws(() => decisions.add({ relative_to: relative }), message)
  }
  wrong({}, /another aggregate, with "fn"/)
  wrong({ fn: 'count', before: '1d' }, /another aggregate, with "fn"/)
  wrong({ before: '90s' }, /multiple of "every"/)
  wrong({ before: '36d' }, /35d \(ALERT_BEFORE_MS_MAX\)/)
  assert.equal(ALERT_BEFORE_MS_MAX, 35 * 24 * 60 * MINUTE_MS)
  wrong({ fn: 'avg' }, /"relative_to.field" is required/)
})

test('not before all nodes are closed and all of it is projected', async () => {
  const { ask, decisions, closing, settle } = setUp()
  const kept = decisions.add({})
  const endMs = START_MS + MINUTE_MS
  closing.closedMs = endMs - 1
  await settle(endMs + 1_000)
  assert.equal(closing.wantedMs, endMs, 'nodes are asked')
  assert.equal(kept.decided.length, 0)
  closing.closedMs = endMs
  ask.asOfMs = endMs - 1
  await settle(endMs + 1_000)
  assert.equal(kept.decided.length, 0)
  assert.deepEqual([ask.asked.length, kept.rule.failures], [0, 0])
  ask.asOfMs = endMs
  closing.isLost = true
  await settle(endMs + 1_000)
  assert.equal(kept.decided.length, 0, 'not without a lease of our own')
  closing.isLost = false
  await settle(endMs + 1_000)
  assert.equal(kept.decided.length, 1)
})

test('a query that fails decides nothing; past three intervals that is told, once', async () => {
  const { ask, decisions, failed, settle } = setUp()
  const kept = decisions.add({})
  ask.fault = new IngestError('unavailable', 'no answer in time')
  for (let at = 1; at <= 20; at++) await settle(START_MS + at * (MINUTE_MS / 2))
  assert.equal(kept.decided.length, 0)
  assert.ok(failed.length > 3 && failed.length < 25, `${failed.length} tries`)
  assert.equal(kept.rule.problem, 'no answer in time')
  const [told, ...more] = kept.told
  assert.equal(told?.kind, 'evaluation_failing')
  const sinceMs = told!.untilMs - (START_MS + MINUTE_MS)
  assert.ok(sinceMs >= FAILING_INTERVALS * MINUTE_MS && sinceMs < 5 * MINUTE_MS, `${sinceMs} ms`)
  assert.deepEqual(more, [])
  ask.fault = undefined
  await settle(START_MS + 12 * MINUTE_MS)
  assert.equal(kept.decided.length, 12, 'nothing is lost')
  assert.deepEqual(
    kept.told.map(({ kind }) => kind),
    ['evaluation_failing', 'evaluation_restored'],
  )
})

test('a node that never closes, or rights that are gone, are told as well', async () => {
  const { decisions, closing, rights, settle } = setUp()
  const kept = decisions.add({})
  closing.closedMs = START_MS + 10
  for (let at = 1; at <= 8; at++) await settle(START_MS + at * MINUTE_MS)
  assert.match(kept.rule.problem ?? '', /^node 7 may still commit events of \d+ seconds ago$/)
  assert.deepEqual(
    kept.told.map(({ kind }) => kind),
    ['evaluation_failing'],
  )
  closing.closedMs = Number.NaN
  await settle(START_MS + 20 * MINUTE_MS)
  assert.equal(kept.told.length, 2)
  rights.fault = new IngestError('forbidden', 'no valid token')
  for (let at = 21; at <= 30; at++) await settle(START_MS + at * MINUTE_MS)
  assert.deepEqual([kept.rule.problem, kept.told.length], ['no valid token', 3])
})

test('after three days one gap is told, and only the rest is asked', async () => {
  const { ask, decisions, settle } = setUp()
  const kept = decisions.add({ group_by: ['service'] })
  const nowMs = START_MS + 3 * 24 * 3_600_000
  await settle(nowMs)
  const [gap, ...windows] = kept.decided
  assert.equal(gap?.window.outcome, 'gap')
  assert.equal(windows.length, ALERT_DUE_WINDOWS_MAX)
  assert.equal(windows.at(-1)?.window.untilMs, nowMs)
  assert.deepEqual(
    kept.told.map(({ kind, fromMs, reason }) => [kind, fromMs, reason]),
    [['gap', START_MS, 'too much was due']],
  )
  assert.ok(ask.asked.length <= 20, `${ask.asked.length} queries`)
})

test('windows of which retention has removed events are a gap', async () => {
  const { ask, decisions, settle } = setUp()
  const kept = decisions.add({})
  ask.removedBefore = segmentIdAt(START_MS + 10 * MINUTE_MS + 1_000)
  await settle(START_MS + 20 * MINUTE_MS)
  await settle(START_MS + 20 * MINUTE_MS)
  const [gap, ...windows] = kept.decided
  assert.deepEqual([gap?.window.outcome, gap?.window.untilMs], ['gap', START_MS + 11 * MINUTE_MS])
  assert.equal(windows.length, 9)
  assert.deepEqual(
    kept.told.map(({ kind }) => kind),
    ['gap'],
  )
})

test("a rule that is ahead of PostgreSQL's clock begins anew, and tells it", async () => {
  const { decisions, settle } = setUp()
  const near = decisions.add({}, START_MS + CLOCK_LEAD_MS_MAX)
  const far = decisions.add({}, START_MS + 60 * MINUTE_MS)
  await settle(START_MS)
  assert.equal(near.rule.cursorMs, START_MS + MINUTE_MS)
  assert.deepEqual([far.rule.cursorMs, far.told[0]?.kind], [START_MS, 'gap'])
})

test('a backtest has ALERT_BACKTEST_WINDOWS_MAX windows at most', async () => {
  const { ask, decisions } = setUp()
  const { settings } = decisions.add({}).rule
  const test = (windows: number) => {
    const toMs = START_MS + windows * MINUTE_MS
    const range = { fromMs: START_MS, toMs, closedMs: toMs }
    return backtest(ask, { settings, streams: [STREAM], range }, new AbortController().signal)
  }
  ask.fault = new IngestError('unavailable', 'it was asked')
  await assert.rejects(test(ALERT_BACKTEST_WINDOWS_MAX), /it was asked/)
  await assert.rejects(test(ALERT_BACKTEST_WINDOWS_MAX + 1), /ALERT_BACKTEST_WINDOWS_MAX/)
})
