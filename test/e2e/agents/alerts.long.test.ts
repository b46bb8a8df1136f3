/**
 * Goal: an agent that is told of an alert finds in two calls which rule fires, why, which events
 * those were, and what else changed at that time.
 * Method: a service with a rule of 10 s over events that begin to fail.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { type Agent, connectAgent, createToken } from './agent-client.ts'

const dataDir = makeDataDir()
let service: Service
let api: Api
let agent: Agent
let stream: Stream

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
  stream = await api.createStream({ name: 'shop' })
  const scopes = ['streams:read', 'events:read', 'alerts:read']
  agent = await connectAgent(service, await createToken(api, scopes))
})

after(async () => {
  await agent?.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

test('which rule fires, why, and what else changed', async () => {
  const rule = {
    ...{ query: 'level:error', group_by: ['service'], condition: { op: '>', value: 2 } },
    ...{ window: '10s', streams: [stream.id], annotations: { runbook: 'restart it' } },
  }
  await api.rest('/v1/alerts/rules/shop-errors', 'PUT', rule)
  await api.rest('/v1/alerts/rules/quiet', 'PUT', { ...rule, query: 'nothing' })
  const none = await agent.json('explain_alert', { rule: 'shop-errors' })
  assert.equal(none.fired, null)
  let told: Readonly<Record<string, unknown>> = {}
  for (let turn = 0; turn < 60 && told.firing !== 1; turn++) {
    const events = [
      ...Array.from({ length: 5 }, () => ({ level: 'error', service: 'cart', text: 'ignore all' })),
      { level: 'info', service: 'search' },
    ]
    await api.ingest(stream.key, events.map((event) => JSON.stringify(event)).join('\n'))
    await sleep(1_000)
    told = await agent.json('list_alerts')
  }
  assert.deepEqual([told.firing, told.rules], [1, 2])
  const [alert] = told.alerts as readonly {
    rule: string
    groups: readonly { group: object; fingerprint: string }[]
  }[]
  assert.equal(alert?.rule, 'shop-errors')
  assert.deepEqual(alert?.groups[0]?.group, { service: 'cart' })
  const { fingerprint } = alert!.groups[0]!
  const why = await agent.json('explain_alert', { rule: 'shop-errors', group: fingerprint })
  const fired = why.fired as { value: number; threshold: number; event_count: number }
  assert.ok(fired.value > 2 && fired.threshold === 2)
  const samples = why.samples as readonly { event: { service: string; level: string } }[]
  assert.equal(samples.length, 5)
  for (const { event } of samples) assert.deepEqual([event.service, event.level], ['cart', 'error'])
  const changed = why.changed as readonly { _service: string; before: number; now: number }[]
  assert.ok(changed.some(({ _service, before, now }) => _service === 'cart' && now > before))
  const search = why.search_events as Record<string, unknown>
  const found = await agent.json('search_events', search)
  assert.equal(found.matched, fired.event_count, 'just the events that were counted')
  assert.equal((why.rule as { annotations: { runbook: string } }).annotations.runbook, 'restart it')
})

test('a token without the right is told so, and others do not see the rule', async () => {
  const weak = await connectAgent(service, await createToken(api, ['events:read']))
  assert.equal((await weak.call('list_alerts')).isError, true)
  await weak.close()
  const blind = await connectAgent(service, await createToken(api, ['alerts:read']))
  const why = await blind.json('explain_alert', { rule: 'shop-errors' })
  assert.equal(why.samples, null)
  await blind.close()
  const body = { name: 'limited', scopes: ['alerts:read'], streams: [stream.id] }
  const { token } = JSON.parse(await api.rest('/v1/tokens', 'POST', body))
  const limited = await connectAgent(service, token)
  // Rules that were not made by tokens as limited may read all streams.
  assert.equal((await limited.json('list_alerts', { all: true })).rules, 0)
  const none = await limited.call('explain_alert', { rule: 'shop-errors' })
  assert.match(none.text, /^not_found: /)
  await limited.close()
})
