/**
 * Goal: a channel is told of what is new with others, soon and not too often; of what still fires
 * after `repeat`; never of what is silenced, and then what is left of it once that is over.
 * Method: what is known, made up; and a clock in it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  NO_CHANNEL_MS,
  NOT_CURRENT_MS,
  planMessages,
} from '../../../src/alerts/messages/plan-messages.ts'
import type { AlertMessage } from '../../../src/alerts/webhook-body.ts'
import {
  ALERT_GROUP_INTERVAL_MS,
  ALERT_GROUP_WAIT_MS,
  ALERT_GROUPS_MAX,
  ALERT_MESSAGE_ALERTS_MAX,
  ALERT_MESSAGE_GROUPS_MAX,
  ALERT_REPEAT_MS_MIN,
} from '../../../src/limits.ts'
import type { QueueFacts } from '../../../src/store/alerts/queue-facts.ts'
import type { QueuePlan } from '../../../src/store/alerts/queue-store.ts'
import { factsOf, fires, MINUTE_MS, NOW_MS, ruleOf, told, waiting } from './some-facts.ts'

const HOUR_MS = 60 * MINUTE_MS

const plan = (changes: Partial<QueueFacts>, isCurrent = true) =>
  planMessages(factsOf(changes), { isCurrent, publicUrl: undefined })

const written = async ({ messages }: QueuePlan) =>
  await Promise.all(
    messages.map(async ({ write }) => JSON.parse(await write('key')) as AlertMessage),
  )

/** Of each message: why, and of which groups why. */
async function shown(made: QueuePlan): Promise<unknown[]> {
  return (await written(made)).map(({ reason, alerts }) => {
    return [reason, ...alerts.map((alert) => `${alert.labels.http_path} ${alert.reason}`)]
  })
}

const silence = (value: string, untilMs: number) => ({
  ...{ silenceId: 1, owner: 'ann', fromMs: 0, untilMs, comment: '', createdAtMs: 0 },
  ...{ state: 'active' as const },
  matchers: [{ name: 'http_path', value, is_regex: false, is_equal: true }],
})
const silenced = (path: string, untilMs = NOW_MS + HOUR_MS) => ({
  holding: { silences: [silence(path, untilMs)], acknowledged: new Map() },
})

test('the first waits for others, and then all that waits goes', async () => {
  const early = waiting('/a', { sinceMs: NOW_MS - ALERT_GROUP_WAIT_MS + 1_000 })
  const soon = await plan({ ofGroups: [early] })
  assert.deepEqual([soon.messages, soon.nextAtMs], [[], NOW_MS + 1_000])
  const over = waiting('/b', { kind: 'resolved', noticeId: 8 })
  const all = await plan({
    ofGroups: [early, over],
    told: new Map([['/b', told(NOW_MS - HOUR_MS)]]),
  })
  assert.deepEqual(await shown(all), [['new', '/a new', '/b resolved']])
  const [message] = all.messages
  assert.deepEqual([message?.lastNoticeId, message?.fingerprints], [8, ['/a', '/b']])
  assert.equal(all.nextAtMs, undefined, 'its delivery is the next time')
})

test('messages about groups have time between them; one under way holds up the next', async () => {
  const groupedAtMs = NOW_MS - MINUTE_MS
  const later = await plan({ ofGroups: [waiting('/a')], groupedAtMs })
  assert.deepEqual([later.messages, later.nextAtMs], [[], groupedAtMs + ALERT_GROUP_INTERVAL_MS])
  const busy = await plan({ ofGroups: [waiting('/a')], isBusy: { groups: true, rule: false } })
  assert.deepEqual([busy.messages, busy.nextAtMs], [[], undefined])
})

test('what is about the rule goes at once and by itself, in its order', async () => {
  const gap = { ...waiting('/a'), fingerprint: undefined, groupJson: '[]', kind: 'gap' } as const
  const failing = { ...gap, kind: 'evaluation_failing', reason: 'no rights' } as const
  const made = await plan({
    ofRule: [gap, { ...gap, noticeId: 8 }, { ...failing, noticeId: 9 }],
    ofGroups: [waiting('/a', { sinceMs: NOW_MS })],
    groupedAtMs: NOW_MS,
  })
  assert.equal(made.messages.length, 1)
  const [message] = made.messages
  assert.deepEqual(
    [message?.reason, message?.alertCount, message?.lastNoticeId, message?.isGrouped],
    ['gap', 2, 8, false],
  )
  const [text] = await written(await plan({ ofRule: [failing] }))
  assert.deepEqual(
    [text?.status, text?.detail, text?.alerts[0]?.labels, text?.alerts[0]?.fingerprint],
    ['firing', 'no rights', { team: 'web', alertname: 'slow', severity: 'critical' }, ''],
  )
  const all = { silences: [silence('', NOW_MS + HOUR_MS)], acknowledged: new Map() }
  assert.equal((await plan({ ofRule: [gap], holding: all })).messages.length, 1, 'never silenced')
  const busy = await plan({ ofRule: [gap], isBusy: { groups: false, rule: true } })
  assert.equal(busy.messages.length, 0)
})

