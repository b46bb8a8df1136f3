/**
 * Goal: a message is delivered, tried again or given up as its answer says, always under the same
 * key; what is sent is signed, and has what receivers of Alertmanager's messages read.
 * Method: messages in memory, and answers by script.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { AddressRefusedError } from '../../src/alerts/allowed-address.ts'
import { createSender } from '../../src/alerts/channels/channel-kinds.ts'
import { Deliverer } from '../../src/alerts/deliverer.ts'
import type { WebhookAnswer, WebhookRequest } from '../../src/alerts/post-webhook.ts'
import { readRuleSettings } from '../../src/alerts/rule-settings.ts'
import { ALERT_DELIVERY_MS_MAX } from '../../src/limits.ts'
import type { DueMessage } from '../../src/store/alerts/outbox-store.ts'

const NOW_MS = Date.parse('2026-05-05T05:05:00Z')
const SETTINGS = readRuleSettings({
  ...{ condition: { op: '>', value: 2 }, window: '1m', group_by: ['http.path', 'n'] },
  ...{ severity: 'critical', labels: { team: 'web' }, annotations: { runbook: 'look' } },
})

function message(changes: Partial<DueMessage> = {}): DueMessage {
  return {
    ...{ messageId: 5, channel: 'ops', key: 'key-5', attempts: 0, ageMs: 0, lastError: undefined },
    state: 'waiting',
    target: {
      ...{ kind: 'webhook', url: 'https://hooks.test/x', secret: 'a secret of the two' },
      ...{ allowsPrivate: false, options: {} },
    },
    settings: SETTINGS,
    transition: {
      ...{ transitionId: 9, ruleId: 3, ruleName: 'slow', owner: 'ann', ruleVersion: 2 },
      ...{ fingerprint: 'f', groupJson: '["/a",7]', kind: 'firing', reason: undefined },
      ...{ fromMs: NOW_MS - 60_000, untilMs: NOW_MS, value: 3.5, events: 4, decidedAtMs: NOW_MS },
    },
    ...changes,
  }
}

async function deliver(due: DueMessage, answer: WebhookAnswer | Error) {
  const sent: (WebhookRequest & { readonly body: string })[] = []
  const became: unknown[] = []
  const deliverer = new Deliverer({
    outbox: {
      readDue: async () => [due],
      setDelivered: async (messageId) => void became.push(['delivered', messageId]),
      setDead: async (...args) => void became.push(['dead', ...args]),
      retryIn: async (...args) => void became.push(['retry', ...args]),
    },
    isWorker: () => true,
    send: createSender({
      nowMs: () => NOW_MS,
      post: async ({ body = '', ...request }) => {
        sent.push({ ...request, body })
        if (answer instanceof Error) throw answer
        return answer
      },
    }),
    onOutcome: () => undefined,
    onError: (cause) => assert.fail(String(cause)),
  })
  assert.equal(await deliverer.round(), 1)
  return { sent, became: became[0] }
}

test('what becomes of a message by its answer', async () => {
  const answer = (status: number, retryAfterS?: number) => ({ status, retryAfterS })
  const cases: [Partial<DueMessage>, WebhookAnswer | Error, unknown[]][] = [
    [{}, answer(204), ['delivered', 5]],
    [{}, answer(500), ['retry', 5, 1_000, 'it answered 500']],
    [{ attempts: 3 }, answer(503), ['retry', 5, 8_000, 'it answered 503']],
    [{ attempts: 40 }, answer(503), ['retry', 5, 300_000, 'it answered 503']],
    [{}, answer(429, 90), ['retry', 5, 90_000, 'it answered 429']],
    [{}, answer(429, 1e9), ['retry', 5, 3_600_000, 'it answered 429']],
    [{}, answer(408), ['retry', 5, 1_000, 'it answered 408']],
    [{}, answer(302), ['dead', 5, 'it answered 302']],
    [{}, answer(404), ['dead', 5, 'it answered 404']],
    [{}, new Error('ECONNREFUSED'), ['retry', 5, 1_000, 'ECONNREFUSED']],
    [{}, new AddressRefusedError('inside'), ['dead', 5, 'inside']],
    [{ ageMs: ALERT_DELIVERY_MS_MAX }, answer(500), ['dead', 5, 'it answered 500']],
    [{ target: undefined }, answer(200), ['dead', 5, 'there is no channel of this name']],
  ]
  for (const [changes, given, expected] of cases) {
    assert.deepEqual((await deliver(message(changes), given)).became, expected)
  }
})

test('signed, with one key, and what receivers read', async () => {
  const { sent } = await deliver(message(), { status: 200, retryAfterS: undefined })
  const [request] = sent
  const { body, headers } = request!
  assert.equal(headers['Idempotency-Key'], 'key-5')
  const [, seconds, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers['Sluice-Signature']!)!
  const hmac = createHmac('sha256', 'a secret of the two').update(`${seconds}.${body}`)
  assert.equal(digest, hmac.digest('hex'))
  assert.equal(Number(seconds), NOW_MS / 1_000)
  const parsed = JSON.parse(body)
  assert.deepEqual(
    [parsed.version, parsed.status, parsed.receiver, parsed.reason, parsed.groupLabels],
    ['4', 'firing', 'ops', 'new', { http_path: '/a', n: '7' }],
  )
  const labels = { team: 'web', http_path: '/a', n: '7', alertname: 'slow', severity: 'critical' }
  assert.deepEqual(parsed.alerts[0].labels, labels)
  assert.deepEqual(parsed.commonAnnotations, { runbook: 'look' })
  const { value, threshold, condition, event_count: count, endsAt } = parsed.alerts[0]
  assert.deepEqual([value, threshold, condition, count], [3.5, 2, '>', 4])
  assert.equal(endsAt, '0001-01-01T00:00:00Z')
  const unsigned = { ...message().target!, secret: undefined }
  const other = await deliver(message({ target: unsigned }), {
    status: 200,
    retryAfterS: undefined,
  })
  assert.equal(other.sent[0]!.headers['Sluice-Signature'], undefined)
})

test('a resolved group, and a rule that is gone by now', async () => {
  const { transition } = message()
  const resolved = message({ transition: { ...transition, kind: 'resolved' }, settings: undefined })
  const { sent } = await deliver(resolved, { status: 200, retryAfterS: undefined })
  const parsed = JSON.parse(sent[0]!.body)
  assert.deepEqual(
    [parsed.status, parsed.alerts[0].endsAt],
    ['resolved', '2026-05-05T05:05:00.000Z'],
  )
  assert.deepEqual(parsed.groupLabels, { group_0: '/a', group_1: '7' })
})
