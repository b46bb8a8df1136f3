/**
 * Goal: messages of one rule and group go to a channel in their order; dead ones hold up nobody,
 * are listed and sent again under their key.
 * Method: a real PostgreSQL.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ALERT_CHANNELS_MAX } from '../../../src/limits.ts'
import { ChannelStore } from '../../../src/store/alerts/channel-store.ts'
import { OutboxStore } from '../../../src/store/alerts/outbox-store.ts'
import type { Rule } from '../../../src/store/alerts/rule.ts'
import { insertTransitions } from '../../../src/store/alerts/transitions-sql.ts'
import { startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'

let database: TestDatabase
let outbox: OutboxStore
let channels: ChannelStore

before(async () => {
  database = await startDatabase()
  outbox = new OutboxStore(database.postgres)
  channels = new ChannelStore(database.postgres)
})

after(async () => {
  await database?.close()
})

async function happen(group: string, kind: 'firing' | 'resolved'): Promise<void> {
  const settings = { channels: ['ops', 'chat'], send_resolved: true }
  const rule = { ruleId: 1, name: 'errors', owner: 'ann', version: 1, settings }
  await insertTransitions(database.postgres, rule as unknown as Rule, [
    { kind, group: { fingerprint: group, json: `["${group}"]` }, fromMs: 0, untilMs: 1 },
  ])
}

const shown = async () =>
  (await outbox.readDue(100)).map(({ channel, transition }) => {
    return `${transition.fingerprint} ${transition.kind} ${channel}`
  })

test('in order, one at a time for each group and channel', async () => {
  const settings = {
    ...({ kind: 'slack', url: 'https://hooks.test/a', secret: 's', allowsPrivate: false } as const),
    options: { template: { text: '{{title}}' } },
  }
  await channels.put('ann', 'ops', settings)
  for (const kind of ['firing', 'resolved'] as const) {
    for (const group of ['a', 'b']) await happen(group, kind)
  }
  assert.deepEqual(await shown(), [
    'a firing ops',
    'a firing chat',
    'b firing ops',
    'b firing chat',
  ])
  const [first, second, third] = await outbox.readDue(100)
  assert.deepEqual([first?.target, second?.target], [settings, undefined])
  assert.equal(first?.key, `sluice-alert-${first?.transition.transitionId}-1`)
  await outbox.setDelivered(first!.messageId)
  await outbox.retryIn(second!.messageId, 60_000, 'it answered 500')
  await outbox.setDead(third!.messageId, 'it answered 404')
  assert.deepEqual(
    await shown(),
    ['b firing chat', 'a resolved ops', 'b resolved ops'],
    'what waits holds up its group alone',
  )
  const listed = async (state: 'waiting' | 'delivered' | 'dead', owner?: string) =>
    (await outbox.list(owner, state, { before: Number.MAX_SAFE_INTEGER, limit: 10 })).length
  assert.deepEqual(
    [await listed('waiting'), await listed('delivered'), await listed('dead', 'ann')],
    [6, 1, 1],
  )
  assert.equal(await listed('dead', 'bob'), 0)
  assert.equal(await outbox.sendAgain('bob', third!.messageId), false)
  assert.ok(await outbox.sendAgain('ann', third!.messageId))
  const again = (await outbox.readDue(100)).find(({ messageId }) => messageId === third!.messageId)
  assert.deepEqual([again?.key, again?.attempts], [third?.key, 0])
})

test('channels: the same put changes nothing, names are an owner own', async () => {
  const one = { url: 'https://hooks.test/1', allowsPrivate: false }
  const made = await channels.put('bob', 'x', one)
  assert.deepEqual([made.isNew, made.channel.version], [true, 1])
  assert.equal((await channels.put('bob', 'x', one)).channel.version, 1)
  const changed = await channels.put('bob', 'x', { ...one, secret: 'other' })
  assert.deepEqual([changed.isNew, changed.channel.version], [false, 2])
  assert.equal((await channels.find('ann', 'x'))?.version, undefined)
  await database.postgres.query(
    `INSERT INTO alert_channels (owner, name, url, allows_private)
     SELECT 'bob', 'n' || n, 'https://hooks.test/', false FROM generate_series(2, $1) AS n`,
    [ALERT_CHANNELS_MAX],
  )
  await assert.rejects(channels.put('bob', 'more', one), /ALERT_CHANNELS_MAX/)
  assert.ok(await channels.delete('bob', 'x'))
  assert.equal(await channels.delete('bob', 'x'), false)
})
