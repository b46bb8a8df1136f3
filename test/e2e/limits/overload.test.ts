/**
 * Goal: bytes in flight are bounded. Past the bound whole requests are refused with 429 before
 * anything of them is taken, those under way are not disturbed, and it ends by itself. Who only
 * declares a body, or sends it by drops, takes no room of others.
 * Method: senders hold the whole bound, at its minimum, by bodies that they do not finish.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BODY_AHEAD_BYTES, SLOW_BODY_MS } from '../../../src/limits.ts'
import { RawClient } from '../../http/raw-client.ts'
import { Api, readProblem, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const MIB = 1024 * 1024
const BOUND = 20 * MIB
const LINE = `{"filler":"${'x'.repeat(1_000)}"}\n`
const dataDir = makeDataDir()
let service: Service
let api: Api

before(async () => {
  const args = ['--in-flight-bytes-max', String(BOUND)]
  service = await Service.start({ dataDir, args })
  api = new Api(service)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

/** Begins a request; the caller sends its body by and by. */
async function begin(stream: Stream, length: number | 'chunked'): Promise<RawClient> {
  const client = await RawClient.connect(service.port)
  const framing = length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  client.write(
    `POST /v1/ingest HTTP/1.1\r\nHost: x\r\nX-API-Key: ${stream.key}\r\n` +
      `Content-Type: application/x-ndjson\r\n${framing}\r\n\r\n`,
  )
  return client
}

async function untilInFlight(bytes: number): Promise<void> {
  const deadline = performance.now() + 10_000
  while ((await api.metric('ingest_in_flight_bytes')) !== bytes) {
    assert.ok(performance.now() < deadline, `never ${bytes} bytes in flight`)
    await sleep(20)
  }
}

async function assertOverloaded(stream: Stream): Promise<void> {
  for (const body of ['{"a":1}', LINE.repeat(2_000)]) {
    for (const chunked of [false, true]) {
      const answer = await api.ingest(
        stream.key,
        body,
        { 'content-type': 'application/x-ndjson' },
        { chunked },
      )
      assert.equal(answer.status, 429, answer.text)
      assert.equal(answer.headers['retry-after'], '1')
      assert.equal(answer.headers['content-type'], 'application/problem+json')
      const { code, retry_after: retryAfter } = readProblem(answer)
      assert.deepEqual([code, retryAfter], ['overloaded', 1])
    }
  }
}

/** Half of the largest body, in whole lines: with it as much again is held. */
const HALF = LINE.repeat(Math.ceil((5 * MIB) / LINE.length))

test('bodies half of which has come fill the bound: others hear 429, and it recovers', async () => {
  const [slow, other] = [await api.createStream(), await api.createStream()]
  const clients = [await begin(slow, 10 * MIB), await begin(slow, 10 * MIB)]
  for (const client of clients) client.write(HALF)
  await untilInFlight(BOUND)
  await assertOverloaded(other)
  assert.equal((await api.usage(other.id)).events, 0, 'nothing of them was stored')

  // One goes away, the other finishes: both give back what they held.
  clients[0]?.destroy()
  await untilInFlight(10 * MIB)
  assert.equal((await api.ingest(other.key, '{"a":1}')).status, 200)
  const rest = LINE.repeat(Math.floor((10 * MIB - HALF.length) / LINE.length))
  clients[1]?.write(rest)
  clients[1]?.write(' '.repeat(10 * MIB - rest.length - HALF.length))
  assert.match((await clients[1]?.until(/"accepted":\d+/, 20_000)) ?? '', /^HTTP\/1\.1 200 /)
  clients[1]?.destroy()
  await untilInFlight(0)
  const lines = Math.floor((10 * MIB) / LINE.length)
  assert.equal((await api.usage(slow.id)).events, lines, 'of the one that went away, nothing')

  const deadline = performance.now() + 10_000
  let refused = 0
  while (refused !== 4 && performance.now() < deadline) {
    const { refusals } = await api.usage(other.id)
    refused = refusals.find(({ reason }) => reason === 'overloaded')?.count ?? 0
    await sleep(100)
  }
  assert.equal(refused, 4, 'counted on the stream')
})

