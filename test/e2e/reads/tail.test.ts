/**
 * Goal: a tail has each event that matches once, or a gap that covers it, however its reader reads
 * and however often it comes back; it ends when it must, and costs others nothing.
 * Method: readers beside writers on one service; what they got and the event list, filtered by the
 * plain reference of the language.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { tryReadMemory } from '../../../bench/e2e/procfs.ts'
import { TAILS_MAX, TAILS_PER_TOKEN_MAX } from '../../../src/limits.ts'
import { head, RawClient, waitFor, wholeChunks } from '../../http/raw-client.ts'
import { Api, NDJSON_TYPE } from '../../support/api.ts'
import { ONLY_LONG, rounds } from '../../support/fuzzing.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { assertCovers, TailReader } from '../../support/tail-reader.ts'

const dataDir = makeDataDir()
const readers: TailReader[] = []
let service: Service
let api: Api

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
})

after(async () => {
  await Promise.all(readers.map((reader) => reader.stop()))
  await service?.kill()
  await removeDataDir(dataDir)
})

afterEach(() => Promise.all(readers.splice(0).map((reader) => reader.stop())))

async function open(streamId: string, options = {}): Promise<TailReader> {
  const reader = new TailReader(api, streamId, options)
  readers.push(reader)
  await reader.untilOpen()
  return reader
}

async function createToken(scopes: readonly string[] = ['events:read']) {
  const body = { name: 'reader', owner: 'admin', scopes }
  return JSON.parse(await api.rest('/v1/tokens', 'POST', body)) as { id: string; token: string }
}

test('a message comes in a whole chunk at once, not with the next message', async () => {
  const stream = await api.createStream()
  const client = await RawClient.connect(Number(new URL(api.url).port))
  const authorization = `Authorization: Bearer ${api.token}`
  client.write(head('GET', `/v1/streams/${stream.id}/tail`, authorization))
  await waitFor(() => wholeChunks(client.received).includes('retry: 1000\n\n'), 'the beginning')
  for (const n of [1, 2, 3]) {
    await api.ingest(stream.key, `{"n":${n}}`)
    const isWhole = () => wholeChunks(client.received).includes(`"payload":{"n":${n}}}\n\n`)
    await waitFor(isWhole, `event ${n}`, 5_000)
  }
  client.destroy()
})

test('an event is there as soon as it was acknowledged, exactly as in the list', async () => {
  const stream = await api.createStream()
  const reader = await open(stream.id)
  const errors = await open(stream.id, { query: 'level:error' })
  const body = '[\n {"level":"error",\r\n "n": 12345678901234567890},\n {"level":"info", "n": 1}]'
  assert.equal((await api.ingest(stream.key, body)).status, 200)
  await reader.until(() => reader.events.length === 2, 'both events', 2_000)
  await errors.until(() => errors.events.length === 1, 'one event', 2_000)
  const list = (await api.events(stream.id)).toReversed()
  assert.deepEqual(reader.events, list)
  assert.deepEqual(errors.events, list.slice(0, 1))
  await reader.stop()
  await errors.stop()
})

test('words are looked for in an event as a search does, whatever came before it', async () => {
  const stream = await api.createStream()
  const send = (event: object) => api.ingest(stream.key, JSON.stringify([event]))
  const search = async () => {
    const asked = { query: 'checkout', order: 'oldest' }
    const page = await api.rest(`/v1/streams/${stream.id}/search`, 'POST', asked)
    const { events } = JSON.parse(page) as { readonly events: readonly { payload: Numbered }[] }
    return events.map(({ payload }) => payload.n)
  }
  assert.equal((await send({ n: 0, who: { name: 'Checkout api' } })).status, 200)
  const reader = await open(stream.id, { query: 'checkout', from: '-1m' })
  const numbers = () => reader.events.map(({ payload }) => payload.n)
  await reader.until(() => reader.events.length === 1, 'what was there', 2_000)
  await send({ n: 1, other: 'the checkout' })
  await reader.until(() => reader.events.length === 2, 'a path that is new', 2_000)
  await send({ n: 2, message: 'Checkout', other: 'x' })
  await send({ n: 3, message: 'x', other: 'checkout' })
  await sleep(2_000)
  await send({ n: 4, other: 'checkout' })
  await send({ n: 5, Deep: { MSG: 'checkout again' } })
  await reader.until(() => numbers().includes(5), 'the last', 2_000)
  assert.deepEqual(numbers(), [0, 1, 2, 4, 5])
  assert.deepEqual(await search(), [0, 1, 2, 4, 5])
  assert.deepEqual(reader.gaps, [])
})

interface Numbered {
  readonly n: number
}

test('bad requests are refused before the stream begins', async () => {
  const { id } = await api.createStream()
  const ask = (query: string) => api.tryRest(`/v1/streams/${id}/tail${query}`)
  for (const query of ['?query=(', '?from=12', '?from=.AAAA', '?limit_per_s=0', '?other=1']) {
    const { status, text } = await ask(query)
    assert.equal(status, 400, `${query}: ${text}`)
  }
  assert.equal((await api.tryRest('/v1/streams/99999/tail')).status, 404)
})

/** Sends events of several levels until it is told to stop. */
function write(
  key: string,
  writer: string,
  { pauseMs = 5, filler = '' } = {},
): { stop: () => Promise<void> } {
  let isOn = true
  const running = (async () => {
    for (let n = 0; isOn; n++) {
      const levels = ['debug', 'info', 'warn', 'error']
      const events = Array.from({ length: 1 + ((n * 7) % 60) }, (_, i) => {
        const message = `request ${n} took ${i} ms, ${i % 5 === 0 ? 'timed out' : 'done'}${filler}`
        return JSON.stringify({ writer, n, i, level: levels[(n + i) % 4], message })
      })
      const headers = { 'content-type': NDJSON_TYPE }
      await api.ingest(key, events.join('\n'), headers).catch(() => undefined)
      await sleep(pauseMs)
    }
  })()
  return {
    stop: async () => {
      isOn = false
      await running
    },
  }
}

