/**
 * Goal: rules of alerts, by REST alone, on a whole service: each event is in exactly one window, a
 * decision comes soon, what became of groups is searched like any event, and a backtest says the
 * same to the event.
 * Method: a service of its own that gets events all the time, and rules with windows of 10 s.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../store/temporary.ts'
import { Api, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { WebhookReceiver } from '../../support/webhook-receiver.ts'

const WINDOW_MS = 10_000
const SECRET = 'a secret of the two of us'
const PUBLIC_URL = 'https://logs.test/sluice'
const dataDir = makeDataDir()
let service: Service
let api: Api
let stream: Stream

interface Window {
  readonly from: string
  readonly to: string
  readonly outcome: string
  readonly event_count: number
  readonly decided_at: string
}

interface Transition {
  readonly kind: string
  readonly group: readonly unknown[] | null
  readonly window: { readonly from: string; readonly to: string }
  readonly value: number | null
  readonly event_count: number | null
}

const receiver = new WebhookReceiver()

before(async () => {
  service = await Service.start({ dataDir, args: ['--public-url', PUBLIC_URL] })
  api = new Api(service)
  stream = await api.createStream()
  const url = await receiver.start()
  const channel = { url, secret: SECRET, allow_private: true }
  await api.rest('/v1/alerts/channels/ops', 'PUT', channel)
})

after(async () => {
  receiver.stop()
  await service?.stop()
  await removeDataDir(dataDir)
})

async function put(name: string, rule: object) {
  return await api.tryRest(`/v1/alerts/rules/${name}`, 'PUT', rule)
}

const get = async <T>(path: string) => JSON.parse(await api.rest(path)) as T

test('windows sum to the query, decisions are soon, and a backtest says the same', async () => {
  const rule = {
    streams: [stream.id],
    query: 'level:error',
    group_by: ['service'],
    condition: { op: '>', value: 5 },
    window: '10s',
    for: { of: 1, in: 2 },
    channels: ['ops'],
    repeat: '1m',
  }
  const made = await put('errors', rule)
  assert.equal(made.status, 201, made.text)
  const { decided_until: fromText } = JSON.parse(made.text) as { decided_until: string }
  const fromMs = Date.parse(fromText)
  const endAt = Date.now() + 45_000
  let sent = 0
  for (let n = 0; Date.now() < endAt; n++) {
    const isLoud = Math.floor(Date.now() / 20_000) % 2 === 0
    const events = Array.from({ length: isLoud ? 4 : 1 }, (_, at) => ({
      level: 'error',
      service: at % 2 === 0 ? 'web' : 'db',
      n,
    }))
    const answer = await api.ingest(stream.key, JSON.stringify(events))
    assert.equal(answer.status, 200, answer.text)
    sent += events.length
    await sleep(500)
  }
  const untilMs = (Math.floor(Date.now() / WINDOW_MS) + 1) * WINDOW_MS
  const list = () => get<{ windows: Window[] }>('/v1/alerts/rules/errors/windows?limit=1000')
  await eventually(
    'the last window is decided',
    async () => {
      return (await list()).windows.some(({ to }) => Date.parse(to) >= untilMs)
    },
    30_000,
  )
  const windows = (await list()).windows.toReversed()
  for (const [index, { from, to, decided_at: at }] of windows.entries()) {
    assert.equal(Date.parse(from), fromMs + index * WINDOW_MS)
    assert.equal(Date.parse(to), Date.parse(from) + WINDOW_MS)
    const lateMs = Date.parse(at) - Date.parse(to)
    assert.ok(lateMs > 0 && lateMs < 10_000, `decided ${lateMs} ms after its end`)
  }
  await compare(rule, windows, sent)
})

/** With the query, and with a backtest. */
async function compare(rule: object, windows: readonly Window[], sent: number): Promise<void> {
  const fromText = windows[0]!.from
  const total = windows.reduce((sum, { event_count: count }) => sum + count, 0)
  assert.equal(total, sent)
  const range = { from: fromText, to: windows.at(-1)!.to }
  const answered = JSON.parse(
    await api.rest(`/v1/streams/${stream.id}/query`, 'POST', { ...range, query: 'level:error' }),
  ) as { total: number }
  assert.equal(answered.total, total)
  const tested = JSON.parse(await api.rest('/v1/alerts/backtest', 'POST', { rule, ...range })) as {
    windows: Window[]
    transitions: Transition[]
  }
  const counts = (all: readonly Window[]) => {
    return all.map(({ to, outcome, event_count: count }) => [to, outcome, count])
  }
  assert.deepEqual(counts(tested.windows), counts(windows))
  const lived = await get<{ transitions: Transition[] }>(
    '/v1/alerts/rules/errors/transitions?limit=1000',
  )
  const told = ({ kind, group, window, value, event_count: count }: Transition) => {
    return [window.to, kind, JSON.stringify(group), value, count].join(' ')
  }
  const last = windows.at(-1)!.to
  const transitions = lived.transitions.filter(({ window }) => window.to <= last)
  assert.ok(transitions.some(({ kind }) => kind === 'firing'))
  assert.ok(transitions.some(({ kind }) => kind === 'resolved'))
  assert.deepEqual(transitions.map(told).sort(), tested.transitions.map(told).sort())
}

