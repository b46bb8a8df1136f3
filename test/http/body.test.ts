/**
 * Goal: request bodies arrive whole however they are cut, stop when told to, and an early reply
 * reaches the client whatever it still has to send.
 * Method: raw sockets that send before they read, in cuts chosen by fast-check; curl for
 * `Expect: 100-continue`, as the client that really uses it.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { IngestError } from '../../src/errors.ts'
import { parseJson, readBody, readJsonBody } from '../../src/http/body.ts'
import type { BodyConsumer, Exchange, Route } from '../../src/http/exchange.ts'
import { jsonReply, problemReply } from '../../src/http/problem.ts'
import { ENGINES, echo, head, RawClient, startServer, waitFor } from './raw-client.ts'

const run = promisify(execFile)
const MIB = 1024 * 1024

function post(pattern: string, handler: Route['handler']): Route {
  return { method: 'POST', pattern, handler }
}

const refuse = (exchange: Exchange) =>
  exchange.reply(problemReply(new IngestError('unauthenticated', 'who are you')))

test('a declared length takes no memory before its bytes come', async () => {
  const header = (name: string) => (name === 'content-length' ? String(MIB) : '')
  const consumers: BodyConsumer[] = []
  const readBodyOf = (consumer: BodyConsumer) => void consumers.push(consumer)
  const exchange = { header, readBody: readBodyOf } as unknown as Exchange
  const before = process.memoryUsage().arrayBuffers
  const bodies = Array.from({ length: 64 }, () => readBody(exchange, MIB))
  assert(process.memoryUsage().arrayBuffers - before < 8 * MIB)
  for (const consumer of consumers) {
    consumer.chunk(Buffer.from('ab'), false)
    consumer.chunk(Buffer.from('c'), true)
  }
  for (const body of await Promise.all(bodies)) assert.equal(Buffer.from(body).toString(), 'abc')
})

for (const engine of ENGINES) {
  describe(`bodies on ${engine.name}`, () => {
    test('how the request is cut does not show in the body', async () => {
      const { server, port } = await startServer({ routes: [post('/echo', echo)], engine })
      const client = await RawClient.connect(port)
      const body = fc.string({ unit: fc.constantFrom('a', '\n', '\r', '0'), maxLength: 60 })
      const cuts = fc.array(fc.nat(150), { maxLength: 4 })
      await fc.assert(
        fc.asyncProperty(body, cuts, fc.boolean(), async (text, at, chunked) => {
          const request = chunked
            ? `${head('POST', '/echo', 'Transfer-Encoding: chunked')}${chunkedBody(text)}`
            : `${head('POST', '/echo', `Content-Length: ${text.length}`)}${text}`
          client.received = ''
          let start = 0
          for (const end of [...at.toSorted((a, b) => a - b), request.length]) {
            client.write(request.slice(start, end))
            await new Promise((resolve) => setImmediate(resolve))
            start = Math.max(start, end)
          }
          const length = new RegExp(`content-length: ${text.length}\\r\\n`, 'i')
          await client.until(length)
          await waitFor(() => client.received.endsWith(`\r\n\r\n${text}`), 'the whole body')
        }),
        { numRuns: 60 },
      )
      client.destroy()
      server.close()
    })

    test('Expect: 100-continue is answered and the body follows', async () => {
      const { server, port } = await startServer({ routes: [post('/echo', echo)], engine })
      const folder = await mkdtemp(join(tmpdir(), 'sluice-http-'))
      const file = join(folder, 'body')
      await writeFile(file, 'x'.repeat(3 * MIB))
      const url = `http://127.0.0.1:${port}/echo`
      const common = [
        '-sS',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code} %{size_download}',
        '--data-binary',
      ]
      const send = (...headers: string[]) =>
        run('curl', [...common, `@${file}`, ...headers.flatMap((h) => ['-H', h]), url])
      assert.equal((await send('Expect: 100-continue')).stdout, `200 ${3 * MIB}`)
      const chunked = await send('Expect: 100-continue', 'Transfer-Encoding: chunked')
      assert.equal(chunked.stdout, `200 ${3 * MIB}`)
      await rm(folder, { recursive: true })
      server.close()
    })

    for (const chunked of [false, true]) {
      const how = chunked ? 'chunked' : 'with content-length'
      test(`a client that sends 12 MiB ${how} before it reads gets the early reply`, async () => {
        const { server, port } = await startServer({ routes: [post('/', refuse)], engine })
        const client = await RawClient.connect(port)
        client.socket.pause()
        const bytes = Buffer.alloc(12 * MIB, 'a')
        const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes.length}`
        client.write(head('POST', '/', framing))
        if (chunked) client.write(`${bytes.length.toString(16)}\r\n`)
        client.write(bytes)
        if (chunked) client.write('\r\n0\r\n\r\n')
        await waitFor(() => client.socket.writableLength === 0, 'everything to be sent')
        await new Promise((resolve) => setTimeout(resolve, 100))
        client.socket.resume()
        const reply = await client.untilClosed()
        assert.match(reply, /^HTTP\/1\.1 401 Unauthorized\r\n/)
        assert.match(reply, /www-authenticate: Bearer/i)
        assert.match(reply, /connection: close\r\n/i)
        assert.match(reply, /"code":"unauthenticated"\}(\r\n)?$/)
        assert.equal(server.activeRequests, 0)
        server.close()
      })
    }

    test('an early reply comes before the body has ended', async () => {
      const { server, port } = await startServer({ routes: [post('/', refuse)], engine })
      const client = await RawClient.connect(port)
      client.write(`${head('POST', '/', `Content-Length: ${MIB}`)}abc`)
      const reply = await client.until(/unauthenticated/)
      assert.match(reply, /content-length: \d+\r\n/i)
      assert.equal(client.closed, false)
      client.destroy()
      await waitFor(() => server.activeRequests === 0, 'the exchange to end')
      server.close()
    })

    test('an early reply to a small body leaves the connection usable', async () => {
      const { server, port } = await startServer({ routes: [post('/', refuse)], engine })
      const client = await RawClient.connect(port)
      for (let count = 1; count <= 2; count++) {
        client.write(head('POST', '/', 'Content-Length: 5'))
        await new Promise((resolve) => setTimeout(resolve, 20))
        client.write('hello')
        await waitFor(() => client.received.split('"unauthenticated"').length === count + 1, 'it')
      }
      assert.doesNotMatch(client.received, /connection: close/i)
      client.destroy()
      server.close()
    })

    test('what is read after an early reply is bounded in bytes', async () => {
      const routes = [post('/', refuse)]
      const { server, port } = await startServer({ routes, engine, lingerBytesMax: MIB })
      const client = await RawClient.connect(port)
      client.write(head('POST', '/', 'Transfer-Encoding: chunked'))
      await client.until(/unauthenticated/)
      const chunk = `10000\r\n${'a'.repeat(65536)}\r\n`
      const sending = setInterval(() => client.write(chunk), 1)
      await client.untilClosed()
      clearInterval(sending)
      assert(client.socket.bytesWritten > MIB)
      server.close()
    })

    test('and in time, also when a small rest never comes', async () => {
      const routes = [post('/', refuse)]
      const { server, port } = await startServer({ routes, engine, lingerMsMax: 100 })
      for (const length of [10, MIB]) {
        const client = await RawClient.connect(port)
        client.write(`${head('POST', '/', `Content-Length: ${length}`)}abc`)
        const reply = await client.untilClosed(2_000)
        assert.match(reply, /^HTTP\/1\.1 401 /)
        assert.match(reply, /unauthenticated/)
      }
      assert.equal(server.activeRequests, 0)
      server.close()
    })

    test('a client that goes away mid-body is reported once, and no chunk follows', async () => {
      const seen: string[] = []
      const handler = (exchange: Exchange) =>
        exchange.readBody({
          chunk: (bytes) => void (bytes.length > 0 && seen.push('chunk')),
          aborted: () => {
            seen.push(exchange.aborted ? 'aborted' : 'not aborted')
            exchange.reply({ status: 200 })
            exchange.resume()
          },
        })
      const { server, port } = await startServer({ routes: [post('/', handler)], engine })
      const client = await RawClient.connect(port)
      client.write(`${head('POST', '/', 'Content-Length: 100')}abc`)
      await waitFor(() => seen.length === 1, 'the first chunk')
      client.destroy()
      await waitFor(() => seen.length === 2, 'aborted')
      await new Promise((resolve) => setTimeout(resolve, 50))
      assert.deepEqual(seen, ['chunk', 'aborted'])
      assert.equal(server.activeRequests, 0)
      server.close()
    })

    test('pause stops the sender, resume lets it finish', async () => {
      let exchange: Exchange | undefined
      let bytesSeen = 0
      const handler = (x: Exchange) => {
        exchange = x
        x.readBody({
          chunk: (bytes, isLast) => {
            bytesSeen += bytes.length
            if (bytesSeen > 0 && bytesSeen < 2 * MIB) x.pause()
            if (isLast) x.reply({ status: 200, body: String(bytesSeen) })
          },
          aborted: () => undefined,
        })
      }
      const { server, port } = await startServer({ routes: [post('/', handler)], engine })
      const client = await RawClient.connect(port)
      const size = 64 * MIB
      client.write(head('POST', '/', `Content-Length: ${size}`))
      client.write(Buffer.alloc(size))
      await waitFor(() => bytesSeen > 0, 'the first chunk')
      await new Promise((resolve) => setTimeout(resolve, 300))
      const bytesAtPause = bytesSeen
      assert(bytesAtPause < 2 * MIB, `read ${bytesAtPause} bytes`)
      await new Promise((resolve) => setTimeout(resolve, 200))
      assert.equal(bytesSeen, bytesAtPause)
      assert(client.socket.writableLength > 0, 'the sender is blocked')
      const resuming = setInterval(() => exchange?.resume(), 1)
      await client.until(new RegExp(`\r\n\r\n${size}$`), 20_000)
      clearInterval(resuming)
      client.destroy()
      server.close()
    })

    test('a body that stands still is dropped, one that trickles is not', async () => {
      const options = { routes: [post('/echo', echo)], engine, bodyIdleMsMax: 200 }
      const { server, port } = await startServer(options)
      const silent = await RawClient.connect(port)
      const slow = await RawClient.connect(port)
      silent.write(`${head('POST', '/echo', 'Content-Length: 8')}a`)
      slow.write(head('POST', '/echo', 'Content-Length: 8'))
      for (let count = 0; count < 8; count++) {
        await new Promise((resolve) => setTimeout(resolve, 100))
        slow.write('a')
      }
      await slow.until(/aaaaaaaa$/)
      assert.equal((await silent.untilClosed()).replace(/<.*>/, ''), '')
      slow.destroy()
      server.close()
    })

    test('a slow reader gets a large reply whole', async () => {
      const body = Buffer.alloc(16 * MIB, 'b')
      const handler = (x: Exchange) => x.reply({ status: 200, body })
      const routes: Route[] = [{ method: 'GET', pattern: '/', handler }]
      const { server, port } = await startServer({ routes, engine })
      const client = await RawClient.connect(port)
      client.write(head('GET', '/', 'Connection: close'))
      for (let count = 0; count < 20; count++) {
        client.socket.pause()
        await new Promise((resolve) => setTimeout(resolve, 10))
        client.socket.resume()
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      await waitFor(() => client.received.length > body.length, 'the reply', 10_000)
      assert.equal(client.received.slice(client.received.indexOf('\r\n\r\n') + 4).length, 16 * MIB)
      client.destroy()
      server.close()
    })
  })
}

describe('whole bodies', () => {
  const json = async (exchange: Exchange) => {
    exchange.reply(jsonReply(200, { got: parseJson(await readJsonBody(exchange, 20)) }))
  }
  const bytes = async (exchange: Exchange) => {
    exchange.reply({ status: 200, body: String((await readBody(exchange, 20)).length) })
  }
  const routes = [post('/json', json), post('/bytes', bytes)]
  const type = 'Content-Type: application/json; charset=utf-8'
  const chunked = 'Transfer-Encoding: chunked'
  const cases = [
    ['a JSON body', [type], '/json', '{"a":1}', /200 OK.*\{"got":\{"a":1\}\}/s],
    ['a JSON suffix', ['Content-Type: application/x+json'], '/json', '1', /200 OK.*"got":1/s],
    ['no media type', [], '/json', '[]', /200 OK.*"got":\[\]/s],
    ['another media type', ['Content-Type: text/plain'], '/json', '1', /415 .*as application/s],
    ['a coded body', ['Content-Encoding: gzip'], '/json', '1', /415 .*Content-Encoding/s],
    ['no body', [type], '/json', '', /400 Bad Request.*expected, got none/s],
    ['bad syntax', [type], '/json', '{"a":secret}', /400 .*not valid JSON/s],
    ['too many bytes', [type], '/json', '1'.repeat(21), /413 .*over the limit of 20 bytes/s],
    ['as many as allowed', [], '/bytes', '1'.repeat(20), /200 OK.*\r\n\r\n20$/s],
  ] as const
  for (const [name, headers, path, body, expected] of cases) {
    for (const framing of [`Content-Length: ${body.length}`, chunked]) {
      test(`${name}, ${framing === chunked ? 'chunked' : 'with its length'}`, async () => {
        const { server, port, errors } = await startServer({ routes })
        const client = await RawClient.connect(port)
        client.write(head('POST', path, framing, ...headers))
        client.write(framing === chunked ? chunkedBody(body) : body)
        const reply = await client.until(expected)
        assert.doesNotMatch(reply, /secret/)
        assert.deepEqual(errors, [])
        client.destroy()
        server.close()
      })
    }
  }

  test('a declared length over the limit is refused before any byte comes', async () => {
    const { server, port } = await startServer({ routes })
    const client = await RawClient.connect(port)
    client.write(head('POST', '/bytes', 'Content-Length: 1000000'))
    await client.until(/413 Payload Too Large.*over the limit of 20 bytes/s)
    client.destroy()
    server.close()
  })
})

/** `text` in chunks of at most 7 bytes. */
function chunkedBody(text: string): string {
  let body = ''
  for (let start = 0; start < text.length; start += 7) {
    const chunk = text.slice(start, start + 7)
    body += `${chunk.length.toString(16)}\r\n${chunk}\r\n`
  }
  return `${body}0\r\n\r\n`
}
