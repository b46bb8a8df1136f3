/**
 * Goal: each kind sends what its service takes, over the same guarded way: judged address, no
 * redirect, bounded; and its answer is judged alike.
 * Method: a receiver on loopback that answers by its path; Alertmanager's own schema.
 */
import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { AddressRefusedError } from '../../../src/alerts/allowed-address.ts'
import {
  ALERTMANAGER_FIRING_MS,
  type PostableAlert,
  postableAlerts,
} from '../../../src/alerts/channels/alertmanager.ts'
import { createSender } from '../../../src/alerts/channels/channel-kinds.ts'
import { KIND_NAMES } from '../../../src/alerts/channels/channel-settings.ts'
import { testMessage } from '../../../src/alerts/channels/example-message.ts'
import { pagerdutyEvents } from '../../../src/alerts/channels/pagerduty.ts'
import { postWebhook } from '../../../src/alerts/post-webhook.ts'
import type { ChannelKind, ChannelTarget } from '../../../src/store/alerts/channel-store.ts'
import { ANY_TEXT, alertOf, HOSTILE, messageWith, NOW_MS, targetOf } from './messages.ts'

const NEVER = new AbortController().signal
const HTTP_KINDS = KIND_NAMES.filter((kind) => kind !== 'email')
const message = messageWith([alertOf({ service: 'web' }), alertOf({ service: 'shop' })])
const isTest = testMessage({ receiver: 'ops', key: 'sluice-test-1', nowMs: NOW_MS })

interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any body.
  readonly json: any
}

const seen: Seen[] = []
let server: Server
let base = ''

