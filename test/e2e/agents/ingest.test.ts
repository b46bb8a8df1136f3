/**
 * Goal: what an agent sends is stored just as by any other surface: the same bytes, redaction,
 * rejects and budgets; refusals are told and counted, dry runs store nothing, a key stores once.
 * Method: a real service; the same events by `ingest_events` and by `POST /v1/ingest`.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  MCP_INGEST_BYTES_MAX,
  MCP_INGEST_EVENTS_MAX,
  MCP_TAIL_SECONDS_MAX,
} from '../../../src/limits.ts'
import { Api, call, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { type Agent, connectAgent, createToken } from './agent-client.ts'

const dataDir = makeDataDir()
let service: Service
let api: Api
let token: string
let agent: Agent

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
  token = await createToken(api, ['streams:read', 'events:read', 'events:write'])
  agent = await connectAgent(service, token)
})

after(async () => {
  await agent?.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

/** Payloads as they are stored, oldest first. */
async function stored(stream: Stream): Promise<string[]> {
  const text = await api.rest(`/v1/streams/${stream.id}/events?limit=1000`)
  return [...text.matchAll(/"payload":(.*?)\}(?:,\{"id"|\],"next")/g)]
    .map(([, one]) => one!)
    .reverse()
}

/** A call whose arguments are text: no client would send these digits. */
async function rawCall(args: string): Promise<string> {
  const answer = await call(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body:
      '{"jsonrpc":"2.0","id":1,"method":"tools/call",' +
      `"params":{"name":"ingest_events","arguments":${args}}}`,
  })
  assert.equal(answer.status, 200, answer.text)
  return answer.text
}

