/**
 * Goal: what happens is told at least once, with others and not too often, whoever dies at
 * whatever statement: each message always under one key and with the same text. What is silenced is
 * not.
 * Method: a real PostgreSQL whose rows are made older; a process that dies at some steps, and in
 * the long run at each.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import {
  ALERT_GROUP_INTERVAL_MS,
  ALERT_GROUP_WAIT_MS,
  ALERT_SILENCES_MAX,
} from '../../../src/limits.ts'
import { DecisionStore } from '../../../src/store/alerts/decision-store.ts'
import { SilenceStore } from '../../../src/store/alerts/silence-store.ts'
import { startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'
import { createRandom } from '../../support/random.ts'
import { dieAtStep, stepsOfTelling, ToldAlerts, withoutTry } from './told-alerts.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
let database: TestDatabase
let alerts: ToldAlerts

before(async () => {
  database = await startDatabase()
  alerts = new ToldAlerts(database.postgres)
})

beforeEach(async () => {
  await alerts.clear()
})

after(async () => {
  await database?.close()
})

test('groups go together, with time between messages; what fires is repeated', async () => {
  const rule = await alerts.put('slow')
  await alerts.happen(rule, 'firing', 'a', 'b')
  assert.deepEqual(await alerts.told(), [], 'it waits for others')
  await alerts.pass(ALERT_GROUP_WAIT_MS / 2)
  await alerts.happen(rule, 'firing', 'c')
  await alerts.pass(ALERT_GROUP_WAIT_MS / 2)
  assert.deepEqual(await alerts.told(), ['new: a firing, b firing, c firing'])
  await alerts.happen(rule, 'resolved', 'a')
  await alerts.happen(rule, 'firing', 'd')
  await alerts.happen(rule, 'firing', 'e')
  await alerts.happen(rule, 'resolved', 'e')
  await alerts.pass(ALERT_GROUP_WAIT_MS)
  assert.deepEqual(await alerts.told(), [], 'the last message was a moment ago')
  await alerts.pass(ALERT_GROUP_INTERVAL_MS)
  assert.deepEqual(await alerts.told(), ['new: d firing, a resolved, e resolved'])
  await alerts.pass(4 * HOUR_MS - ALERT_GROUP_INTERVAL_MS + 5_000)
  assert.deepEqual(await alerts.told(), ['repeat: b firing, c firing, d firing'], 'd a bit sooner')
  await alerts.pass(4 * HOUR_MS)
  await alerts.put('slow', { paused: true })
  assert.deepEqual(await alerts.told(), [])
  await alerts.put('slow', { repeat: '0s' })
  assert.deepEqual(await alerts.told(), [])
  await alerts.put('slow', { repeat: '1h' })
  assert.deepEqual(await alerts.told(), ['repeat: b firing, c firing, d firing'])
})

test('a process dies at some steps: told all the same, under one key, with one text', async () => {
  const steps = await stepsOfTelling(alerts)
  assert.ok(steps > 20, `${steps} steps`)
  // Before the message is made, before it is sent, when it was sent, and before that is known.
  const { next } = createRandom()
  const chosen = [0.2, 0.7, 0.9, next()].map((share) => Math.floor(steps * share))
  for (const dieAt of chosen) await dieAtStep(alerts, dieAt)
})

test('of many at once each message is made once', async () => {
  const rule = await alerts.put('raced')
  for (const group of ['a', 'b', 'c']) await alerts.happen(rule, 'firing', group)
  await alerts.pass(ALERT_GROUP_WAIT_MS)
  await Promise.all(Array.from({ length: 5 }, () => alerts.deliverer().round()))
  await alerts.tell()
  assert.equal(new Set(alerts.posted.map(({ key }) => key)).size, 1)
  assert.equal(new Set(alerts.posted.map(({ body }) => withoutTry(body))).size, 1)
})

test('a try that fails is repeated with the same text, whatever became of the rule', async () => {
  const rule = await alerts.put('slow')
  await alerts.happen(rule, 'firing', 'a')
  await alerts.pass(ALERT_GROUP_WAIT_MS)
  alerts.status = 500
  await alerts.tell()
  await alerts.put('slow', { severity: 'critical', labels: { other: 'x' } })
  await alerts.happen(rule, 'firing', 'b')
  await alerts.pass(HOUR_MS)
  alerts.status = 200
  const [first, again, next] = [...alerts.posted, ...(await alerts.tell())]
  assert.deepEqual(
    [again?.key, withoutTry(again!.body), again?.message.sluice.attempt],
    [first?.key, withoutTry(first!.body), 2],
  )
  assert.deepEqual(
    next?.message.alerts.map(({ labels }) => labels.service),
    ['b'],
  )
})

test('what could not be delivered is told after `repeat`', async () => {
  const rule = await alerts.put('slow')
  await alerts.happen(rule, 'firing', 'a')
  await alerts.pass(ALERT_GROUP_WAIT_MS)
  alerts.status = 404
  assert.equal((await alerts.tell()).length, 1)
  await alerts.pass(HOUR_MS)
  alerts.status = 200
  assert.deepEqual(await alerts.told(), [])
  await alerts.pass(3 * HOUR_MS)
  assert.deepEqual(await alerts.told(), ['new: a firing'])
})

test('what is over is told as the rule was, changed or gone', async () => {
  const rule = await alerts.put('slow', { labels: { team: 'web' }, severity: 'critical' })
  await alerts.happen(rule, 'firing', 'a')
  await alerts.pass(ALERT_GROUP_WAIT_MS)
  await alerts.tell()
  const changed = await alerts.put('slow', { group_by: ['host'], labels: { team: 'db' } })
  await alerts.pass(HOUR_MS)
  const labelsOf = async () => (await alerts.tell())[0]?.message.alerts.map(({ labels }) => labels)
  const labels = { team: 'web', service: 'a', alertname: 'slow', severity: 'critical' }
  assert.deepEqual(await labelsOf(), [labels])
  await alerts.happen(changed, 'firing', 'h')
  await alerts.pass(HOUR_MS)
  await alerts.tell()
  await alerts.delete(changed)
  await alerts.pass(HOUR_MS)
  const others = { team: 'db', host: 'h', alertname: 'slow', severity: 'warning' }
  assert.deepEqual(await labelsOf(), [others])
})

test('after three days of downtime: one gap, one message about groups, no storm', async () => {
  const rule = await alerts.put('slow')
  await alerts.happen(rule, 'firing', 'a', 'b')
  await alerts.pass(ALERT_GROUP_WAIT_MS)
  await alerts.tell()
  await alerts.pass(3 * DAY_MS)
  await alerts.happenToRule(rule, 'gap')
  for (let n = 0; n < 20; n++) await alerts.happen(rule, n % 2 ? 'firing' : 'resolved', 'a', 'c')
  assert.deepEqual(await alerts.told(), ['gap:  firing', 'new: a firing, c firing, b firing'])
  await alerts.pass(HOUR_MS)
  assert.deepEqual(await alerts.told(), [])
})

test('silences: held back while one is, told when it ends, by time or by hand', async () => {
  const silences = new SilenceStore(database.postgres)
  const matchers = [{ name: 'service', value: 'a', is_regex: false, is_equal: true }]
  const make = (untilMs: number, fromMs?: number) =>
    silences.make({ owner: 'ann', matchers, fromMs, untilMs, comment: 'works' })
  const rule = await alerts.put('slow')
  const first = await make(Date.now() + HOUR_MS)
  const pending = await make(Date.now() + 9 * DAY_MS, Date.now() + 8 * DAY_MS)
  assert.deepEqual([first.state, pending.state], ['active', 'pending'])
  await alerts.happen(rule, 'firing', 'a', 'b')
  await alerts.pass(ALERT_GROUP_WAIT_MS)
  assert.deepEqual(await alerts.told(), ['new: b firing'])
  await alerts.pass(HOUR_MS)
  assert.deepEqual(await alerts.told(), ['new: a firing'], 'it was over by itself')
  assert.equal((await silences.find('ann', first.silenceId))?.state, 'expired')
  const second = await make(Date.now() + 9 * HOUR_MS)
  await alerts.pass(4 * HOUR_MS)
  assert.deepEqual(await alerts.told(), ['repeat: b firing'])
  assert.equal(await silences.end('bob', second.silenceId), false)
  assert.ok(await silences.end('ann', second.silenceId))
  await alerts.pass(ALERT_GROUP_INTERVAL_MS)
  assert.deepEqual(await alerts.told(), ['repeat: a firing'])
  const third = await make(Date.now() + HOUR_MS)
  await alerts.happen(rule, 'resolved', 'a')
  await alerts.pass(HOUR_MS / 2)
  assert.deepEqual(await alerts.told(), [])
  assert.ok(await silences.end(undefined, third.silenceId))
  assert.deepEqual(await alerts.told(), ['resolved: a resolved'], 'it was told that it fired')
  await make(Date.now() + HOUR_MS)
  await alerts.happen(rule, 'firing', 'a')
  await alerts.pass(HOUR_MS / 2)
  await alerts.tell()
  await alerts.happen(rule, 'resolved', 'a')
  await alerts.pass(HOUR_MS)
  assert.deepEqual(await alerts.told(), [], 'nobody heard of it')
  const page = { after: 0, limit: 10 }
  assert.equal((await silences.list('ann', 'expired', page)).length, 4)
  assert.equal((await silences.list('bob', undefined, page)).length, 0)
})

test('a silence waits until it begins; an owner has ALERT_SILENCES_MAX that last', async () => {
  const silences = new SilenceStore(database.postgres)
  const matchers = [{ name: 'service', value: 'a', is_regex: false, is_equal: true }]
  const later = { matchers, fromMs: Date.now() + HOUR_MS, untilMs: Date.now() + 2 * HOUR_MS }
  await silences.make({ owner: 'ann', comment: '', ...later })
  await alerts.happen(await alerts.put('slow'), 'firing', 'a')
  await alerts.pass(ALERT_GROUP_WAIT_MS)
  assert.deepEqual(await alerts.told(), ['new: a firing'])
  await database.postgres.query(
    `INSERT INTO alert_silences (owner, matchers, from_at, until_at, comment)
     SELECT 'ann', '[]', now() + interval '1 day', now() + interval '2 days', ''
       FROM generate_series(2, $1)`,
    [ALERT_SILENCES_MAX],
  )
  await assert.rejects(silences.make({ owner: 'ann', comment: '', ...later }), /ALERT_SILENCES_MAX/)
})

test('what is acknowledged is silent until it is resolved', async () => {
  const silences = new SilenceStore(database.postgres)
  const rule = await alerts.put('slow', { repeat: '1h' })
  await alerts.happen(rule, 'firing', 'a', 'b')
  await alerts.pass(ALERT_GROUP_WAIT_MS)
  await alerts.tell()
  const by = { author: 'ann', comment: 'looking' }
  assert.ok(await silences.acknowledge(rule.ruleId, 'a', by))
  assert.equal(await silences.acknowledge(rule.ruleId, 'nobody', by), false)
  await alerts.pass(HOUR_MS)
  assert.deepEqual(await alerts.told(), ['repeat: b firing'])
  assert.ok(await silences.forgetAcknowledged(rule.ruleId, 'a'))
  assert.equal(await silences.forgetAcknowledged(rule.ruleId, 'a'), false)
  await alerts.pass(ALERT_GROUP_INTERVAL_MS)
  assert.deepEqual(await alerts.told(), ['repeat: a firing'])
  assert.ok(await silences.acknowledge(rule.ruleId, 'a', by))
  await alerts.happen(rule, 'resolved', 'a')
  const { acknowledged } = await silences.readHolding('ann', rule.ruleId)
  assert.equal(acknowledged.size, 0)
  await alerts.happen(rule, 'firing', 'a')
  await alerts.pass(ALERT_GROUP_INTERVAL_MS)
  assert.deepEqual(await alerts.told(), ['new: a firing'], 'another time')
})

test('what is old is forgotten, but for what waits', async () => {
  const decisions = new DecisionStore(database.postgres, { nodeId: 0, epoch: 1n })
  const rule = await alerts.put('slow')
  await alerts.happen(rule, 'firing', 'a')
  await decisions.forgetBefore(-1_000, 100)
  await alerts.pass(ALERT_GROUP_WAIT_MS)
  const [posted] = await alerts.tell()
  assert.deepEqual(posted?.message.alerts[0]?.labels.service, 'a')
  await alerts.happen(rule, 'resolved', 'a')
  await alerts.pass(HOUR_MS)
  await alerts.tell()
  await decisions.forgetBefore(-1_000, 100)
  for (const table of ['alert_transitions', 'alert_outbox', 'alert_queues', 'alert_told']) {
    const { rowCount } = await database.postgres.query(`SELECT 1 FROM ${table}`)
    assert.equal(rowCount, 0, table)
  }
})