/** Of the service's process. */
const memoryBytes = () => tryReadMemory(service.pid)?.rssBytes ?? 0

/** Each of four readers is broken off so often, by turns. */
const ROUNDS = 4 * rounds(3)
const QUERIES = ['', 'level:error', '"timed out" n:>20', 'writer:a -level:(debug OR info)', 'no:x']

test('under load, with reconnects and slow readers: each event once, or in a gap', {
  skip: ONLY_LONG,
}, async () => {
  const stream = await api.createStream()
  await api.ingest(stream.key, '{"n":-1}')
  const [first] = (await api.page(stream.id)).events
  const writers = ['a', 'b', 'c', 'd'].map((name) => write(stream.key, name))
  const steady = await Promise.all(QUERIES.map((query) => open(stream.id, { query })))
  const { token } = await createToken()
  // From the first event on, so that nothing may be missing from before.
  const restless = QUERIES.slice(0, 4).map((query, i) => {
    const reader = new TailReader(api, stream.id, {
      query,
      token,
      from: first!.id,
      restMs: i === 0 ? 2 : 0,
    })
    readers.push(reader)
    return reader
  })
  const before = (await api.page(stream.id, '?limit=1')).events[0]!.id
  for (let round = 0; round < ROUNDS; round++) {
    await sleep(250)
    restless[round % 4]!.breakOff()
    await sleep(50)
  }
  await Promise.all(writers.map((writer) => writer.stop()))
  await Promise.all([...steady, ...restless].map((reader) => reader.untilQuiet()))
  const list = await api.events(stream.id)
  for (const reader of steady) {
    const { seen } = assertCovers(reader, list, { after: before })
    assert.ok(seen > 50 || reader.query === 'no:x', `${reader.query}: ${seen}`)
  }
  for (const reader of restless) {
    assert.ok(reader.connections > 2)
    const { seen } = assertCovers(reader, list, { after: first!.id })
    assert.ok(seen > 50, `${reader.query}: ${seen}, gaps ${reader.gaps.length}`)
  }
  await Promise.all([...steady, ...restless].map((reader) => reader.stop()))
})

test('limit_per_s shows some events, and says which times it leaves some out of', async () => {
  const stream = await api.createStream()
  const reader = await open(stream.id, { limitPerS: 20 })
  const writer = write(stream.key, 'a')
  await sleep(2_000)
  await writer.stop()
  await reader.until(() => reader.gaps.length > 0, 'told')
  await sleep(500)
  const list = await api.events(stream.id)
  const { seen, inGaps } = assertCovers(reader, list, { after: '0-0' })
  assert.ok(seen >= 20 && seen <= 100, `${seen} seen`)
  assert.ok(reader.gaps.every(({ reason, exact }) => reason === 'sampled' && exact))
  assert.equal(
    reader.gaps.reduce((sum, { dropped }) => sum + dropped, 0),
    inGaps,
  )
  await reader.stop()
})

test('a tail begins where it is told to', async () => {
  const stream = await api.createStream()
  for (let n = 0; n < 5; n++) await api.ingest(stream.key, `[{"n":${n}},{"n":${n + 0.5}}]`)
  const list = (await api.events(stream.id)).toReversed()
  const ofId = await open(stream.id, { from: list[2]!.id })
  await ofId.until(() => ofId.events.length === 7, 'seven events')
  assert.deepEqual(ofId.events, list.slice(3))
  const ofTime = await open(stream.id, { from: '-5m', query: 'n:>=3' })
  await ofTime.until(() => ofTime.events.length === 4, 'four events')
  await api.ingest(stream.key, '{"n":7}')
  for (const reader of [ofId, ofTime]) {
    await reader.until(() => reader.events.at(-1)?.payload.n === 7, 'what comes then')
    await reader.stop()
  }
})