test('bytes that were not declared count as they come', async () => {
  const stream = await api.createStream()
  const clients = [await begin(stream, 'chunked'), await begin(stream, 'chunked')]
  clients.push(await begin(stream, 'chunked'))
  const filler = '\n'.repeat(8 * MIB)
  const chunk = `${filler.length.toString(16)}\r\n${filler}\r\n`
  // Two and a half times 8 MiB fill it; the third is refused in its midst, the others are not.
  clients[0]?.write(chunk)
  clients[1]?.write(chunk)
  await untilInFlight(16 * MIB)
  clients[2]?.write(chunk)
  assert.match((await clients[2]?.until(/overloaded/, 20_000)) ?? '', /^HTTP\/1\.1 429 /)
  for (const client of clients.slice(0, 2)) {
    client.write(`8\r\n{"a":1}\n\r\n0\r\n\r\n`)
    assert.match(await client.until(/"accepted":1/, 20_000), /^HTTP\/1\.1 200 /)
  }
  for (const client of clients) client.destroy()
  await untilInFlight(0)
  assert.equal((await api.usage(stream.id)).events, 2)
})

test('a burst of large bodies: each is taken whole or refused whole', async () => {
  const stream = await api.createStream()
  const body = LINE.repeat(4_000)
  const headers = { 'content-type': 'application/x-ndjson' }
  const send = () => api.ingest(stream.key, body, headers)
  const answers = await Promise.all(Array.from({ length: 16 }, send))
  const taken = answers.filter(({ status }) => status === 200)
  assert.ok(taken.length > 0)
  for (const { status, text } of answers) {
    if (status === 200) assert.match(text, /^\{"accepted":4000,"rejected":0,/)
    else assert.equal(status, 429, text)
  }
  assert.equal((await api.usage(stream.id)).events, taken.length * 4_000)
  assert.equal((await send()).status, 200)
})

test('declared bytes that do not come take no room of others', async () => {
  const [slow, other] = [await api.createStream(), await api.createStream()]
  const clients = []
  for (let i = 0; i < 8; i++) clients.push(await begin(slow, 10 * MIB))
  for (const client of clients) client.write('{')
  await untilInFlight(8 * (BODY_AHEAD_BYTES + 2))
  const body = LINE.repeat(Math.floor((10 * MIB) / LINE.length))
  const answer = await api.ingest(other.key, body, { 'content-type': 'application/x-ndjson' })
  assert.equal(answer.status, 200, answer.text)
  for (const client of clients) client.destroy()
  await untilInFlight(0)
})

test('slow bodies are cut when others need their room, and nothing of them is kept', async () => {
  const [slow, other] = [await api.createStream(), await api.createStream()]
  const clients = [await begin(slow, 10 * MIB), await begin(slow, 10 * MIB)]
  for (const client of clients) client.write(HALF)
  await untilInFlight(BOUND)
  const drops = setInterval(() => {
    for (const client of clients) client.write(' ')
  }, 500)
  try {
    const deadline = performance.now() + 3 * SLOW_BODY_MS
    let status = 429
    while (status === 429 && performance.now() < deadline) {
      status = (await api.ingest(other.key, '{"a":1}')).status
      await sleep(250)
    }
    assert.equal(status, 200, 'there is room in the end')
    const answers = clients.map((client) => client.until(/too_slow/, 300).catch(() => ''))
    const cut = (await Promise.all(answers)).filter((text) => text !== '')
    assert.equal(cut.length, 1, 'no more than needed')
    assert.match(cut[0] ?? '', /^HTTP\/1\.1 408 .*\r\nConnection: close/is)
  } finally {
    clearInterval(drops)
    for (const client of clients) client.destroy()
  }
  await untilInFlight(0)
  assert.equal((await api.usage(slow.id)).events, 0)
})
