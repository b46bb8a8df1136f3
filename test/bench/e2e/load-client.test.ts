/**
 * Goal: the load client counts what the service said, and nothing else.
 * Method: a tiny HTTP server on `net` that answers by plan, cut into awkward chunks.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { test } from 'node:test'
import { driveLoad } from '../../../bench/e2e/drive-load.ts'
import { Latencies } from '../../../bench/e2e/latencies.ts'
import type { LoadConfig } from '../../../bench/e2e/load-config.ts'
import { buildRequests } from '../../../bench/e2e/load-requests.ts'
import { LoadRunner } from '../../../bench/e2e/load-runner.ts'
import { ResponseParser } from '../../../bench/e2e/response-parser.ts'

const CONFIG: LoadConfig = {
  host: '127.0.0.1',
  port: 0,
  surface: 'json',
  keys: ['lax_a', 'lax_b'],
  connections: 2,
  eventsPerRequest: 10,
  eventsMax: 400,
  secondsMax: 10,
  rate: 0,
  isGzip: false,
  corpusFile: undefined,
  seed: 1,
  distinctEvents: 100,
}

function reply(status: number, body: string, headers = ''): string {
  return `HTTP/1.1 ${status} X\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`
}

const ACCEPTED = reply(200, '{"accepted":10,"rejected":0}')

/** `answer` gets the number of the request, from 0, and its head; it writes to the socket. */
async function startServer(
  answer: (socket: Socket, index: number, head: string) => void,
): Promise<{ server: Server; port: number }> {
  let count = 0
  const server = createServer((socket) => {
    let pending = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1')
      const headEnd = pending.indexOf('\r\n\r\n')
      const length = Number(/Content-Length: (\d+)/.exec(pending)?.[1])
      if (headEnd < 0 || pending.length < headEnd + 4 + length) return
      const head = pending.slice(0, headEnd)
      pending = pending.slice(headEnd + 4 + length)
      answer(socket, count++, head)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

async function runLoad(config: LoadConfig) {
  const runner = new LoadRunner(config, buildRequests(config))
  await runner.connect()
  return runner.run()
}

test('acknowledged events are those that 2xx replies accepted', async () => {
  const keys = new Set<string>()
  const { server, port } = await startServer((socket, index, head) => {
    keys.add(/X-API-Key: (\S+)/.exec(head)![1]!)
    const body = index === 0 ? '{"accepted":7,"rejected":3}' : '{"accepted":10,"rejected":0}'
    socket.write(reply(200, body))
  })
  const result = await runLoad({ ...CONFIG, port })
  server.close()
  assert.equal(result.rejectedEvents, 3)
  assert(result.acknowledgedEvents >= 397 && result.acknowledgedEvents <= 410)
  assert.equal(result.acknowledgedEvents + 3, result.requests * 10)
  assert.equal(result.acknowledge.count, result.requests)
  assert.deepEqual([...keys].sort(), ['lax_a', 'lax_b'])
})

test('refusals are counted, waited out, and never acknowledged', async () => {
  const { server, port } = await startServer((socket, index) => {
    const isRefused = index < 4
    const refusal = reply(index % 2 === 0 ? 429 : 503, '{}', 'Retry-After: 0\r\n')
    socket.write(isRefused ? refusal : ACCEPTED)
  })
  const result = await runLoad({ ...CONFIG, port })
  server.close()
  assert.equal(result.refusals, 4)
  assert.equal(result.refuse.count, 4)
  assert.equal(result.acknowledgedEvents, (result.requests - 4) * 10)
})

test('other statuses are failures, and a cut connection is neither', async () => {
  const { server, port } = await startServer((socket, index) => {
    if (index === 0) socket.write(reply(413, 'too large'))
    else if (index === 1) socket.destroy()
    else socket.write(ACCEPTED)
  })
  const result = await runLoad({ ...CONFIG, port })
  server.close()
  assert.deepEqual(result.failures, { 413: 1 })
  assert.equal(result.firstFailure, 'too large')
  assert.equal(result.lostRequests, 1)
  assert.equal(result.acknowledgedEvents, (result.requests - 1) * 10)
})

test('with a rate, latency counts from when the request was due', async () => {
  const { server, port } = await startServer((socket, index) => {
    setTimeout(() => socket.write(ACCEPTED), index === 0 ? 200 : 0)
  })
  // One connection, a request every 10 ms: those due during the stall of 200 ms are late too.
  const config = { ...CONFIG, port, connections: 1, rate: 1_000, eventsMax: 300 }
  const result = await runLoad(config)
  server.close()
  assert.equal(result.acknowledgedEvents, 300)
  assert(result.acknowledge.max >= 195, `max ${result.acknowledge.max}`)
  assert(result.acknowledge.p50 > 20, `p50 ${result.acknowledge.p50}`)
  assert(result.seconds >= 0.28, `${result.seconds} s`)
})

test('the client runs as a process of its own and reports its CPU', async () => {
  const { server, port } = await startServer((socket) => socket.write(ACCEPTED))
  let isReady = false
  const result = await driveLoad({ ...CONFIG, port }, () => {
    isReady = true
  })
  server.close()
  assert(isReady)
  assert.equal(result.acknowledgedEvents, 400)
  assert(result.clientCpuMicros > 0)
})

test('gzip bodies are smaller and say so', () => {
  const [plain] = buildRequests(CONFIG)
  const [gzip] = buildRequests({ ...CONFIG, isGzip: true })
  assert(gzip!.bytes.length < plain!.bytes.length / 2)
  assert.match(gzip!.bytes.toString('latin1'), /Content-Encoding: gzip\r\n\r\n/)
})

test('a response may arrive in any chunks, after a 100 Continue too', () => {
  const bytes = Buffer.from(`HTTP/1.1 100 Continue\r\n\r\n${reply(200, '{"accepted":1}')}`)
  for (let cut = 1; cut < bytes.length; cut++) {
    const parser = new ResponseParser()
    assert.equal(parser.push(bytes.subarray(0, cut)), undefined)
    const response = parser.push(bytes.subarray(cut))
    assert.equal(response?.status, 200)
    assert.equal(response.body, '{"accepted":1}')
  }
})

test('percentiles are nearest ranks', () => {
  const latencies = new Latencies()
  for (let value = 10_000; value >= 1; value--) latencies.add(value)
  assert.deepEqual(latencies.percentiles(), {
    count: 10_000,
    p50: 5_000,
    p90: 9_000,
    p99: 9_900,
    p999: 9_990,
    max: 10_000,
  })
  assert(Number.isNaN(new Latencies().percentiles().p50))
})