test('what became of groups is in a stream of its own, each once', async () => {
  const { streams } = await get<{ streams: { id: string; name: string }[] }>('/v1/streams')
  const own = streams.find(({ name }) => name === '_alerts')
  assert.ok(own !== undefined)
  const { transitions } = await get<{ transitions: { id: string }[] }>(
    '/v1/alerts/rules/errors/transitions?limit=1000',
  )
  await eventually('each is an event', async () => {
    const { events } = JSON.parse(
      await api.rest(`/v1/streams/${own.id}/search`, 'POST', { query: 'rule.name:errors' }),
    ) as { events: { payload: { transition_id: number } }[] }
    const ids = events.map(({ payload }) => payload.transition_id).sort((a, b) => a - b)
    assert.equal(new Set(ids).size, ids.length)
    return ids.length >= transitions.length
  })
})

test('what is to be told arrives, signed, tried again under its key, with its events', async () => {
  const { transitions } = await get<{ transitions: Transition[] }>(
    '/v1/alerts/rules/errors/transitions?limit=1000',
  )
  const fired = new Set(
    transitions.filter(({ kind }) => kind === 'firing').map(({ group }) => String(group![0])),
  )
  const alerts = () => receiver.messages('errors').flatMap((message) => message.alerts)
  const statusOf = (service: string) => {
    return alerts().findLast(({ labels }) => labels.service === service)?.status
  }
  await eventually(
    'all are over, and told so',
    async () => {
      const { groups } = await get<{ groups: { state: string }[] }>(
        '/v1/alerts/rules/errors/groups',
      )
      const isOver = groups.every(({ state }) => state !== 'firing')
      const isDelivered = [...receiver.posted.values()].every(({ bodies }) => bodies.length === 2)
      return (
        isOver && isDelivered && [...fired].every((service) => statusOf(service) === 'resolved')
      )
    },
    240_000,
  )
  const messages = receiver.messages('errors')
  assert.ok(messages.length < transitions.length, `${messages.length} messages`)
  receiver.assertSame()
  for (const { bodies, signed } of receiver.posted.values()) {
    assert.equal(bodies.length, 2)
    for (const [index, body] of bodies.entries()) {
      const [, seconds, digest] = /^t=(\d+),v1=(.*)$/.exec(signed[index]!)!
      assert.equal(digest, createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex'))
    }
  }
  const firing = alerts().filter(({ reason }) => reason === 'new')
  assert.ok(firing.length > 0)
  for (const { labels, samples, samples_problem: problem, ...alert } of firing) {
    assert.deepEqual([samples.length, problem], [Math.min(5, alert.event_count!), null])
    for (const { event } of samples) {
      const { level, service: of } = event as Record<string, unknown>
      assert.deepEqual([level, of], ['error', labels.service])
    }
    // The link asks for just the events that were counted.
    const [address, params] = alert.generatorURL.split('?')
    assert.equal(address, `${PUBLIC_URL}/console/#/explore/${stream.id}`)
    const { q: query, from, to, basis } = Object.fromEntries(new URLSearchParams(params))
    const body = { query, from, to, time_basis: basis }
    const answer = await api.rest(`/v1/streams/${stream.id}/query`, 'POST', body)
    assert.equal((JSON.parse(answer) as { total: number }).total, alert.event_count)
  }
})

test('a silence holds back what it matches until its end; who knows is told no more', async () => {
  const path = '/v1/alerts/silences'
  const matchers = [{ name: 'alertname', value: 'qui.t', is_regex: true }]
  const to = new Date(Date.now() + 3_600_000).toISOString()
  const silence = JSON.parse(await api.rest(path, 'POST', { matchers, to })) as { id: string }
  const rule = { streams: [stream.id], condition: { op: '<', value: 1e9 }, window: '10s' }
  await put('quiet', { ...rule, channels: ['ops'], repeat: '1m' })
  await put('loud', { ...rule, channels: ['ops'], repeat: '1m' })
  await eventually(
    'the other one is told',
    async () => receiver.messages('loud').length > 0,
    60_000,
  )
  interface Group {
    readonly fingerprint: string
    readonly silenced_by: string[]
    readonly acknowledged: object | null
  }
  const groupOf = async (name: string) => {
    const { groups } = await get<{ groups: Group[] }>(`/v1/alerts/rules/${name}/groups`)
    return groups[0]!
  }
  assert.deepEqual((await groupOf('quiet')).silenced_by, [silence.id])
  await sleep(15_000)
  assert.deepEqual(receiver.messages('quiet'), [])
  await api.rest(`${path}/${silence.id}`, 'DELETE')
  await eventually('it is told now', async () => receiver.messages('quiet').length > 0)
  assert.equal(receiver.messages('quiet')[0]?.reason, 'new')
  const { fingerprint } = await groupOf('loud')
  await api.rest(`/v1/alerts/rules/loud/groups/${fingerprint}/acknowledge`, 'POST', {})
  assert.notEqual((await groupOf('loud')).acknowledged, null)
  await sleep(2_000)
  const told = receiver.messages('loud').length
  await eventually(
    'the one that nobody knows of is repeated',
    async () => receiver.messages('quiet').some(({ reason }) => reason === 'repeat'),
    120_000,
  )
  assert.equal(receiver.messages('loud').length, told)
})