test('what fires is told again after the last delivery, with what falls due soon', async () => {
  const firing = [fires('/a'), fires('/b'), fires('/c')]
  const known = (a: number, b: number) =>
    new Map([
      ['/a', told(a)],
      ['/b', told(b)],
      ['/c', told(NOW_MS)],
    ])
  const soon = await plan({ firing, told: known(NOW_MS - 4 * HOUR_MS + 1, NOW_MS) })
  assert.deepEqual([soon.messages, soon.nextAtMs], [[], NOW_MS + 1])
  const due = await plan({
    ...{ firing, told: known(NOW_MS - 4 * HOUR_MS, NOW_MS - 4 * HOUR_MS + MINUTE_MS) },
  })
  assert.deepEqual(await shown(due), [['repeat', '/a repeat', '/b repeat']])
  assert.deepEqual(
    due.messages[0]?.more.map(({ fingerprint, kind }) => [fingerprint, kind]),
    [
      ['/a', 'repeat'],
      ['/b', 'repeat'],
    ],
  )
  const [text] = await written(due)
  assert.deepEqual(
    [text?.alerts[0]?.value, text?.alerts[0]?.startsAt, text?.alerts[0]?.window.to],
    [5, '2026-05-05T04:55:00.000Z', '2026-05-05T05:05:00.000Z'],
  )
})

test('a rule says how often: never, paused, changed; not for channels that it lost', async () => {
  const old = { firing: [fires('/a')], told: new Map([['/a', told(0)]]) }
  const count = async (changes: object, of: Partial<QueueFacts> = old, isCurrent = true) => {
    return (await plan({ ...of, rule: ruleOf(changes) }, isCurrent)).messages.length
  }
  assert.equal(await count({}), 1)
  assert.equal(await count({ repeat: '0s' }), 0)
  assert.equal(await count({ paused: true }), 0)
  assert.equal(await count({ channels: ['chat'] }), 0)
  const short = { ...old, told: new Map([['/a', told(NOW_MS - ALERT_REPEAT_MS_MIN + 1)]]) }
  assert.equal(await count({ repeat: '10s' }, short), 0, 'no more often than that')
  assert.equal(await count({ repeat: '10s' }, { ...short, nowMs: NOW_MS + 1 }), 1)
  const stale = await plan({ ...old }, false)
  assert.deepEqual([stale.messages, stale.nextAtMs], [[], NOW_MS + NOT_CURRENT_MS])
  const gone = await plan({ ...old, rule: undefined })
  assert.equal(gone.messages.length, 0)
})

test('a channel that is new to a rule hears of what fires', async () => {
  const made = await plan({ firing: [fires('/a')] })
  assert.deepEqual(await shown(made), [['new', '/a new']])
  assert.equal(made.messages[0]?.more[0]?.kind, 'firing')
  const dead = new Map([['/a', told(NOW_MS - 4 * HOUR_MS, false)]])
  assert.deepEqual(await shown(await plan({ firing: [fires('/a')], told: dead })), [
    ['new', '/a new'],
  ])
  const lately = new Map([['/a', told(NOW_MS, false)]])
  const other = waiting('/b')
  const both = await plan({ firing: [fires('/a')], told: lately, ofGroups: [other] })
  assert.deepEqual(await shown(both), [['new', '/b new']], 'not with every message')
})

test('nothing is repeated to a channel that is not there; it is looked for', async () => {
  const old = { firing: [fires('/a')], told: new Map([['/a', told(0, false)]]) }
  const made = await plan({ ...old, channelKind: undefined })
  assert.deepEqual([made.messages, made.nextAtMs], [[], NOW_MS + NO_CHANNEL_MS])
  const news = await plan({ ofGroups: [waiting('/b')], channelKind: undefined })
  assert.equal(news.messages.length, 1, 'which is dead, and listed')
})

test('to an Alertmanager all that fires goes each minute, whatever the rule says', async () => {
  const firing = Array.from({ length: ALERT_GROUPS_MAX }, (_, n) => fires(`/${n}`))
  const known = new Map(firing.map(({ fingerprint }, n) => [fingerprint, told(NOW_MS - n)]))
  known.set('/5', told(NOW_MS - MINUTE_MS))
  const rule = ruleOf({ repeat: '0s' })
  const of = { firing, told: known, rule, groupedAtMs: NOW_MS - 1 }
  const minutely = await plan({ ...of, channelKind: 'alertmanager' })
  const [text] = await written(minutely)
  assert.equal(minutely.messages[0]?.isFinal, true, 'without events')
  assert.deepEqual([text?.alerts.length, text?.truncatedAlerts], [ALERT_GROUPS_MAX, 0])
  assert.equal((await plan(of)).messages.length, 0)
  assert.equal((await plan({ ofGroups: [waiting('/a')] })).messages[0]?.isFinal, false)
})

