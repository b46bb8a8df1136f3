/**
 * Goal: a message has what receivers of Alertmanager's messages read, bounded; links and queries
 * that find just the events of a group; and samples as they are stored.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commonOf, labelsOf } from '../../../src/alerts/messages/alert-labels.ts'
import { planMessages } from '../../../src/alerts/messages/plan-messages.ts'
import { addSamples, type SampleDeps } from '../../../src/alerts/messages/read-samples.ts'
import type { AlertMessage } from '../../../src/alerts/webhook-body.ts'
import { IngestError } from '../../../src/errors.ts'
import {
  ALERT_MESSAGE_BYTES_MAX,
  ALERT_SAMPLE_BYTES_MAX,
  ALERT_SAMPLES_BYTES_MAX,
  ALERT_SAMPLES_MAX,
  ALERT_SAMPLES_MS_MAX,
} from '../../../src/limits.ts'
import type { Stream } from '../../../src/model/stream.ts'
import type { QueueFacts } from '../../../src/store/alerts/queue-facts.ts'
import { factsOf, NOW_MS, ruleOf, told, waiting } from './some-facts.ts'

const PUBLIC_URL = 'https://logs.test/sluice'

async function contentOf(changes: Partial<QueueFacts>, publicUrl?: string): Promise<string> {
  const { messages } = await planMessages(factsOf(changes), { isCurrent: true, publicUrl })
  return await messages[0]!.write('key-1')
}

test('what receivers of Alertmanager read', async () => {
  const changes = {
    ofGroups: [waiting('/a'), waiting('/b', { kind: 'resolved', noticeId: 8 })],
    told: new Map([['/b', told(0)]]),
  }
  const message = JSON.parse(await contentOf(changes)) as AlertMessage
  const { alerts, sluice, ...head } = message
  const labels = { team: 'web', alertname: 'slow', severity: 'critical' }
  assert.deepEqual(head, {
    ...{ version: '4', groupKey: '{}:{rule="3"}', status: 'firing', receiver: 'ops' },
    ...{ truncatedAlerts: 0, reason: 'new', detail: null, groupLabels: { alertname: 'slow' } },
    ...{ commonLabels: labels, commonAnnotations: { runbook: 'look' }, externalURL: '' },
  })
  assert.deepEqual(alerts[0], {
    ...{ status: 'firing', labels: { ...labels, http_path: '/a' } },
    annotations: { runbook: 'look' },
    ...{ startsAt: '2026-05-05T05:04:00.000Z', endsAt: '0001-01-01T00:00:00Z' },
    ...{ fingerprint: '/a', generatorURL: '', reason: 'new', detail: null },
    ...{ value: 3.5, threshold: 2, condition: '>' },
    window: {
      ...{ from: '2026-05-05T05:03:00.000Z', to: '2026-05-05T05:04:00.000Z', time: 'ingested_at' },
    },
    ...{ event_count: 4, query: 'level:error AND http.path="/a"' },
    ...{ samples: [], samples_problem: null },
  })
  assert.deepEqual(
    [alerts[1]?.status, alerts[1]?.startsAt, alerts[1]?.endsAt, alerts[1]?.reason],
    ['resolved', '2026-05-05T04:55:00.000Z', '2026-05-05T05:04:00.000Z', 'resolved'],
  )
  assert.deepEqual(sluice, {
    ...{ event_id: 'key-1', rule_id: '3', rule_version: 2 },
    ...{ evaluated_at: '2026-05-05T05:04:02.000Z', as_of: '2026-05-05T05:05:00.000Z' },
  })
})

test('a message about one group has its labels', async () => {
  const { groupLabels } = JSON.parse(await contentOf({ ofGroups: [waiting('/a')] })) as AlertMessage
  assert.deepEqual(groupLabels, { http_path: '/a', alertname: 'slow' })
})

test('a link shows just the events of the group and the window', async () => {
  const settings = ruleOf({ streams: ['17'] }).settings
  const of = { ofGroups: [waiting('/a&b')], versions: new Map([[2, settings]]) }
  const { alerts, externalURL } = JSON.parse(await contentOf(of, PUBLIC_URL)) as AlertMessage
  assert.equal(externalURL, `${PUBLIC_URL}/console/`)
  const [start, query] = alerts[0]!.generatorURL.split('?')
  assert.equal(start, `${PUBLIC_URL}/console/#/explore/17`)
  assert.deepEqual(Object.fromEntries(new URLSearchParams(query)), {
    ...{ q: 'level:error AND http.path="/a&b"', from: '2026-05-05T05:03:00.000Z' },
    ...{ to: '2026-05-05T05:04:00.000Z', basis: 'ingested_at' },
  })
})

test('labels: those of the group win, the name and the severity over all; what is common', () => {
  const { settings } = ruleOf({
    ...{ group_by: ['http.path', '9n'], labels: { team: 'web', http_path: 'x', severity: 'y' } },
  })
  assert.deepEqual(labelsOf(settings, 'slow', '["/a",7]'), {
    ...{ team: 'web', http_path: '/a', _9n: '7', alertname: 'slow', severity: 'critical' },
  })
  const numbers = '[9007199254740993,9007199254740992]'
  const { http_path: path, _9n: other } = labelsOf(settings, 'slow', numbers)
  assert.deepEqual([path, other], ['9007199254740993', '9007199254740992'], 'to the digit')
  assert.deepEqual(labelsOf(undefined, 'slow', '["/a"]'), { group_0: '/a', alertname: 'slow' })
  assert.deepEqual(commonOf([{ a: '1', b: '2' }, { a: '1', b: '3' }, { a: '1' }]), { a: '1' })
  assert.deepEqual(commonOf([]), {})
})

test('a message is bounded, and has one alert at least', async () => {
  const text = 'x'.repeat(1_000)
  const labels = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`l${n}`, text]))
  const { settings } = ruleOf({ labels })
  const versions = new Map([[2, settings]])
  const ofGroups = Array.from({ length: 50 }, (_, n) => waiting(`/${n}`))
  const content = await contentOf({ ofGroups, versions })
  const { alerts, truncatedAlerts } = JSON.parse(content) as AlertMessage
  assert.equal(alerts.length + truncatedAlerts, 50)
  assert.ok(alerts.length > 10 && truncatedAlerts > 0)
  // What all have in common is there once more.
  assert.ok(Buffer.byteLength(content) < ALERT_MESSAGE_BYTES_MAX + 64 * 1024)
})

const STREAM = { streamId: 17 } as Stream
const page = (...payloads: string[]) => {
  const events = payloads.map((text, n) => `{"id":"id-${n}","payload":${text}}`)
  return Buffer.from(`{"events":[${events}],"complete":true}`)
}

async function sampled(
  answers: readonly (Uint8Array | Error)[],
  { clock = { ms: NOW_MS }, tookMs = 0 } = {},
) {
  const asked: string[] = []
  const deps: SampleDeps = {
    nowMs: () => clock.ms,
    search: async ({ queryText, limit, order }, streams) => {
      asked.push(`${queryText} ${limit} ${order} ${streams.map(({ streamId }) => streamId)}`)
      clock.ms += tookMs
      const answer = answers[asked.length - 1] ?? page()
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  const ofGroups = [waiting('/a'), waiting('/b'), waiting('/c', { kind: 'resolved' })]
  const content = await contentOf({ ofGroups, told: new Map([['/c', told(0)]]) })
  const { signal } = new AbortController()
  const text = await addSamples(deps, content, async () => [STREAM], signal)
  return { asked, text, alerts: (JSON.parse(text) as AlertMessage).alerts }
}

test('samples are the newest events, as they are stored; of what fires', async () => {
  const exact = '{"n":12345678901234567890,"a":1.10,"a":2}'
  const { asked, text, alerts } = await sampled([page(exact, '{}'), page()])
  const of = `${ALERT_SAMPLES_MAX} newest 17`
  assert.deepEqual(asked, [
    `level:error AND http.path="/a" ${of}`,
    `level:error AND http.path="/b" ${of}`,
  ])
  assert.ok(text.includes(`"samples":[{"id":"id-0","event":${exact}},{"id":"id-1","event":{}}]`))
  assert.ok(text.endsWith('"as_of":"2026-05-05T05:05:00.000Z"}}'), 'the try goes in at its end')
  assert.deepEqual(
    alerts.map(({ samples }) => samples.length),
    [2, 0, 0],
  )
})

test('samples are bounded: of one event, and of a message', async () => {
  const event = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`
  const large = await sampled([
    page(event(ALERT_SAMPLE_BYTES_MAX), event(ALERT_SAMPLE_BYTES_MAX + 1)),
  ])
  const [first, second] = large.alerts[0]!.samples
  assert.ok(first?.event !== null)
  assert.deepEqual(second, { id: 'id-1', event: null })
  const full = Array.from({ length: 5 }, () => event(ALERT_SAMPLE_BYTES_MAX))
  const { alerts } = await sampled([page(...full), page(...full)])
  const texts = alerts.flatMap(({ samples }) => samples.filter((one) => one.event !== null))
  assert.equal(texts.length, Math.floor(ALERT_SAMPLES_BYTES_MAX / ALERT_SAMPLE_BYTES_MAX))
})

test('what cannot be read is left out, and the message says why', async () => {
  const failed = await sampled([
    new IngestError('overloaded', 'too many wait'),
    new Error('a secret'),
  ])
  assert.deepEqual(
    failed.alerts.map(({ samples_problem: problem }) => problem),
    ['too many wait', 'they could not be read', null],
  )
  const late = await sampled([page('{}')], { tookMs: ALERT_SAMPLES_MS_MAX })
  assert.deepEqual(
    late.alerts.map(({ samples, samples_problem: problem }) => [samples.length, problem]),
    [
      [1, null],
      [0, 'there was no time to read them'],
      [0, null],
    ],
  )
  const ended = await sampled([new IngestError('unavailable', 'nobody waits')], {
    tookMs: ALERT_SAMPLES_MS_MAX,
  })
  assert.equal(ended.alerts[0]?.samples_problem, 'there was no time to read them')
  const partly = Buffer.from('{"events":[],"complete":false,"reason":"behind"}')
  assert.equal((await sampled([partly])).alerts[0]?.samples_problem, 'behind')
})

test('who may not read sees no samples, and is asked about once', async () => {
  let asked = 0
  const content = await contentOf({ ofGroups: [waiting('/a'), waiting('/b')] })
  const deps = { nowMs: () => NOW_MS, search: async () => assert.fail('it must not be searched') }
  const text = await addSamples(
    deps,
    content,
    async () => {
      asked++
      throw new IngestError('forbidden', 'no token of the owner')
    },
    new AbortController().signal,
  )
  const { alerts } = JSON.parse(text) as AlertMessage
  assert.deepEqual(
    [asked, ...alerts.map(({ samples_problem: problem }) => problem)],
    [1, 'no token of the owner', 'no token of the owner'],
  )
})

test('a process that stops reads no more, and the message waits', async () => {
  const content = await contentOf({ ofGroups: [waiting('/a')] })
  const stopping = new AbortController()
  const deps = {
    nowMs: () => NOW_MS,
    search: async () => {
      stopping.abort()
      throw new Error('aborted')
    },
  }
  await assert.rejects(addSamples(deps, content, async () => [STREAM], stopping.signal))
})