test('an event is stored byte for byte as POST /v1/ingest stores it', async () => {
  const [byAgent, byKey] = await Promise.all([
    api.createStream({ redact_sensitive: true }),
    api.createStream({ redact_sensitive: true }),
  ])
  const events = [
    '{"id":9223372036854775807,"x":1.0,"x":2, "e":1E400}',
    '{ "message" : "caf\\u00e9 \\ud83d\\ude00" , "password":"hunter2hunter2"}',
    '{"log":"{\\"level\\":\\"error\\",\\"token\\":\\"abc\\"}","n":-0}',
  ]
  const text = await rawCall(`{"stream":"${byAgent.id}","events":[${events.join(',')}]}`)
  assert.match(text, /accepted\\":3/)
  assert.equal((await api.ingest(byKey.key, events.join('\n'))).status, 200)
  const found = await stored(byAgent)
  assert.equal(found.length, 3)
  assert.deepEqual(found, await stored(byKey))
  assert.doesNotMatch(found.join(), /hunter2/)
})

test('the answer names the events and what redaction changed', async () => {
  const stream = await api.createStream({ name: 'named', redact_sensitive: true })
  const events = [{ n: 1 }, { n: 2, password: 'hunter2hunter2' }]
  const told = await agent.json('ingest_events', { stream: 'named', events })
  assert.equal(told.accepted, 2)
  assert.deepEqual(told.redacted, [{ index: 1, path: 'password', reason: 'denylisted_key' }])
  for (const [index, id] of (told.event_ids as readonly string[]).entries()) {
    const { payload } = await agent.json('get_event', { stream: stream.id, id })
    assert.equal((payload as { readonly n: number }).n, index + 1)
  }
})

test('lines of text are events, too', async () => {
  const stream = await api.createStream()
  const told = await agent.json('ingest_events', { stream: stream.id, text: 'one\ntwo\n' })
  assert.equal(told.accepted, 2)
  assert.equal((await stored(stream)).length, 2)
})

test('a dry run shows what would be stored, and stores nothing', async () => {
  const stream = await api.createStream({ redact_sensitive: true })
  const events = [{ log: '{"level":"warn"}', password: 'hunter2hunter2' }]
  const dry = await agent.json('ingest_events', { stream: stream.id, events, dry_run: true })
  assert.deepEqual(await stored(stream), [])
  await agent.json('ingest_events', { stream: stream.id, events })
  assert.deepEqual(
    dry.would_store,
    (await stored(stream)).map((one) => JSON.parse(one)),
  )
})

test('events under one key are stored once', async () => {
  const stream = await api.createStream()
  const args = { stream: stream.id, events: [{ n: 1 }], idempotency_key: 'once' }
  const first = await agent.json('ingest_events', args)
  const again = await agent.json('ingest_events', args)
  assert.deepEqual(again.event_ids, first.event_ids)
  assert.equal((await stored(stream)).length, 1)
  const other = await agent.call('ingest_events', { ...args, events: [{ n: 2 }] })
  assert.ok(other.isError)
  assert.match(other.text, /^conflict: /)
})

test('what is too much, nothing or both is refused, and stores nothing', async () => {
  const stream = await api.createStream()
  const many = Array.from({ length: MCP_INGEST_EVENTS_MAX + 1 }, (_, n) => ({ n }))
  for (const [args, words] of [
    [{ events: many }, /"events" has 101 elements, over 100/],
    [{ events: [] }, /"events" must be a list of one or more/],
    [{ events: [1] }, /"events"\[0\] must be an object, not a number/],
    [{}, /give either "events" or "text"/],
    [{ events: [{}], text: 'x' }, /give either/],
    [{ text: 'x\n'.repeat(MCP_INGEST_EVENTS_MAX + 1) }, /101 lines/],
    [{ events: [{ m: 'x'.repeat(MCP_INGEST_BYTES_MAX) }] }, /over 262144 bytes/],
  ] as const) {
    const { isError, text } = await agent.call('ingest_events', { stream: stream.id, ...args })
    assert.ok(isError, text)
    assert.match(text, words)
  }
  assert.deepEqual(await stored(stream), [])
})

test('a token without events:write stores nothing', async () => {
  const stream = await api.createStream()
  const reader = await connectAgent(service, await createToken(api, ['streams:read']))
  const refused = await reader.call('ingest_events', { stream: stream.id, events: [{ n: 1 }] })
  assert.ok(refused.isError)
  assert.match(refused.text, /forbidden: this needs a token with the scope events:write/)
  await reader.close()
  assert.deepEqual(await stored(stream), [])
})

test('a budget refuses an agent, and the refusal is counted on the stream', async () => {
  const stream = await api.createStream({ rate_budget: 1 })
  const events = Array.from({ length: 100 }, (_, n) => ({ n }))
  let refused = ''
  for (let n = 0; n < 20 && refused === ''; n++) {
    const { isError, text } = await agent.call('ingest_events', { stream: stream.id, events })
    if (isError) refused = text
  }
  assert.match(refused, /^rate_limited: .*Try again in \d+ s\.$/)
  await sleep(1_500)
  const usage = await api.rest(`/v1/streams/${stream.id}/usage`)
  assert.match(usage, /"reason":"rate_limited"/)
})

test('tail_sample tells what comes meanwhile', async () => {
  const stream = await api.createStream()
  const started = performance.now()
  const seconds = MCP_TAIL_SECONDS_MAX
  const watching = agent.json('tail_sample', {
    stream: stream.id,
    query: 'n:>1',
    seconds,
    limit: 2,
  })
  await sleep(500)
  const lines = [1, 2, 3, 4].map((n) => JSON.stringify({ n })).join('\n')
  assert.equal((await api.ingest(stream.key, lines)).status, 200)
  const { events } = await watching
  const seen = (events as readonly { readonly event: object }[]).map(({ event }) => event)
  assert.deepEqual(seen, [{ n: 2 }, { n: 3 }])
  assert.ok(performance.now() - started < seconds * 1_000)
  const none = await agent.json('tail_sample', { stream: stream.id, seconds: 1 })
  assert.deepEqual(none.events, [])
})

test('a client that goes away ends its call', async () => {
  const stream = await api.createStream()
  const gone = new AbortController()
  const args = { stream: stream.id, seconds: MCP_TAIL_SECONDS_MAX }
  const watching = agent.client.callTool(
    { name: 'tail_sample', arguments: args },
    { signal: gone.signal },
  )
  watching.catch(() => undefined)
  const tails = async () =>
    /^ingest_tails (\d+)$/m.exec((await call(`${service.url}/metrics`)).text)?.[1]
  for (let n = 0; n < 100 && (await tails()) !== '1'; n++) await sleep(20)
  assert.equal(await tails(), '1')
  gone.abort()
  for (let n = 0; n < 100 && (await tails()) !== '0'; n++) await sleep(20)
  assert.equal(await tails(), '0')
})
