/**
 * Goal: on the real engine, too: more groups than are judged, event time, aggregates with and
 * without values, words, windows that overlap; a rule whose rights go; many rules at once.
 * Method: one service, rules with windows of 10 s, and what was sent.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ALERT_GROUPS_MAX, ALERT_MESSAGE_ALERTS_MAX } from '../../../src/limits.ts'
import { eventually } from '../../store/temporary.ts'
import { Api, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { WebhookReceiver } from '../../support/webhook-receiver.ts'

const dataDir = makeDataDir()
const GROUPS = 10_000
const receiver = new WebhookReceiver()
let service: Service
let api: Api
let stream: Stream

interface Window {
  readonly from: string
  readonly to: string
  readonly outcome: string
  readonly value: number | null
  readonly event_count: number
  readonly groups: number
  readonly groups_not_judged: number
  readonly groups_in_breach: number
}

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
  stream = await api.createStream()
  const channel = { url: await receiver.start(), allow_private: true }
  await api.rest('/v1/alerts/channels/ops', 'PUT', channel)
})

after(async () => {
  receiver.stop()
  await service?.stop()
  await removeDataDir(dataDir)
})

const get = async <T>(path: string) => JSON.parse(await api.rest(path)) as T

async function put(name: string, rule: object): Promise<object> {
  const whole = { streams: [stream.id], window: '10s', ...rule }
  await api.rest(`/v1/alerts/rules/${name}`, 'PUT', whole)
  return whole
}

async function windowsOf(name: string): Promise<Window[]> {
  const path = `/v1/alerts/rules/${name}/windows?limit=1000`
  return (await get<{ windows: Window[] }>(path)).windows.toReversed()
}

async function decided(name: string, ms: number): Promise<Window[]> {
  let windows: Window[] = []
  await eventually(
    `${name} is decided`,
    async () => {
      windows = await windowsOf(name)
      return Date.parse(windows.at(-1)?.to ?? '1970-01-01T00:00:00Z') > ms
    },
    60_000,
  )
  return windows
}

test('kinds of rules on the real engine agree with backtests', async (t) => {
  const over = (value: number) => ({ condition: { op: '>', value } })
  const rules = {
    groups: await put('groups', {
      ...{ ...over(0), group_by: ['n'], channels: ['ops'] },
      // Else they are over before they are told.
      keep_firing: 10,
    }),
    average: await put('average', { ...over(5), aggregate: { fn: 'avg', field: 'n' } }),
    rate: await put('rate', { ...over(100), aggregate: { fn: 'rate' } }),
    high: await put('high', { ...over(9_000), aggregate: { fn: 'p99', field: 'n' } }),
    words: await put('words', { ...over(0), query: 'numbered' }),
    apart: await put('apart', { ...over(0), window: '30s', every: '10s' }),
    silent: await put('silent', { condition: { op: '<', value: 1 } }),
    timed: await put('timed', { ...over(0), time_basis: 'event_time', delay: '10s' }),
  }
  const { decided_until: from } = await get<{ decided_until: string }>('/v1/alerts/rules/groups')
  await sleep(10_000 - (Date.now() % 10_000) + 500)
  const at = new Date().toISOString()
  for (let start = 0; start < GROUPS; start += 1_000) {
    const events = Array.from({ length: 1_000 }, (_, index) => {
      return { timestamp: at, message: 'numbered', n: start + index }
    })
    assert.equal((await api.ingest(stream.key, JSON.stringify(events))).status, 200)
  }
  const endMs = Date.now() + 20_000
  const last: Record<string, Window[]> = {}
  for (const name of Object.keys(rules)) last[name] = await decided(name, endMs)
  const busy = (name: string) => last[name]!.filter(({ event_count: count }) => count > 0)
  const sum = (name: string) => busy(name).reduce((all, one) => all + one.event_count, 0)
  for (const name of ['groups', 'average', 'rate', 'high', 'words', 'silent', 'timed']) {
    assert.equal(sum(name), GROUPS, name)
  }
  assert.equal(sum('apart'), 3 * GROUPS, 'each is in three')
  for (const one of busy('groups')) {
    assert.equal(one.groups, one.event_count)
    assert.equal(one.groups_not_judged, Math.max(0, one.groups - ALERT_GROUPS_MAX))
    assert.equal(one.groups_in_breach, Math.min(one.groups, ALERT_GROUPS_MAX))
  }
  assert.equal(busy('timed').length, 1, 'all are of one moment')
  assert.equal(busy('timed')[0]?.value, GROUPS)
  assert.ok(busy('rate').every(({ value, event_count: count }) => value === count / 10))
  assert.ok(
    last.average!.every(({ value, event_count: count }) => (value === null) === (count === 0)),
  )
  assert.ok(
    last.silent!.every(
      ({ outcome, event_count: count }) => (outcome === 'breach') === (count === 0),
    ),
  )
  for (const [name, rule] of Object.entries(rules)) {
    const body = { rule, from, to: last[name]!.at(-1)!.to }
    const tested = JSON.parse(await api.rest('/v1/alerts/backtest', 'POST', body)) as {
      windows: Window[]
    }
    const told = (all: readonly Window[]) =>
      all.map((one) => {
        const { to, outcome, value, event_count: count, groups, groups_not_judged: others } = one
        return [to, outcome, value, count, groups, others, one.groups_in_breach].join(' ')
      })
    assert.deepEqual(told(tested.windows), told(last[name]!), name)
  }
  t.diagnostic(someAreSampled())
})

/** Of many groups some are in full, with their events where there was time for that. */
function someAreSampled(): string {
  const [message] = receiver.messages('groups')
  assert.ok(message !== undefined)
  assert.equal(message.alerts.length, ALERT_MESSAGE_ALERTS_MAX)
  assert.ok(message.truncatedAlerts > 0)
  const sampled = message.alerts.filter(({ samples }) => samples.length > 0)
  const problems = new Set(message.alerts.map((alert) => alert.samples_problem))
  assert.ok(sampled.length > 0)
  for (const { samples, samples_problem: problem, labels } of message.alerts) {
    assert.ok(samples.length > 0 || problem !== null)
    for (const { event } of samples) assert.equal(String((event as { n: number }).n), labels.n)
  }
  return `${sampled.length} alerts with samples, ${[...problems].join('; ')}`
}

