/**
 * Goal: a channel takes what belongs to its kind and shows no secret again; it can be tried, and a
 * template can be seen without being sent.
 * Method: the routes on a real control store; what is sent is kept here.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AddressRefusedError } from '../../src/alerts/allowed-address.ts'
import type { SendMessage } from '../../src/alerts/channels/send-answer.ts'
import { readRuleSettings, taskOf } from '../../src/alerts/rule-settings.ts'
import { ALERT_CHANNEL_TESTS_MAX, ALERT_RECIPIENTS_MAX } from '../../src/limits.ts'
import { channelRoutes } from '../../src/serve/alert-channels.ts'
import { ChannelStore } from '../../src/store/alerts/channel-store.ts'
import { OutboxStore } from '../../src/store/alerts/outbox-store.ts'
import { RuleStore } from '../../src/store/alerts/rule-store.ts'
import { TransitionStore } from '../../src/store/alerts/transition-store.ts'
import { RestHarness, startDatabase, type TestDatabase } from '../serve/rest-harness.ts'

const NOW_MS = Date.parse('2026-05-05T05:05:00Z')
const sending: { send: SendMessage } = { send: async () => ({ outcome: 'delivered' }) }
let database: TestDatabase
let harness: RestHarness
let ann = ''
let bob = ''

before(async () => {
  database = await startDatabase()
  const { postgres } = database
  harness = await RestHarness.start(postgres, ({ resolveToken }) =>
    channelRoutes({
      resolveToken,
      nowMs: () => NOW_MS,
      alerts: {
        rules: new RuleStore(postgres),
        transitions: new TransitionStore(postgres),
        channels: new ChannelStore(postgres),
        outbox: new OutboxStore(postgres),
        send: (...args) => sending.send(...args),
      },
    }),
  )
  ann = await harness.token('ann', ['alerts:read', 'alerts:write'])
  bob = await harness.token('bob', ['alerts:read', 'alerts:write'])
})

after(async () => {
  await harness?.close()
  await database?.close()
})

test('each kind takes what belongs to it, and shows no secret again', async () => {
  const mail = { kind: 'email', host: 'mail.test', from: 'a@example.com', to: ['b@example.com'] }
  const template = { text: '{{title}}' }
  const taken: [body: object, shown: object][] = [
    [{ url: 'https://h.test/hidden' }, { kind: 'webhook', has_credential: false }],
    [
      { kind: 'alertmanager', url: 'https://am.test/', username: 'u', password: 'hidden-pass' },
      { kind: 'alertmanager', host: 'am.test', username: 'u', has_credential: true },
    ],
    [
      { kind: 'slack', url: 'https://h.test/hidden', template },
      { kind: 'slack', template },
    ],
    [{ kind: 'ntfy', url: 'https://ntfy.test/hidden', token: 'hidden-token' }, { kind: 'ntfy' }],
    [{ kind: 'pagerduty', routing_key: 'hidden-key' }, { host: 'events.pagerduty.com' }],
    [
      { ...mail, username: 'u', password: 'hidden-pass' },
      { host: 'mail.test:587', tls: 'starttls', from: 'a@example.com', to: ['b@example.com'] },
    ],
    [
      { ...mail, tls: 'implicit' },
      { host: 'mail.test:465', username: null },
    ],
    [{ ...mail, host: '[2001:db8::1]', port: 25, tls: 'none' }, { host: '[2001:db8::1]:25' }],
    [{ kind: 'heartbeat', url: 'https://h.test/hidden' }, { kind: 'heartbeat' }],
  ]
  const put = (body: object, token = ann) =>
    harness.call('PUT', '/v1/alerts/channels/kinds', { token, body })
  let version = 0
  for (const [body, shown] of taken) {
    const answer = await put(body)
    assert.ok(answer.status < 300, answer.text)
    assert.deepEqual({ ...answer.json, ...shown }, answer.json)
    assert.doesNotMatch(answer.text, /hidden/)
    assert.equal(answer.json.version, ++version)
    assert.equal((await put(body)).json.version, version, 'the same again changes nothing')
  }
  const listed = await harness.call('GET', '/v1/alerts/channels', { token: ann })
  assert.doesNotMatch(listed.text, /hidden/)
  const many = Array.from({ length: ALERT_RECIPIENTS_MAX + 1 }, (_, n) => `a${n}@example.com`)
  const refused: [body: object, problem: RegExp][] = [
    [{}, /"url" is required for the kind webhook/],
    [{ kind: 'fax', url: 'https://h.test/' }, /"kind" must be/],
    [{ kind: 'slack', url: 'https://h.test/', password: 'x', username: 'u' }, /does not belong/],
    [{ ...mail, url: 'https://h.test/' }, /"url" does not belong to the kind email/],
    [{ kind: 'heartbeat', url: 'https://h.test/', template }, /"template" does not belong/],
    [{ kind: 'template', url: 'https://h.test/' }, /"template" is required/],
    [{ kind: 'slack', url: 'https://h.test/', template: { a: '{{x}}' } }, /\{\{x\}\}/],
    [{ kind: 'ntfy', url: 'https://ntfy.test/' }, /a topic/],
    [{ kind: 'ntfy', url: 'https://ntfy.test/100%' }, /a topic/],
    [{ kind: 'pagerduty', routing_key: 'a b' }, /"routing_key"/],
    [{ kind: 'alertmanager', url: 'https://h.test/', username: 'u' }, /belong together/],
    [{ ...mail, tls: 'none', username: 'u', password: 'p' }, /not sent without "tls"/],
    [{ ...mail, to: many }, /"to"/],
    [{ ...mail, to: ['b@example.com\r\nBcc: c@example.com'] }, /"to"/],
    [{ ...mail, to: ['Bob <b@example.com>'] }, /"to"/],
    [{ ...mail, from: 'a@example.com, c@example.com' }, /"from"/],
    [{ ...mail, host: 'mail.test:25/x@' }, /"host"/],
  ]
  for (const [body, problem] of refused) {
    const answer = await put(body)
    assert.equal(answer.status, 400, JSON.stringify(body))
    assert.match(answer.json.detail, problem)
  }
  assert.equal((await put({ ...mail, allow_private: true })).status, 403)
})

test('a channel is tried now, one at a time, and told what was answered', async () => {
  const at = (name: string, token = ann) =>
    harness.call('POST', `/v1/alerts/channels/${name}/test`, { token })
  await harness.call('PUT', '/v1/alerts/channels/tried', {
    ...{ token: ann, body: { kind: 'slack', url: 'https://h.test/' } },
  })
  const told: string[] = []
  sending.send = async ({ kind }, { reason, commonAnnotations }) => {
    told.push(`${kind} ${reason} ${commonAnnotations.summary}`)
    return { outcome: 'refused', status: 404, said: 'no_team', error: 'it answered 404: no_team' }
  }
  const { status, json } = await at('tried')
  assert.equal(status, 200)
  const { duration_ms: ms, ...rest } = json
  assert.deepEqual(rest, {
    ...{ outcome: 'refused', status: 404, answer: 'no_team', error: 'it answered 404: no_team' },
  })
  assert.ok(Number.isInteger(ms))
  assert.deepEqual(told, ['slack test A test of the channel tried. Nothing is wrong.'])
  let answer: () => void = () => undefined
  const isUnderWay = new Promise<void>((begun) => {
    sending.send = () =>
      new Promise((resolve) => {
        answer = () => resolve({ outcome: 'delivered' })
        begun()
      })
  })
  const first = at('tried')
  await isUnderWay
  const second = await at('tried')
  assert.equal(second.status, 429)
  assert.match(
    second.json.detail,
    new RegExp(`ALERT_CHANNEL_TESTS_MAX \\(${ALERT_CHANNEL_TESTS_MAX}\\)`),
  )
  answer()
  assert.equal((await first).json.outcome, 'delivered')
  sending.send = async () => {
    throw new AddressRefusedError('its address is not one of the internet')
  }
  const inside = await at('tried')
  assert.deepEqual([inside.json.outcome, inside.json.status], ['refused', null])
  assert.equal((await at('nobody')).status, 404)
  assert.equal((await at('tried', bob)).status, 404, "another owner's")
  assert.equal((await at('tried', await harness.token('ann', ['alerts:read']))).status, 403)
})

test('a template is tried on an example, and on what a rule told last', async () => {
  const preview = (body: object, token = ann) =>
    harness.call('POST', '/v1/alerts/channels/preview', { token, body })
  const template = { t: '{{rule}} {{labels.service}} {{value}}' }
  const example = await preview({ kind: 'template', template })
  assert.deepEqual(example.json, {
    ...{ body: { t: 'example web 53' }, template, is_example: true },
  })
  const preset = (await preview({ kind: 'discord' })).json
  assert.match(preset.body.embeds[0].title, /FIRING/)
  assert.equal(preset.template.embeds[0].title, '{{title}}')
  assert.match((await preview({ kind: 'email' })).json.body.subject, /^\[FIRING\] example/)
  const settings = readRuleSettings({
    ...{ condition: { op: '>', value: 1 }, window: '1m', group_by: ['service'] },
    ...{ time_basis: 'event_time', send_resolved: false },
  })
  const rights = { owner: 'ann', asAdmin: false, streamIds: undefined }
  const { rule } = await new RuleStore(database.postgres).put({
    ...{ rights, name: 'told', settings, ...taskOf(settings) },
    ...{ isOther: () => true, assertMatch: () => undefined },
  })
  await database.postgres.query(
    `INSERT INTO alert_transitions (rule_id, rule_name, owner, rule_version, fingerprint,
       group_json, kind, from_ms, until_ms, value, event_count)
     SELECT $1, 'told', 'ann', 1, 'f', '["shop"]', kind, 0, 60000, value, 7
       FROM unnest($2::text[], $3::float8[]) AS t (kind, value)`,
    [rule.ruleId, ['pending', 'firing', 'resolved', 'pending', 'inactive'], [5, 7.5, 1, 6, 0]],
  )
  const told = await preview({ kind: 'template', template, rule: 'told' })
  assert.deepEqual([told.json.body, told.json.is_example], [{ t: 'told shop 7.5' }, false])
  const [alert] = (await preview({ kind: 'webhook', rule: 'told' })).json.body.alerts
  assert.equal(alert.window.time, 'event_time')
  assert.equal((await preview({ kind: 'template', template, rule: 'told' }, bob)).status, 404)
  for (const body of [
    { kind: 'heartbeat' },
    { kind: 'template' },
    { kind: 'email', template },
    { kind: 'slack', template: { t: '{{nothing}}' } },
  ]) {
    assert.equal((await preview(body)).status, 400, JSON.stringify(body))
  }
})