test('a silence holds back, and what still fires when it ends is told then', async () => {
  const untilMs = NOW_MS + HOUR_MS
  const held = await plan({ ofGroups: [waiting('/a')], ...silenced('/a') })
  assert.deepEqual(
    [held.messages, held.held, held.isHeld, held.nextAtMs],
    [[], ['/a'], true, untilMs],
  )
  const other = await plan({ ofGroups: [waiting('/a'), waiting('/b')], ...silenced('/a') })
  assert.deepEqual(await shown(other), [['new', '/b new']])
  assert.deepEqual(other.messages[0]?.fingerprints, ['/b'])
  const after = { nowMs: untilMs, ofGroups: [waiting('/a', { wasHeld: true })] }
  assert.deepEqual(await shown(await plan(after)), [['new', '/a new']])
  const known = { firing: [fires('/a')], told: new Map([['/a', told(0)]]) }
  const quiet = await plan({ ...known, ...silenced('/a') })
  assert.deepEqual([quiet.messages, quiet.isHeld, quiet.nextAtMs], [[], true, untilMs])
  assert.deepEqual(await shown(await plan(known)), [['repeat', '/a repeat']])
})

test('what is over is told only to who heard, or hears, that it fired', async () => {
  const over = (changes: object) => waiting('/a', { kind: 'resolved', ...changes })
  const dropped = await plan({ ofGroups: [over({ wasHeld: true, firedMs: 1 })] })
  assert.deepEqual([dropped.messages, dropped.dropped], [[], ['/a']], 'all of it was silent')
  const knows = { told: new Map([['/a', told(0)]]) }
  const late = await plan({ ofGroups: [over({ wasHeld: true })], ...knows })
  assert.deepEqual(await shown(late), [['resolved', '/a resolved']])
  const still = await plan({ ofGroups: [over({})], ...knows, ...silenced('/a') })
  assert.deepEqual([still.messages, still.held], [[], ['/a']], 'not while it is silenced')
  const unheard = { told: new Map([['/a', told(0, false)]]) }
  assert.deepEqual((await plan({ ofGroups: [over({})], ...unheard })).dropped, ['/a'])
  const short = await plan({ ofGroups: [over({ firedMs: NOW_MS - 5 * MINUTE_MS })] })
  const [text] = await written(short)
  assert.deepEqual(
    [text?.status, text?.alerts[0]?.startsAt, text?.alerts[0]?.endsAt],
    ['resolved', '2026-05-05T05:00:00.000Z', '2026-05-05T05:04:00.000Z'],
    'from when to when it fired',
  )
})

test('what somebody knows of is silent until it is resolved', async () => {
  const by = { fingerprint: '/a', author: 'ann', comment: '', atMs: 0 }
  const holding = { silences: [], acknowledged: new Map([['/a', by]]) }
  const known = { firing: [fires('/a')], told: new Map([['/a', told(0)]]) }
  const quiet = await plan({ ...known, holding })
  assert.deepEqual([quiet.messages, quiet.isHeld, quiet.nextAtMs], [[], true, undefined])
  const over = await plan({ ...known, ofGroups: [waiting('/a', { kind: 'resolved' })], holding })
  assert.deepEqual(await shown(over), [['resolved', '/a resolved']])
})

test('groups past the bound are counted, those past a message are in the next', async () => {
  const count = ALERT_MESSAGE_GROUPS_MAX + 10
  const ofGroups = Array.from({ length: count }, (_, n) => waiting(`/${n}`, { noticeId: n + 1 }))
  const [message] = (await plan({ ofGroups })).messages
  const text = JSON.parse(await message!.write('key')) as AlertMessage
  assert.equal(text.alerts.length, ALERT_MESSAGE_ALERTS_MAX)
  assert.equal(text.truncatedAlerts, ALERT_MESSAGE_GROUPS_MAX - ALERT_MESSAGE_ALERTS_MAX)
  assert.equal(message?.fingerprints.length, ALERT_MESSAGE_GROUPS_MAX)
})

test('a rule that cannot be evaluated is told again, too', async () => {
  const rule = { ...ruleOf(), isTold: true, problem: 'no rights' }
  const known = (atMs: number) => ({ rule, told: new Map([['', told(atMs)]]) })
  const due = await plan(known(NOW_MS - 4 * HOUR_MS))
  const [text] = await written(due)
  assert.deepEqual(
    [text?.reason, text?.detail, due.messages[0]?.isGrouped],
    ['evaluation_failing', 'no rights', false],
  )
  assert.equal((await plan(known(NOW_MS))).nextAtMs, NOW_MS + 4 * HOUR_MS)
})
