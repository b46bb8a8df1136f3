/**
 * Goal: the node that evaluates is killed, again and again and under load: each window of the rule
 * is decided once all the same, in order, with the number that is found there afterwards, each
 * transition is an event once, and whoever is told hears of each group, under one key the same.
 * Method: two services on stores of their own; kill -9 of either at random moments.
 */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../store/temporary.ts'
import { Api, type Stream } from '../support/api.ts'
import { rounds } from '../support/fuzzing.ts'
import { OwnStores } from '../support/own-stores.ts'
import { createRandom } from '../support/random.ts'
import { makeDataDir, removeDataDir, type Service } from '../support/service.ts'
import { WebhookReceiver } from '../support/webhook-receiver.ts'

const KILLS = rounds(4)
const dirs = [makeDataDir(), makeDataDir()]
const receiver = new WebhookReceiver()
const { seed, next: random } = createRandom()
let stores: OwnStores
let services: Service[] = []
let stream: Stream

before(async () => {
  stores = await OwnStores.start()
  services = [await stores.startService(dirs[0]!), await stores.startService(dirs[1]!)]
})

after(async () => {
  receiver.stop()
  for (const service of services) await service.kill()
  await stores?.close()
  for (const dir of dirs) await removeDataDir(dir)
})

interface Window {
  readonly from: string
  readonly to: string
  readonly outcome: string
  readonly event_count: number
}

const apiOf = (at: number) => new Api(services[at]!)
const get = async <T>(at: number, path: string) => JSON.parse(await apiOf(at).rest(path)) as T

/** To whichever node answers, until it is over; returns how many were acknowledged. */
async function send(signal: AbortSignal): Promise<number> {
  let sent = 0
  for (let n = 0; !signal.aborted; n++) {
    const count = 1 + (n % 7)
    // Groups that begin to fire, and are over, one after another.
    const service = `s${Math.floor(Date.now() / 20_000) % 4}`
    const events = Array.from({ length: count }, () => ({ level: 'error', n, service }))
    const body = JSON.stringify(events)
    const answer = await apiOf(n % 2)
      .ingest(stream.key, body)
      .catch(() => undefined)
    if (answer?.status === 200) sent += count
    await sleep(20)
  }
  return sent
}

test('each window is decided once, whoever is killed', async (t) => {
  t.diagnostic(`TEST_SEED=${seed}`)
  stream = await apiOf(0).createStream()
  const rule = { streams: [stream.id], condition: { op: '>', value: 900 }, window: '10s' }
  await apiOf(0).rest('/v1/alerts/rules/killed', 'PUT', { ...rule, for: { of: 1, in: 1 } })
  const channel = { url: await receiver.start(), allow_private: true }
  await apiOf(0).rest('/v1/alerts/channels/ops', 'PUT', channel)
  await apiOf(0).rest('/v1/alerts/rules/told', 'PUT', {
    ...{ ...rule, group_by: ['service'], condition: { op: '>', value: 0 } },
    ...{ channels: ['ops'], repeat: '1m' },
  })
  const { decided_until: from } = await get<{ decided_until: string }>(0, '/v1/alerts/rules/killed')
  const ending = new AbortController()
  const sending = send(ending.signal)
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(8_000 + random() * 8_000)
    const at = (await apiOf(0).metric('ingest_alerts_worker')) === 1 ? 0 : 1
    await services[at]!.kill()
    services[at] = await stores.startService(dirs[at]!)
  }
  ending.abort()
  const sent = await sending
  const untilMs = Date.now()
  let windows: Window[] = []
  await eventually(
    'all are decided',
    async () => {
      const path = '/v1/alerts/rules/killed/windows?limit=1000'
      windows = (await get<{ windows: Window[] }>(1, path)).windows.toReversed()
      return Date.parse(windows.at(-1)?.to ?? from) > untilMs
    },
    180_000,
  )
  let total = 0
  for (const [index, { from: start, to, outcome, event_count: count }] of windows.entries()) {
    assert.notEqual(outcome, 'gap')
    assert.equal(Date.parse(start), Date.parse(from) + index * 10_000)
    const range = { from: start, to, query: 'level:error' }
    const found = JSON.parse(await apiOf(0).rest(`/v1/streams/${stream.id}/query`, 'POST', range))
    assert.equal(count, found.total, `the window that ends at ${to}`)
    total += count
  }
  t.diagnostic(`${KILLS} kills, ${windows.length} windows, ${sent} acknowledged, ${total} counted`)
  // A request whose answer was cut off by a kill may be stored as well.
  assert.ok(total >= sent)
  await allAreTold(t)
  const { transitions } = await get<{ transitions: { id: string }[] }>(
    0,
    '/v1/alerts/rules/told/transitions?limit=1000',
  )
  const kept = transitions.map(({ id }) => Number(id))
  assert.ok(kept.length > 0)
  await eventually('each is an event, once', async () => {
    const { streams } = await get<{ streams: { id: string; name: string }[] }>(0, '/v1/streams')
    const own = streams.find(({ name }) => name === '_alerts')
    if (own === undefined) return false
    const { events } = JSON.parse(
      await apiOf(0).rest(`/v1/streams/${own.id}/search`, 'POST', {
        ...{ query: 'rule.name:told', limit: 1_000 },
      }),
    ) as { events: { payload: { transition_id: number } }[] }
    const ids = events.map(({ payload }) => payload.transition_id)
    assert.equal(new Set(ids).size, ids.length)
    return ids.length === kept.length
  })
})

/** Of each group that fired it is told, and in the end that it is over. */
async function allAreTold(t: TestContext): Promise<void> {
  const path = '/v1/alerts/rules/told/transitions?limit=1000'
  const { transitions } = await get<{
    transitions: { kind: string; group: readonly string[] | null }[]
  }>(0, path)
  const fired = transitions.filter(({ kind }) => kind === 'firing').map(({ group }) => group![0]!)
  assert.ok(fired.length > 0)
  const lastOf = (service: string) =>
    receiver
      .messages('told')
      .flatMap(({ alerts }) => alerts)
      .findLast(({ labels }) => labels.service === service)
  await eventually(
    'all are told, and that they are over',
    async () => [...new Set(fired)].every((service) => lastOf(service)?.status === 'resolved'),
    180_000,
  )
  receiver.assertSame()
  const messages = receiver.messages('told')
  t.diagnostic(`${messages.length} messages of ${transitions.length} transitions`)
}
