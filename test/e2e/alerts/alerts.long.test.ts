/**
 * Goal: rules of alerts, by REST alone, on a whole service: each event is in exactly one window, a
 * decision comes soon, what became of groups is searched like any event, and a backtest says the
 * same to the event.
 * Method: a service of its own that gets events all the time, and rules with windows of 10 s.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../store/temporary.ts'
import { Api, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const WINDOW_MS = 10_000
const SECRET = 'a secret of the two of us'
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

/** What was posted, by its key; the first try of each is answered with 500. */
const posted = new Map<string, { readonly bodies: string[]; readonly signed: string[] }>()
const receiver = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const key = String(request.headers['idempotency-key'])
  const known = posted.get(key) ?? { bodies: [], signed: [] }
  posted.set(key, known)
  known.bodies.push(body)
  known.signed.push(String(request.headers['sluice-signature']))
  response.writeHead(known.bodies.length === 1 ? 500 : 200).end()
})

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
  stream = await api.createStream()
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  await api.rest('/v1/alerts/channels/ops', 'PUT', {
    url: `http://127.0.0.1:${port}/`,
    secret: SECRET,
    allow_private: true,
  })
})

after(async () => {
  receiver.closeAllConnections()
  receiver.close()
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

test('what is to be told arrives, signed, tried again under its key', async () => {
  const { transitions } = await get<{ transitions: Transition[] }>(
    '/v1/alerts/rules/errors/transitions?limit=1000',
  )
  const told = transitions.filter(({ kind }) => kind === 'firing' || kind === 'resolved')
  await eventually('all are delivered', async () => {
    const { messages } = await get<{ messages: unknown[] }>('/v1/alerts/messages?state=delivered')
    return messages.length >= told.length
  })
  assert.equal(posted.size, told.length)
  const statuses: string[] = []
  for (const { bodies, signed } of posted.values()) {
    assert.equal(bodies.length, 2)
    for (const [index, body] of bodies.entries()) {
      const [, seconds, digest] = /^t=(\d+),v1=(.*)$/.exec(signed[index]!)!
      assert.equal(digest, createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex'))
    }
    const { status, alerts } = JSON.parse(bodies[1]!)
    statuses.push(`${status} ${alerts[0].labels.service}`)
  }
  const expected = told.map(({ kind, group }) => `${kind} ${group![0]}`)
  assert.deepEqual(statuses.sort(), expected.sort())
})