test('a revoked token, a deleted stream: the tail ends within a second', async () => {
  const { id: tokenId, token } = await createToken()
  const [one, two] = [await api.createStream(), await api.createStream()]
  const ofToken = await open(one.id, { token })
  const ofStream = await open(two.id)
  await api.rest(`/v1/tokens/${tokenId}`, 'DELETE')
  await ofToken.until(() => ofToken.endReason !== undefined, 'its end', 1_200)
  assert.equal(ofToken.endReason, 'token_not_valid')
  await api.rest(`/v1/streams/${two.id}`, 'DELETE')
  await ofStream.until(() => ofStream.endReason !== undefined, 'its end', 1_200)
  assert.equal(ofStream.endReason, 'stream_deleted')
})

test('the code of docs/tail.md continues until its token is no longer valid', async () => {
  const page = readFileSync(fileURLToPath(new URL('../../../../docs/tail.md', import.meta.url)))
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(page.toString()) ?? []
  const url = `data:text/javascript,${encodeURIComponent(`${code}\nexport { tail }`)}`
  const { tail } = (await import(url)) as { tail: (...args: unknown[]) => Promise<never> }
  const stream = await api.createStream()
  const { id, token } = await createToken()
  await api.ingest(stream.key, '{"n":1}')
  const seen: unknown[] = []
  const others: unknown[] = []
  const running = tail(
    `${api.url}/v1/streams/${stream.id}/tail?from=-1m`,
    token,
    (event: { payload: unknown }) => seen.push(event.payload),
    (_data: unknown, name: string) => others.push(name),
  )
  const ended = assert.rejects(running, /unauthenticated/)
  for (let i = 0; i < 200 && seen.length < 1; i++) await sleep(10)
  await api.ingest(stream.key, '{"n":2}')
  for (let i = 0; i < 200 && seen.length < 2; i++) await sleep(10)
  assert.deepEqual(seen, [{ n: 1 }, { n: 2 }])
  await api.rest(`/v1/tokens/${id}`, 'DELETE')
  await ended
  assert.deepEqual(others, ['end'])
})

test('64 readers that never read: bounded memory, others unhurt; the 65th is refused', async () => {
  const stream = await api.createStream()
  await sleep(500)
  const sockets: Socket[] = []
  const { hostname, port } = new URL(service.url)
  const tokens: string[] = []
  for (let i = 0; i < TAILS_MAX / TAILS_PER_TOKEN_MAX; i++) tokens.push((await createToken()).token)
  const ask = async (token: string) => {
    const socket = connect(Number(port), hostname)
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.pause()
    socket.write(
      `GET /v1/streams/${stream.id}/tail HTTP/1.1\r\nHost: x\r\n` +
        `Authorization: Bearer ${token}\r\n\r\n`,
    )
  }
  for (const token of tokens.slice(0, -1)) {
    for (let i = 0; i < TAILS_PER_TOKEN_MAX; i++) await ask(token)
  }
  for (let i = 0; i < TAILS_PER_TOKEN_MAX - 1; i++) await ask(tokens.at(-1)!)
  const tails = () => api.metric('ingest_tails')
  for (let i = 0; i < 100 && (await tails()) < TAILS_MAX - 1; i++) await sleep(50)
  assert.equal(await tails(), TAILS_MAX - 1)
  const one = await open(stream.id, { token: tokens.at(-1)! })
  const refused = await api.tryRest(`/v1/streams/${stream.id}/tail`)
  assert.equal(refused.status, 429)
  assert.match(refused.text, /TAILS_MAX/)
  const rssBefore = memoryBytes()
  // Of so many events of 2 KB, queues without a bound would hold half as much again as is allowed.
  const filler = ` ${'x'.repeat(2_000)}`
  const writers = ['a', 'b'].map((name) => write(stream.key, name, { filler }))
  await one.until(() => one.events.length > 3_000, 'events for who reads', 60_000)
  await Promise.all(writers.map((writer) => writer.stop()))
  const grown = (memoryBytes() - rssBefore) / 1024 / 1024
  console.log(`ℹ 64 readers that never read: ${grown.toFixed(0)} MiB more`)
  assert.ok(grown < 250, `${grown} MiB`)
  for (const socket of sockets) socket.destroy()
  await one.stop()
  for (let i = 0; i < 100 && (await tails()) > 0; i++) await sleep(50)
  assert.equal(await tails(), 0)
})

test('one token has TAILS_PER_TOKEN_MAX tails', async () => {
  const stream = await api.createStream()
  const { token } = await createToken()
  const all = []
  for (let i = 0; i < TAILS_PER_TOKEN_MAX; i++) all.push(await open(stream.id, { token }))
  const url = `${api.url}/v1/streams/${stream.id}/tail`
  const refused = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(refused.status, 429)
  assert.match(await refused.text(), /TAILS_PER_TOKEN_MAX/)
  await Promise.all(all.map((reader) => reader.stop()))
})

test('a service that stops says so to its tails, and does not wait for them', async () => {
  const stream = await api.createStream()
  const reader = await open(stream.id)
  await api.ingest(stream.key, '{"n":1}')
  // What a tail has not given when it ends, it gives to whoever comes back with its last id.
  await reader.until(() => reader.events.length === 1, 'the event')
  const startedAt = performance.now()
  await service.stop()
  assert.ok(performance.now() - startedAt < 10_000)
  assert.equal(reader.endReason, 'stopping')
  assert.equal(reader.events.length, 1)
})
