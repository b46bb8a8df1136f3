/**
 * Goal: a heartbeat is sent while this node evaluates and the owner's rules are not late, and else
 * it is not; what becomes of it is counted.
 * Method: rounds with channels in memory; which are late is PostgreSQL's to say, on a real one.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AddressRefusedError } from '../../src/alerts/allowed-address.ts'
import { HEARTBEAT_MS, type HeartbeatOutcome, Heartbeats } from '../../src/alerts/heartbeats.ts'
import { readRuleSettings, taskOf } from '../../src/alerts/rule-settings.ts'
import { ALERT_HEARTBEAT_LATE_MS } from '../../src/limits.ts'
import { AlertCountsStore, type DueHeartbeat } from '../../src/store/alerts/alert-counts.ts'
import { ChannelStore } from '../../src/store/alerts/channel-store.ts'
import type { RuleSettings } from '../../src/store/alerts/rule.ts'
import { RuleStore } from '../../src/store/alerts/rule-store.ts'
import { startDatabase, type TestDatabase } from '../serve/rest-harness.ts'
import { targetOf } from './channels/messages.ts'

let database: TestDatabase

before(async () => {
  database = await startDatabase()
})

after(async () => {
  await database?.close()
})

async function beat(due: readonly DueHeartbeat[], isAlive = true, status: number | Error = 200) {
  const [called, outcomes]: [string[], HeartbeatOutcome[]] = [[], []]
  const heartbeats = new Heartbeats({
    readDue: async (lateMs) => {
      assert.equal(lateMs, ALERT_HEARTBEAT_LATE_MS)
      return due
    },
    isAlive: () => isAlive,
    post: async ({ url, body }) => {
      assert.equal(body, undefined)
      called.push(url)
      if (status instanceof Error) throw status
      return { status, retryAfterS: undefined }
    },
    onOutcome: (outcome) => outcomes.push(outcome),
    onError: (cause) => assert.fail(String(cause)),
  })
  await heartbeats.round()
  return { called, outcomes }
}

test('sent while evaluation is alive and not late', async () => {
  const due = (url: string, isLate: boolean) => ({
    target: targetOf({ kind: 'heartbeat', url }),
    isLate,
  })
  const [good, late] = [due('https://a.test/', false), due('https://b.test/', true)]
  assert.deepEqual(await beat([good, late]), {
    called: ['https://a.test/'],
    outcomes: ['held', 'sent'],
  })
  assert.deepEqual(await beat([good], false), { called: [], outcomes: [] })
  for (const answer of [500, 404, new Error('ECONNREFUSED'), new AddressRefusedError('inside')]) {
    assert.deepEqual((await beat([good], true, answer)).outcomes, ['failed'])
  }
  assert.equal(HEARTBEAT_MS, 60_000)
})

test('late is an owner of whose rules one waits too long; what is counted', async () => {
  const { postgres } = database
  const [channels, rules] = [new ChannelStore(postgres), new RuleStore(postgres)]
  const counts = new AlertCountsStore(postgres)
  for (const owner of ['ann', 'bob']) {
    const url = `https://${owner}.test/ping`
    await channels.put(owner, 'alive', { kind: 'heartbeat', url, allowsPrivate: false })
    await channels.put(owner, 'ops', { url: 'https://x.test/', allowsPrivate: false })
  }
  const put = async (owner: string, name: string, changes: object = {}) => {
    const settings = readRuleSettings({
      ...{ condition: { op: '>', value: 2 }, window: '10s', channels: ['ops'] },
      ...changes,
    }) as RuleSettings
    const { everyMs, delayMs } = taskOf(settings)
    const rights = { owner, asAdmin: false, streamIds: undefined }
    const put = { rights, name, settings, everyMs, delayMs }
    return (await rules.put({ ...put, isOther: () => true, assertMatch: () => undefined })).rule
  }
  const rule = await put('ann', 'a')
  await put('bob', 'b', { paused: true })
  const lateOwners = async () =>
    (await counts.readHeartbeats(ALERT_HEARTBEAT_LATE_MS)).map(({ target, isLate }) => {
      return [new URL(target.url).host, isLate]
    })
  assert.deepEqual(await lateOwners(), [
    ['ann.test', false],
    ['bob.test', false],
  ])
  const moveBack = 'UPDATE alert_rules SET cursor_ms = cursor_ms - $1, failures = failures + 1'
  await postgres.query(moveBack, [ALERT_HEARTBEAT_LATE_MS + 30_000])
  assert.deepEqual(
    await lateOwners(),
    [
      ['ann.test', true],
      ['bob.test', false],
    ],
    'bob has paused his',
  )
  const { waiting, dead, oldestS, ...states } = await counts.read()
  assert.deepEqual([waiting, dead, oldestS], [0, 0, 0])
  assert.deepEqual(states, { evaluating: 0, failing: 1, paused: 1 })
  await postgres.query(
    `INSERT INTO alert_outbox (transition_id, rule_id, owner, channel, idempotency_key, created_at,
       dead_at)
     SELECT n, $1, 'ann', 'ops', 'key-' || n, now() - interval '90 s', CASE n WHEN 2 THEN now() END
     FROM generate_series(1, 2) AS n`,
    [rule.ruleId],
  )
  const after = await counts.read()
  assert.deepEqual([after.waiting, after.dead], [1, 1])
  assert.ok(after.oldestS >= 90 && after.oldestS < 300, `${after.oldestS}`)
})
