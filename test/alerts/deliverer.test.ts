/**
 * Goal: a message is delivered, tried again or given up as its answer says, always under the same
 * key; what is sent is signed, and says the same in each try.
 * Method: messages in memory, and answers by script.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { AddressRefusedError } from '../../src/alerts/allowed-address.ts'
import { createSender } from '../../src/alerts/channels/channel-kinds.ts'
import { Deliverer } from '../../src/alerts/deliverer.ts'
import type { WebhookAnswer, WebhookRequest } from '../../src/alerts/post-webhook.ts'
import { messageOf, webhookBody } from '../../src/alerts/webhook-body.ts'
import { ALERT_DELIVERY_MS_MAX } from '../../src/limits.ts'
import type { DueMessage } from '../../src/store/alerts/outbox-store.ts'

const NOW_MS = Date.parse('2026-05-05T05:05:00Z')

function message(changes: Partial<DueMessage> = {}): DueMessage {
  return {
    ...{ messageId: 5, channel: 'ops', key: 'key-5', attempts: 0, ageMs: 0, lastError: undefined },
    ...{ state: 'waiting', ruleId: 3, ruleName: 'slow', reason: 'new', alertCount: 1 },
    target: {
      ...{ kind: 'webhook', url: 'https://hooks.test/x', secret: 'a secret of the two' },
      ...{ allowsPrivate: false, options: {} },
    },
    ...{ content: '{"alerts":[{"value":1}],"sluice":{"event_id":"key-5"}}', isFinal: true },
    ...changes,
  }
}

async function deliver(due: DueMessage, answer: WebhookAnswer | Error, stored?: string) {
  const finished: unknown[] = []
  const sent: (WebhookRequest & { readonly body: string })[] = []
  const became: unknown[] = []
  const deliverer = new Deliverer({
    queues: {
      readDue: async () => [],
      look: async () => assert.fail('nothing is due'),
      postpone: async () => undefined,
    },
    addSamples: async ({ content }) => content.replace('"value":1', '"value":1,"samples":[1]'),
    publicUrl: undefined,
    outbox: {
      readDue: async () => [due],
      finish: async (id, content) => {
        finished.push([id, content])
        return stored ?? content
      },
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
  return { sent, became: became[0], finished }
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

test('signed, with one key', async () => {
  const { sent } = await deliver(message(), { status: 200, retryAfterS: undefined })
  const [request] = sent
  const { body, headers } = request!
  assert.equal(headers['Idempotency-Key'], 'key-5')
  const [, seconds, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers['Sluice-Signature']!)!
  const hmac = createHmac('sha256', 'a secret of the two').update(`${seconds}.${body}`)
  assert.equal(digest, hmac.digest('hex'))
  assert.equal(Number(seconds), NOW_MS / 1_000)
  assert.equal(body, '{"alerts":[{"value":1}],"sluice":{"event_id":"key-5","attempt":1}}')
  const unsigned = { ...message().target!, secret: undefined }
  const other = await deliver(message({ target: unsigned }), {
    status: 200,
    retryAfterS: undefined,
  })
  assert.equal(other.sent[0]!.headers['Sluice-Signature'], undefined)
})

test('samples are read before the first try, and what was stored first is sent', async () => {
  const answer = { status: 500, retryAfterS: undefined }
  const first = await deliver(message({ isFinal: false }), answer)
  const content = '{"alerts":[{"value":1,"samples":[1]}],"sluice":{"event_id":"key-5"}}'
  assert.deepEqual(first.finished, [[5, content]])
  assert.match(first.sent[0]!.body, /"samples":\[1\].*"attempt":1\}\}$/)
  const other = await deliver(message({ isFinal: false }), answer, '{"sluice":{"other":1}}')
  assert.equal(other.sent[0]!.body, '{"sluice":{"other":1,"attempt":1}}')
  const again = await deliver(message({ content, attempts: 7 }), answer)
  assert.deepEqual(again.finished, [])
  const { alerts, sluice } = messageOf(webhookBody(message({ content, attempts: 7 })))
  assert.deepEqual([alerts[0]?.samples, sluice.attempt], [[1], 8])
})

test('a queue that cannot be looked at holds up no other', async () => {
  const looked: string[] = []
  const errors: unknown[] = []
  const deliverer = new Deliverer({
    queues: {
      readDue: async () => ['bad', 'good'].map((channel) => ({ ruleId: 1, channel })),
      look: async ({ channel }) => {
        looked.push(channel)
        if (channel === 'bad') throw new Error('what nobody thought of')
        return 1
      },
      postpone: async ({ channel }) => void looked.push(`${channel} later`),
    },
    outbox: {
      readDue: async () => [],
      finish: async (_, content) => content,
      ...{ setDelivered: async () => undefined, setDead: async () => undefined },
      retryIn: async () => undefined,
    },
    ...{ addSamples: async ({ content }) => content, publicUrl: undefined },
    ...{ isWorker: () => true, onOutcome: () => undefined },
    send: async () => assert.fail('there is nothing to send'),
    onError: (cause) => void errors.push(cause),
  })
  assert.equal(await deliverer.round(), 1)
  assert.deepEqual([looked, errors.length], [['bad', 'bad later', 'good'], 1])
})
