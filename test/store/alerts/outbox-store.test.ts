/**
 * Goal: messages of one rule go to a channel in their order, those about groups and those about the
 * rule by themselves; dead ones hold up nobody, are listed and sent again under their key. Channels
 * are an owner's own.
 * Method: a real PostgreSQL.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ALERT_CHANNELS_MAX } from '../../../src/limits.ts'
import { ChannelStore } from '../../../src/store/alerts/channel-store.ts'
import { OutboxStore } from '../../../src/store/alerts/outbox-store.ts'
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

async function insert(key: string, channel: string, isGrouped = true): Promise<void> {
  await database.postgres.query(
    `INSERT INTO alert_outbox (transition_id, rule_id, rule_name, owner, channel, idempotency_key,
       is_grouped, reason, content) VALUES (0, 1, 'errors', 'ann', $1, $2, $3, 'new', '{}')`,
    [channel, key, isGrouped],
  )
}

const shown = async () => (await outbox.readDue(100)).map(({ key }) => key)

test('in order, one at a time for each rule and channel', async () => {
  const settings = {
    ...({ kind: 'slack', url: 'https://hooks.test/a', secret: 's', allowsPrivate: false } as const),
    options: { template: { text: '{{title}}' } },
  }
  await channels.put('ann', 'ops', settings)
  for (const n of [1, 2]) {
    for (const channel of ['ops', 'chat']) await insert(`${channel}-${n}`, channel)
    await insert(`gap-${n}`, 'ops', false)
  }
  assert.deepEqual(await shown(), ['ops-1', 'chat-1', 'gap-1'])
  const [first, second, third] = await outbox.readDue(100)
  assert.deepEqual([first?.target, second?.target], [settings, undefined])
  await outbox.setDelivered(first!.messageId)
  await outbox.retryIn(second!.messageId, 60_000, 'it answered 500')
  await outbox.setDead(third!.messageId, 'it answered 404')
  assert.deepEqual(await shown(), ['ops-2', 'gap-2'], 'what waits holds up its channel alone')
  const listed = async (state: 'waiting' | 'delivered' | 'dead', owner?: string) =>
    await outbox.list({ owner }, state, { before: Number.MAX_SAFE_INTEGER, limit: 10 })
  assert.deepEqual([(await listed('waiting')).length, (await listed('delivered')).length], [4, 1])
  const [dead] = await listed('dead', 'ann')
  assert.deepEqual(
    [dead?.key, dead?.lastError, dead?.ruleName, dead?.reason, dead?.transition],
    ['gap-1', 'it answered 404', 'errors', 'new', undefined],
  )
  assert.equal((await listed('dead', 'bob')).length, 0)
  assert.equal(await outbox.sendAgain('bob', third!.messageId), false)
  assert.ok(await outbox.sendAgain('ann', third!.messageId))
  const again = (await outbox.readDue(100)).find(({ messageId }) => messageId === third!.messageId)
  assert.deepEqual([again?.key, again?.attempts], [third?.key, 0])
})

test('the first text that is stored is what a message says', async () => {
  const [due] = await outbox.readDue(1)
  assert.equal(await outbox.finish(due!.messageId, '{"first":1}'), '{"first":1}')
  assert.equal(await outbox.finish(due!.messageId, '{"second":1}'), '{"first":1}')
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