before(async () => {
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { method = '', url: path = '', headers } = request
    if (path.includes('hang')) return
    seen.push({ method, path, headers, json: body === '' ? undefined : JSON.parse(body) })
    const status = Number(/\/(\d{3})/.exec(path)?.[1] ?? 200)
    const more = status === 302 ? { Location: `${base}/inside` } : { 'Retry-After': '7' }
    response.writeHead(status, more).end(`no such ${path}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

after(() => {
  server.closeAllConnections()
  server.close()
})

const send = createSender({ nowMs: () => NOW_MS })
const sendHastily = createSender({
  nowMs: () => NOW_MS,
  post: (request, signal) => postWebhook(request, signal, { msMax: 100 }),
})

function targetAt(kind: ChannelKind, path: string, changes: Partial<ChannelTarget> = {}) {
  const options = kind === 'template' ? { template: { text: '{{title}}' } } : {}
  return targetOf({ kind, url: `${base}${path}`, options, ...changes })
}

/** Heartbeats take only tests. */
const messageFor = (kind: ChannelKind) => (kind === 'heartbeat' ? isTest : message)

test('the answer decides, whatever the kind', async () => {
  for (const kind of HTTP_KINDS) {
    const at = (path: string) => send(targetAt(kind, path), messageFor(kind), NEVER)
    for (const [path, outcome] of [
      ['/204/t', 'delivered'],
      ['/500/t', 'later'],
      ['/429/t', 'later'],
      ['/404/a-secret-path', 'refused'],
      ['/302/t', 'refused'],
    ] as const) {
      const answer = await at(path)
      const place = `${kind} ${path}`
      assert.deepEqual([answer.outcome, answer.status], [outcome, Number(path.slice(1, 4))], place)
      assert.doesNotMatch(JSON.stringify(answer), /a-secret-path/, place)
      if (path === '/429/t') assert.equal(answer.retryAfterS, 7, place)
    }
  }
  assert.ok(
    seen.every(({ path }) => !path.includes('inside')),
    'no redirect is followed',
  )
})

test('one that hangs costs its time, and the inside is not reached', async () => {
  await Promise.all(
    HTTP_KINDS.map(async (kind) => {
      const hanging = sendHastily(targetAt(kind, '/hang/t'), messageFor(kind), NEVER)
      await assert.rejects(hanging, /no answer in time/, kind)
    }),
  )
  seen.length = 0
  for (const kind of HTTP_KINDS) {
    const inside = targetAt(kind, '/t', { allowsPrivate: false })
    await assert.rejects(send(inside, messageFor(kind), NEVER), AddressRefusedError, kind)
  }
  const mail = targetOf({
    ...({ kind: 'email', url: 'smtp://127.0.0.1:25', allowsPrivate: false } as const),
    options: { from: 'a@example.com', to: ['b@example.com'] },
  })
  await assert.rejects(send(mail, message, NEVER), AddressRefusedError)
  assert.equal(seen.length, 0)
})

test('what each of them is sent', async () => {
  const of = async (kind: ChannelKind, path: string, changes: Partial<ChannelTarget> = {}) => {
    seen.length = 0
    const answer = await send(targetAt(kind, path, changes), messageFor(kind), NEVER)
    assert.equal(answer.outcome, 'delivered', answer.error)
    return seen[0]!
  }
  const slack = await of('slack', '/services/T/B')
  assert.equal(slack.headers['idempotency-key'], 'sluice-alert-9-1')
  assert.equal(slack.json.attachments[0].title, '[FIRING: 2] slow')
  const ntfy = await of('ntfy', '/base/my-topic', { secret: 'tk_1' })
  assert.deepEqual([ntfy.path, ntfy.json.topic], ['/base/', 'my-topic'])
  assert.equal(ntfy.headers.authorization, 'Bearer tk_1')
  const noTopic = targetAt('ntfy', '/100%')
  const refused = await send(noTopic, messageFor('ntfy'), NEVER)
  assert.equal(refused.outcome, 'refused', 'no other try would send it')
  const template = await of('template', '/x?y=1', { secret: 'tk_2' })
  assert.deepEqual([template.path, template.json], ['/x?y=1', { text: '[FIRING: 2] slow' }])
  const teams = await of('teams', '/workflows/1')
  assert.equal(teams.json.attachments[0].content.type, 'AdaptiveCard')
  const discord = await of('discord', '/api/webhooks/1')
  assert.deepEqual(discord.json.allowed_mentions, { parse: [] })
  const webhook = await of('webhook', '/w', { secret: 'sixteen characters' })
  assert.deepEqual(webhook.json, message)
  assert.match(String(webhook.headers['sluice-signature']), /^t=\d+,v1=[0-9a-f]{64}$/)
  const text = '{"id":9007199254740993}'
  const posted: string[] = []
  const exact = createSender({
    nowMs: () => NOW_MS,
    post: async ({ body = '' }) => {
      posted.push(body)
      return { status: 200, retryAfterS: undefined }
    },
  })
  await exact(targetAt('webhook', '/w'), message, NEVER, text)
  assert.deepEqual(posted, [text], 'with all digits')
  const heartbeat = await of('heartbeat', '/ping')
  assert.deepEqual([heartbeat.method, heartbeat.json], ['GET', undefined])
  const told = await send(targetAt('heartbeat', '/ping'), message, NEVER)
  assert.equal(told.outcome, 'refused', 'rules name channels that tell people')
  const unknown = targetAt('slack', '/t', { kind: 'telegraph' as ChannelKind })
  assert.equal((await send(unknown, message, NEVER)).outcome, 'later', 'a newer node knows it')
})

/** Of `postableAlerts` in Alertmanager's OpenAPI description. */
const TEXTS = { type: 'object', additionalProperties: { type: 'string' } }
const POSTABLE = new Ajv({
  formats: {
    'date-time': (text: string) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text),
    uri: (text: string) => URL.canParse(text),
  },
}).compile({
  type: 'array',
  items: {
    type: 'object',
    required: ['labels'],
    properties: {
      labels: TEXTS,
      annotations: TEXTS,
      startsAt: { type: 'string', format: 'date-time' },
      endsAt: { type: 'string', format: 'date-time' },
      generatorURL: { type: 'string', format: 'uri' },
    },
  },
})

/** What Alertmanager judges beside its schema. */
function assertPostable(alerts: readonly PostableAlert[]): void {
  assert.ok(POSTABLE(alerts), JSON.stringify(POSTABLE.errors))
  for (const { labels, startsAt, endsAt } of alerts) {
    assert.ok(Date.parse(startsAt) <= Date.parse(endsAt), `${startsAt} ${endsAt}`)
    assert.ok(labels.alertname)
    for (const name of Object.keys(labels)) assert.match(name, /^[a-zA-Z_][a-zA-Z0-9_]*$/)
  }
}

test('Alertmanager is told in its own form, for some minutes, with a credential', async () => {
  for (const [options, secret, credential] of [
    [{ username: 'ann' }, 'pass', `Basic ${Buffer.from('ann:pass').toString('base64')}`],
    [{}, 'token', 'Bearer token'],
    [{}, undefined, undefined],
  ] as const) {
    seen.length = 0
    await send(targetAt('alertmanager', '/prefix/', { options, secret }), message, NEVER)
    const [{ path, headers, json }] = seen as [Seen]
    assert.deepEqual([path, headers.authorization], ['/prefix/api/v2/alerts', credential])
    assertPostable(json)
    assert.deepEqual(json[0].labels, message.alerts[0]!.labels)
    assert.equal(Date.parse(json[0].endsAt), NOW_MS + ALERTMANAGER_FIRING_MS)
    assert.equal(json.length, 2)
  }
  const over = alertOf(
    {},
    {
      ...{ status: 'resolved', reason: 'resolved', generatorURL: '' },
      ...{ startsAt: '2026-05-05T05:03:00.000Z', endsAt: '2026-05-05T05:04:00.000Z' },
    },
  )
  const [resolved] = postableAlerts(messageWith([over]), NOW_MS)
  assert.deepEqual(
    [resolved?.endsAt, 'generatorURL' in resolved!],
    ['2026-05-05T05:04:00.000Z', false],
  )
  const failing = alertOf({}, { reason: 'evaluation_failing', detail: 'why' })
  const [about] = postableAlerts(messageWith([failing]), NOW_MS)
  assert.equal(about?.labels.sluice_about, 'evaluation', 'not the alert of a rule without groups')
  assert.equal(about?.annotations.detail, 'why')
  fc.assert(
    fc.property(ANY_TEXT, fc.integer({ min: -9e8, max: 9e8 }), (text, ms) => {
      const alerts = [alertOf({ service: text }, { annotations: { text } }), over]
      assertPostable(postableAlerts(messageWith(alerts), NOW_MS + ms))
    }),
    { numRuns: 50 },
  )
})

test('PagerDuty gets an event for each alert, of the same incident to its end', async () => {
  seen.length = 0
  const target = targetAt('pagerduty', '/v2/enqueue', { secret: 'routing' })
  assert.equal((await send(target, message, NEVER)).outcome, 'delivered')
  assert.deepEqual(
    seen.map(({ json }) => [json.routing_key, json.event_action, json.dedup_key]),
    ['web', 'shop'].map((service) => ['routing', 'trigger', `sluice-rule-3-${service}`]),
  )
  const { payload } = seen[0]!.json
  assert.equal(payload.severity, 'critical')
  assert.match(payload.summary, /^slow \(service=web\): 53\.25 > 20/)
  assert.equal(payload.custom_details.team, 'web')
  type Event = { event_action: string; dedup_key: string; payload: { summary: string } }
  const first = (of: Parameters<typeof alertOf>[1]) =>
    pagerdutyEvents(messageWith([alertOf({ service: 'web' }, of)]), 'k')[0] as Event
  const resolved = first({ status: 'resolved', reason: 'resolved' })
  assert.deepEqual([resolved.event_action, resolved.dedup_key], ['resolve', 'sluice-rule-3-web'])
  const [failing, restored] = [
    first({ reason: 'evaluation_failing', detail: 'why' }),
    first({ status: 'resolved', reason: 'evaluation_restored' }),
  ]
  assert.equal(failing.dedup_key, restored.dedup_key)
  assert.match(failing.payload.summary, /: why$/)
  for (const hostile of HOSTILE) {
    const alerts = [alertOf({ service: hostile }, { detail: hostile })]
    const [event] = pagerdutyEvents(messageWith(alerts), 'k') as [Event]
    assert.ok(event.payload.summary.length <= 1_024 && event.dedup_key.length <= 255)
    assert.ok(JSON.stringify(event).length < 32_000)
  }
})
