/**
 * Clients that go away, beside a load test: each breaks its requests off, whole or in their midst,
 * or does not read the answer. What they sent may be stored or not; nothing of it may be left in
 * flight, take memory for good, or keep others waiting. Node only.
 */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

const SAMPLE_MS = 1_000
const SETTLE_MS_MAX = 60_000
/** A new key acts within a second on every node. */
const KEY_SETTLE_MS = 1_000
const MIB = 1024 * 1024

const LINE = `{"level":"info","message":"${'a request that nobody waits for '.repeat(4)}"}\n`
const LINES = Buffer.from(LINE.repeat(4_000))
const TINY = gzipSync('a\n'.repeat(5_000_000), { level: 9 })

/** What they send, each with a share of its body after which they go away. */
const REQUESTS = [
  { path: '/v1/ingest/text', type: 'text/plain', encoding: 'gzip', body: TINY, share: 1 },
  { path: '/v1/ingest', type: 'application/x-ndjson', body: LINES, share: 1 },
  { path: '/v1/ingest', type: 'application/x-ndjson', body: LINES, share: 0.5 },
  {
    path: '/v1/ingest',
    type: 'application/x-ndjson',
    encoding: 'gzip',
    body: gzipSync(LINES),
    share: 0.9,
  },
  {
    path: '/_bulk',
    type: 'application/x-ndjson',
    body: Buffer.from('{"index":{}}\n{"a":1}\n'.repeat(20_000)),
    share: 1,
    isUnread: true,
  },
]
const WAITS_MS = [0, 5, 50, 150, 400]

/** Starts `count` of them on a stream of their own; `stop` resolves with the report. */
export async function startAborts({ url, token, count }) {
  const stream = await makeStream(url, token)
  await sleep(KEY_SETTLE_MS)
  const state = { isOver: false, requests: 0, samples: [] }
  const clients = Array.from({ length: count }, (_, i) => breakOffForever(state, url, stream, i))
  const watch = sample(state, url)
  return {
    stop: async () => {
      state.isOver = true
      await Promise.all([...clients, watch])
      try {
        return { requests: state.requests, ...memoryOf(state.samples), ...(await settle(url)) }
      } finally {
        await rest(url, token, 'DELETE', `/v1/streams/${stream.id}`)
      }
    },
  }
}

/** Why the run failed; none when it did not. */
export function judgeAborts({ inFlightBytes, inFlightRequests, growthMib }, growthMibMax) {
  const failures = []
  if (inFlightBytes !== 0) failures.push(`${inFlightBytes} bytes are left in flight`)
  if (inFlightRequests !== 0) failures.push(`${inFlightRequests} requests are left in flight`)
  if (growthMib > growthMibMax) failures.push(`memory grew by ${growthMib} MiB in the second half`)
  return failures
}

export function formatAborts(report, failures) {
  const { requests, startMib, middleMib, endMib, inFlightBytes, inFlightRequests } = report
  const lines = [
    `aborts     ${requests} requests broken off`,
    `memory     ${startMib} MiB at the start, ${middleMib} in the middle, ${endMib} at the end`,
    `in flight  ${inFlightBytes} bytes, ${inFlightRequests} requests after it`,
    ...failures.map((failure) => `FAILED: ${failure}`),
  ]
  return `${lines.join('\n')}\n`
}

/** Means of some samples each, since what is free to be collected comes and goes. */
export function memoryOf(samples) {
  const mean = (from, to) => {
    const some = samples.slice(Math.floor(from * samples.length), Math.ceil(to * samples.length))
    return Math.round(some.reduce((sum, mib) => sum + mib, 0) / some.length)
  }
  const [startMib, middleMib, endMib] = [mean(0, 0.1), mean(0.4, 0.6), mean(0.8, 1)]
  return { startMib, middleMib, endMib, growthMib: endMib - middleMib }
}

async function breakOffForever(state, url, stream, client) {
  for (let i = client; !state.isOver; i++) {
    const request = REQUESTS[i % REQUESTS.length]
    const waitMs = WAITS_MS[Math.floor(i / REQUESTS.length) % WAITS_MS.length]
    await breakOff(url, stream, request, waitMs)
    state.requests++
    await sleep(10)
  }
}

function breakOff(url, { key }, { path, type, encoding, body, share, isUnread }, waitMs) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  if (isUnread) socket.pause()
  else socket.resume()
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${hostname}`,
    `Content-Type: ${type}`,
    `X-API-Key: ${key}`,
    `Authorization: Basic ${Buffer.from(`load:${key}`).toString('base64')}`,
    `Content-Length: ${body.length}`,
    ...(encoding === undefined ? [] : [`Content-Encoding: ${encoding}`]),
  ]
  return new Promise((resolve) => {
    socket.once('close', resolve)
    socket.once('error', () => socket.destroy())
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    socket.write(body.subarray(0, Math.ceil(body.length * share)), () => {
      setTimeout(() => socket.destroy(), waitMs)
    })
  })
}

async function sample(state, url) {
  while (!state.isOver || state.samples.length === 0) {
    state.samples.push((await metric(url, 'process_resident_memory_bytes')) / MIB)
    await sleep(SAMPLE_MS)
  }
}

/** Waits until nothing is in flight any more. */
async function settle(url) {
  const deadline = performance.now() + SETTLE_MS_MAX
  for (;;) {
    const inFlightBytes = await metric(url, 'ingest_in_flight_bytes')
    const inFlightRequests = await metric(url, 'ingest_in_flight_requests')
    const isSettled = inFlightBytes === 0 && inFlightRequests === 0
    if (isSettled || performance.now() > deadline) return { inFlightBytes, inFlightRequests }
    await sleep(200)
  }
}

async function metric(url, name) {
  const text = await (await fetch(`${url}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  if (line === undefined) throw new Error(`${url}/metrics has no ${name}`)
  return Number(line.slice(name.length + 1))
}

async function makeStream(url, token) {
  const name = `load-aborts-${Date.now()}-${Math.floor(Math.random() * 1e9)}`
  const { id } = await rest(url, token, 'POST', '/v1/streams', { name })
  const { key } = await rest(url, token, 'POST', `/v1/streams/${id}/keys`, { name: 'load' })
  return { id, key }
}

async function rest(url, token, method, path, body) {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return text === '' ? {} : JSON.parse(text)
}