test('300 rules are decided in time; one whose rights go stops and says so', async (t) => {
  const scopes = ['events:read', 'alerts:read', 'alerts:write']
  const made = JSON.parse(
    await api.rest('/v1/tokens', 'POST', { scopes, owner: 'eve', name: 'eve' }),
  ) as { id: string; token: string }
  const eve = new Api({ url: service.url, token: made.token })
  const idle = { condition: { op: '>', value: 1 }, window: '10s' }
  await eve.rest('/v1/alerts/rules/mine', 'PUT', idle)
  for (let n = 0; n < 300; n++) {
    await put(`many${n}`, { ...idle, query: `level:error n:>${n}`, window: '30s' })
  }
  await api.rest(`/v1/tokens/${made.id}`, 'DELETE')
  const { rules } = await get<{ rules: { id: string; owner: string }[] }>('/v1/alerts/rules')
  const { id } = rules.find(({ owner }) => owner === 'eve')!
  await eventually(
    'it tells',
    async () => {
      const { problem } = await get<{ problem: string | null }>(`/v1/alerts/rules/${id}`)
      const { transitions } = await get<{ transitions: { kind: string }[] }>(
        `/v1/alerts/rules/${id}/transitions`,
      )
      return (
        /no valid token of the owner/.test(problem ?? '') &&
        transitions.some(({ kind }) => kind === 'evaluation_failing')
      )
    },
    90_000,
  )
  for (const n of [0, 150, 299]) {
    const windows = await decided(`many${n}`, Date.now() - 60_000)
    assert.ok(windows.length > 0)
  }
  const text = (await api.tryRest('/metrics')).text
  t.diagnostic(/^ingest_alert_lag_seconds \S+/m.exec(text)?.[0] ?? '')
  t.diagnostic(text.match(/ingest_alert_decision_seconds_bucket.*/g)?.join(' ') ?? '')
})
